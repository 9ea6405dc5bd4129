/* SPDX-License-Identifier: MIT */
/* Aggregated mode, the loader's side: the kernel adds up, this reads what has been gained.
 *
 *   rows, octaves (mapped, the kernel writes them) - what was taken before ▸ the gain of each row ▸ FN
 *   a thread ends ▸ the last gain of its rows ▸ rows and pieces zeroed ▸ back on the kernel's free stacks
 *
 * Each number is read once, whole: a row that changes meanwhile gives the rest the next time.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../util/grow.h"
#include "kernel_impl.h"

#define PIECES_MAX (64 - OCTAVE_BITS + 1)

#define WINDOW (1u << 20) /* how much more of a table is mapped at a time */

int kernel_rows_size(struct kernel *kernel, u32 rows)
{
	struct spantrace_bpf *skel = kernel->skel;

	kernel->nrows = rows;
	kernel->noctaves = OCTAVES_OF(rows);
	if (bpf_map__set_max_entries(skel->maps.rows, rows) ||
	    bpf_map__set_max_entries(skel->maps.octaves, kernel->noctaves) ||
	    bpf_map__set_max_entries(skel->maps.row_index, rows) ||
	    bpf_map__set_max_entries(skel->maps.free_rows, rows) ||
	    bpf_map__set_max_entries(skel->maps.free_octaves, kernel->noctaves))
		return -EINVAL;
	return 0;
}

static size_t whole_windows(size_t bytes)
{
	return (bytes + WINDOW - 1) / WINDOW * WINDOW;
}

/* Addresses for a whole table; what is not used of it takes no memory here. */
static void *reserve(size_t bytes)
{
	void *table = mmap(NULL, whole_windows(bytes), PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return table == MAP_FAILED ? NULL : table;
}

int kernel_rows_map(struct kernel *kernel)
{
	kernel->rows = reserve(kernel->nrows * sizeof(*kernel->rows));
	kernel->octaves = reserve(kernel->noctaves * sizeof(*kernel->octaves));
	/* Pages of these are only had where rows are used. */
	kernel->rows_taken = calloc(kernel->nrows, sizeof(*kernel->rows_taken));
	kernel->octaves_taken = calloc(kernel->noctaves, sizeof(*kernel->octaves_taken));
	return kernel->rows && kernel->octaves && kernel->rows_taken && kernel->octaves_taken
		       ? 0
		       : -ENOMEM;
}

void kernel_rows_unmap(struct kernel *kernel)
{
	if (kernel->rows)
		munmap(kernel->rows, whole_windows(kernel->nrows * sizeof(*kernel->rows)));
	if (kernel->octaves)
		munmap(kernel->octaves, whole_windows(kernel->noctaves * sizeof(*kernel->octaves)));
	free(kernel->rows_taken);
	free(kernel->octaves_taken);
	free(kernel->kept);
}

/* Maps a table of MAP as far as WANTED bytes, of LENGTH in all. */
static int map_more(struct bpf_map *map, void *table, size_t *mapped, size_t wanted, size_t length)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	length = (length + page - 1) / page * page;
	while (*mapped < wanted) {
		size_t bytes = length - *mapped < WINDOW ? length - *mapped : WINDOW;

		if (mmap((char *)table + *mapped, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, bpf_map__fd(map), (off_t)*mapped) == MAP_FAILED)
			return -errno;
		*mapped += bytes;
	}
	return 0;
}

static u32 used_of(const u32 *used, u32 max)
{
	u32 n = __atomic_load_n(used, __ATOMIC_RELAXED);

	return n < max ? n : max;
}

/* Makes all that the kernel uses of its tables readable. Octaves first: what a row links to is then there. Returns how many
 * rows there are. */
static u32 map_used(struct kernel *kernel)
{
	u32 rows = used_of(&kernel->skel->data->rows_used, kernel->nrows);
	u32 octaves;

	if (!kernel->nrows ||
	    map_more(kernel->skel->maps.rows, kernel->rows, &kernel->rows_mapped,
		     rows * sizeof(*kernel->rows), kernel->nrows * sizeof(*kernel->rows)))
		return 0;
	octaves = used_of(&kernel->skel->data->octaves_used, kernel->noctaves);
	if (map_more(kernel->skel->maps.octaves, kernel->octaves, &kernel->octaves_mapped,
		     octaves * sizeof(*kernel->octaves),
		     kernel->noctaves * sizeof(*kernel->octaves)))
		return 0;
	return rows;
}

