/* SPDX-License-Identifier: MIT */
/* The version, once: the Makefile reads it from here. */
#ifndef SPANTRACE_VERSION_H
#define SPANTRACE_VERSION_H

#define SPANTRACE_VERSION "0.1.0"

#endif
