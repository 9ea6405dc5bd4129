/* SPDX-License-Identifier: MIT */
/* Text in columns for people. Cells may hold any bytes: what could drive a terminal is made
 * harmless. */
#ifndef SPANTRACE_TABLE_H
#define SPANTRACE_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "cleanup.h"

#define TABLE_MAX_COLUMNS 32

/* Starts as zeroes but for `columns`. */
struct table {
	size_t columns;
	unsigned right; /* bit C: column C is of numbers, and stands at the right of its room */
	char **cells;   /* row by row */
	size_t ncells;
	int err; /* of the first addition that failed; later ones do nothing */
};

/* Adds the next cell, of the next row after the last column. */
__attribute__((format(printf, 2, 3))) void table_add(struct table *t, const char *format, ...);
/* Prints it, each row behind INDENT, columns two spaces apart. 0 or what an addition failed
 * with. */
int table_print(const struct table *t, FILE *out, const char *indent);
void table_free(struct table *t);

#define AUTO_TABLE CLEANUP(table_free) struct table

#endif
