/* SPDX-License-Identifier: MIT */
/* The formats, each defined in the file of its name; exporters.c lists them. */
#ifndef SPANTRACE_FORMATS_H
#define SPANTRACE_FORMATS_H

#include "exporter.h"

extern const struct exporter_ops exporter_chrome;
extern const struct exporter_ops exporter_flamechart;
extern const struct exporter_ops exporter_flamegraph;
extern const struct exporter_ops exporter_folded;
extern const struct exporter_ops exporter_html;
extern const struct exporter_ops exporter_json;
extern const struct exporter_ops exporter_mm_profdata;
extern const struct exporter_ops exporter_otlp;
extern const struct exporter_ops exporter_perfetto;
extern const struct exporter_ops exporter_pprof;
extern const struct exporter_ops exporter_recording;
extern const struct exporter_ops exporter_summary;

#endif