/* The piece of a histogram that LINK names; 0: none, or the kernel has made it since map_used(): it is next time's. */
static u32 next_piece(const struct kernel *kernel, const u32 *link)
{
	u32 piece = __atomic_load_n(link, __ATOMIC_ACQUIRE);

	return (piece + 1ull) * sizeof(*kernel->octaves) <= kernel->octaves_mapped ? piece : 0;
}

/* NOW - *TAKEN, and takes it. */
static u64 gain(const u64 *now, u64 *taken)
{
	u64 value = __atomic_load_n(now, __ATOMIC_RELAXED);
	u64 gained = value - *taken;

	*taken = value;
	return gained;
}

/* The gain of one piece of a histogram; false when there is none. */
static bool piece_gain(const struct wire_octave *now, struct wire_octave *taken,
		       struct wire_octave *gained)
{
	bool any = false;
	u32 i;

	gained->octave = now->octave;
	for (i = 0; i < OCTAVE_SIZE; i++) {
		u32 value = __atomic_load_n(&now->counts[i], __ATOMIC_RELAXED);

		gained->counts[i] = value - taken->counts[i];
		taken->counts[i] = value;
		any |= gained->counts[i] != 0;
	}
	return any;
}

/* Hands on what row INDEX has gained. The histogram is read first and the count after it: what lies between is in the count
 * alone until the next time. */
static void take_row(struct kernel *kernel, u32 index, kernel_row_fn fn, void *context)
{
	static struct wire_octave pieces[PIECES_MAX];
	const struct wire_row *now = &kernel->rows[index];
	struct wire_row *taken = &kernel->rows_taken[index];
	struct wire_row gained = {.thread = now->thread,
				  .path = now->path,
				  .async = now->async,
				  .values = now->values};
	u32 piece, n = 0, steps = 0;
	bool any;

	piece = next_piece(kernel, &now->octave);
	for (; piece && steps < PIECES_MAX; steps++) {
		if (piece_gain(&kernel->octaves[piece], &kernel->octaves_taken[piece], &pieces[n]))
			n++;
		piece = next_piece(kernel, &kernel->octaves[piece].next);
	}
	gained.count = gain(&now->count, &taken->count);
	gained.abandoned = gain(&now->abandoned, &taken->abandoned);
	gained.open = gain(&now->open, &taken->open);
	gained.wall_ns = gain(&now->wall_ns, &taken->wall_ns);
	gained.open_wall_ns = gain(&now->open_wall_ns, &taken->open_wall_ns);
	gained.busy_ns = gain(&now->busy_ns, &taken->busy_ns);
	gained.self_ns = gain(&now->self_ns, &taken->self_ns);
	gained.off_ns = gain(&now->off_ns, &taken->off_ns);
	gained.run_delay_ns = gain(&now->run_delay_ns, &taken->run_delay_ns);
	gained.self_off_ns = gain(&now->self_off_ns, &taken->self_off_ns);
	gained.self_run_delay_ns = gain(&now->self_run_delay_ns, &taken->self_run_delay_ns);
	gained.system_ns = gain(&now->system_ns, &taken->system_ns);
	gained.self_system_ns = gain(&now->self_system_ns, &taken->self_system_ns);
	gained.vol_switches = gain(&now->vol_switches, &taken->vol_switches);
	gained.invol_switches = gain(&now->invol_switches, &taken->invol_switches);
	gained.minor_faults = gain(&now->minor_faults, &taken->minor_faults);
	gained.major_faults = gain(&now->major_faults, &taken->major_faults);
	gained.segment_ns = gain(&now->segment_ns, &taken->segment_ns);
	gained.segment_off_ns = gain(&now->segment_off_ns, &taken->segment_off_ns);
	gained.segment_run_delay_ns =
		gain(&now->segment_run_delay_ns, &taken->segment_run_delay_ns);
	gained.segment_system_ns = gain(&now->segment_system_ns, &taken->segment_system_ns);
	gained.alloc_objects = gain(&now->alloc_objects, &taken->alloc_objects);
	gained.alloc_bytes = gain(&now->alloc_bytes, &taken->alloc_bytes);
	gained.inuse_objects = gain(&now->inuse_objects, &taken->inuse_objects);
	gained.inuse_bytes = gain(&now->inuse_bytes, &taken->inuse_bytes);
	gained.map_calls = gain(&now->map_calls, &taken->map_calls);
	gained.map_bytes = gain(&now->map_bytes, &taken->map_bytes);
	gained.unmap_calls = gain(&now->unmap_calls, &taken->unmap_calls);
	gained.unmap_bytes = gain(&now->unmap_bytes, &taken->unmap_bytes);
	gained.least_ns = __atomic_load_n(&now->least_ns, __ATOMIC_RELAXED);
	gained.most_ns = __atomic_load_n(&now->most_ns, __ATOMIC_RELAXED);
	any = n || gained.count || gained.open || gained.segment_ns || gained.alloc_objects ||
	      gained.inuse_objects || gained.inuse_bytes || gained.map_calls || gained.unmap_calls;
	if (any)
		fn(context, &gained, pieces, n);
}

