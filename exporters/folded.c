/* SPDX-License-Identifier: MIT */
/* Folded stacks: a line for each stack with a weight of its own, as inferno, flamegraph.pl,
 * speedscope and Pyroscope read them.
 *
 *   COMM-TID;app::outer;app::inner 12345
 *
 * Names keep spaces, quotes and UTF-8. What would break a line is replaced (stacks.h,
 * STACKS_FOLDED): ';' by ':', white space other than a space by a space, other control characters
 * and invalid UTF-8 by U+FFFD, the space before a number at the end of a frame by '_'.
 */
#include "formats.h"

#include <errno.h>

#include "stacks.h"
#include "text.h"

static int write_lines(FILE *out, const struct stacks *s)
{
	AUTO_FREE size_t *ends = calloc((size_t)s->max_depth + 1, sizeof(*ends));
	AUTO_TEXT line = {0};

	if (!ends)
		return -ENOMEM;
	for (u32 i = 1; i < s->nframes; i++) {
		const struct stacks_frame *frame = &s->frames[i];
		size_t end;

		/* What is above this frame still stands at the front of the line. */
		text_cut(&line, ends[frame->depth - 1]);
		if (frame->depth > 1)
			text_add_str(&line, ";");
		text_add_str(&line, frame->label);
		end = ends[frame->depth] = line.len;
		if (!frame->self)
			continue;
		text_add_str(&line, " ");
		text_add_u64(&line, frame->self);
		text_add_str(&line, "\n");
		if (line.failed)
			return -ENOMEM;
		fwrite(line.data, 1, line.len, out);
		text_cut(&line, end);
	}
	return line.failed ? -ENOMEM : 0;
}

static int folded_finish(struct exporter *e, const struct profile *profile)
{
	CLEANUP(stacks_free) struct stacks *s = NULL;
	int err = stacks_new(profile, &e->options, STACKS_FOLDED, &s);

	return err ? err : write_lines(e->out, s);
}

static const char *const folded_keys[] = {
	"empty_samples", "threads_collapsed", "module_path", "file_and_line", "value", NULL,
};

const struct exporter_ops exporter_folded = {
	.name = "folded",
	.extension = ".folded",
	.keys = folded_keys,
	.finish = folded_finish,
};
