/* SPDX-License-Identifier: MIT */
/* Columns as wide as their widest cell, by what a terminal shows and not by bytes. See table.h. */
#define _GNU_SOURCE 1 /* vasprintf */
#include "table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "../../exporters/text.h"
#include "cleanup.h"
#include "grow.h"

void table_add(struct table *t, const char *format, ...)
{
	AUTO_FREE char *raw = NULL;
	struct text_buf safe = {0};
	va_list args;
	int n;

	if (t->err)
		return;
	va_start(args, format);
	n = vasprintf(&raw, format, args);
	va_end(args);
	if (n < 0) {
		raw = NULL; /* glibc leaves it undefined */
		t->err = -ENOMEM;
		return;
	}
	text_add_safe(&safe, raw);
	text_add(&safe, "", 0);
	if (safe.failed || GROW(t->cells, t->ncells)) {
		text_buf_free(&safe);
		t->err = -ENOMEM;
		return;
	}
	t->cells[t->ncells++] = safe.data;
}

static const char *cell_text(const struct table *t, size_t cell)
{
	return t->cells[cell] ? t->cells[cell] : "";
}

int table_print(const struct table *t, FILE *out, const char *indent)
{
	unsigned width[TABLE_MAX_COLUMNS] = {0};

	if (t->err)
		return t->err;
	for (size_t i = 0; i < t->ncells; i++) {
		unsigned columns = text_columns(cell_text(t, i));

		if (columns > width[i % t->columns])
			width[i % t->columns] = columns;
	}
	for (size_t row = 0; row < t->ncells; row += t->columns) {
		unsigned pending = 0; /* spaces, once something follows them: no line ends in one */

		fputs(indent, out);
		for (size_t i = 0; i < t->columns && row + i < t->ncells; i++) {
			const char *text = cell_text(t, row + i);
			unsigned rest = width[i] - text_columns(text);
			unsigned before = t->right >> i & 1 ? rest : 0;

			if (*text) {
				fprintf(out, "%*s%s", (int)(pending + before), "", text);
				pending = 0;
				rest -= before;
			}
			pending += rest + (width[i] ? 2 : 0);
		}
		fputc('\n', out);
	}
	return 0;
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->ncells; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){0};
}