void kernel_take_rows(struct kernel *kernel, kernel_row_fn fn, void *context)
{
	u32 i, n = map_used(kernel);

	for (i = 1; i < n; i++)
		if (__atomic_load_n(&kernel->rows[i].thread, __ATOMIC_ACQUIRE))
			take_row(kernel, i, fn, context);
}

/* Nobody writes to the row any more: empties it, and puts it where the kernel finds it. */
static void give_back(struct kernel *kernel, u32 index)
{
	int octaves_fd = bpf_map__fd(kernel->skel->maps.free_octaves);
	struct wire_row *row = &kernel->rows[index];
	struct wire_row_key key = {.thread = row->thread, .path = row->path};
	u32 piece = next_piece(kernel, &row->octave), steps = 0;

	bpf_map_delete_elem(bpf_map__fd(kernel->skel->maps.row_index), &key);
	memset(row, 0, sizeof(*row));
	memset(&kernel->rows_taken[index], 0, sizeof(*row));
	for (; piece && steps < PIECES_MAX; steps++) {
		u32 next = next_piece(kernel, &kernel->octaves[piece].next);

		memset(&kernel->octaves[piece], 0, sizeof(kernel->octaves[piece]));
		memset(&kernel->octaves_taken[piece], 0, sizeof(kernel->octaves_taken[piece]));
		bpf_map_update_elem(octaves_fd, NULL, &piece, BPF_ANY);
		piece = next;
	}
	bpf_map_update_elem(bpf_map__fd(kernel->skel->maps.free_rows), NULL, &index, BPF_ANY);
}

void kernel_end_rows(struct kernel *kernel, u32 first, kernel_row_fn fn, void *context)
{
	u32 index = first, steps = 0, next, n = map_used(kernel);

	for (; index && index < n && steps < n; index = next, steps++) {
		next = kernel->rows[index].next;
		take_row(kernel, index, fn, context);
		/* Without memory to remember it, the row stays. */
		if (!kernel->rows[index].heap && !kernel->rows[index].async)
			give_back(kernel, index);
		else if (!GROW(kernel->kept, kernel->nkept))
			kernel->kept[kernel->nkept++] = index;
	}
}

void kernel_release_rows(struct kernel *kernel, kernel_row_fn fn, kernel_ended_fn ended,
			 void *context)
{
	u32 i, kept = 0;

	map_used(kernel);
	for (i = 0; i < kernel->nkept; i++) {
		u32 index = kernel->kept[i];
		const struct wire_row *row = &kernel->rows[index];

		/* The number falls behind the block's end in the table, so 0 is the end of all that name the row. */
		if ((!row->async && !__atomic_load_n(&row->inuse_objects, __ATOMIC_ACQUIRE)) ||
		    ended(context, row->thread)) {
			take_row(kernel, index, fn, context);
			give_back(kernel, index);
		} else {
			kernel->kept[kept++] = index;
		}
	}
	kernel->nkept = kept;
	if (!kept) {
		free(kernel->kept);
		kernel->kept = NULL;
	}
}
