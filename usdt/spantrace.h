/* SPDX-License-Identifier: MIT */
/* spantrace.h: declare spans and events that spantrace can watch from outside.
 *
 *	#include <spantrace.h>
 *
 *	void serve(struct request *r)
 *	{
 *		SPAN_SCOPE(app, request);            a span until this block ends
 *		{
 *			SPAN_SCOPE_ARGS(app, parse, bytes, r->size, peer, r->peer);
 *			...
 *		}
 *		SPAN_EVENT(app, served);             a point in time
 *	}
 *
 * Each macro leaves a USDT marker as those of <sys/sdt.h>: one nop in the code, and a note that
 * the program never loads. Nothing is linked in and nothing runs until a tracer attaches:
 * spantrace, or anything else that knows USDT (bpftrace, perf, gdb, SystemTap).
 *
 * One file, C99 to C23 and C++11 to C++23, gcc and clang, x86-64 and arm64 Linux. Everywhere
 * else, and where SPANTRACE_DISABLE is defined before it is included, the macros take their
 * arguments and do nothing. It needs <sys/sdt.h> (Debian: systemtap-sdt-dev, Fedora: systemtap-
 * sdt-devel).
 *
 *
 * The macros
 *
 *   SPAN_SCOPE(provider, name)                  span of this thread, until the enclosing block ends
 *   SPAN_ENTER(provider, name)                  the same by hand: begins here ...
 *   SPAN_EXIT(provider, name)                   ... and ends here
 *   SPAN_NEW(provider, name, id)                async span: begins to exist
 *   SPAN_NEW_UNDER(provider, name, id, parent)  ... as a child of the async span whose id is parent
 *   SPAN_ENTER_ID(provider, name, id)           ... this thread works on it from here ...
 *   SPAN_EXIT_ID(provider, name, id)            ... to here, as often as needed, on any thread
 *   SPAN_CLOSE(provider, name, id)              ... is over
 *   SPAN_EVENT(provider, name)                  a point in time
 *   SPAN_EVENT_VALUE(provider, name, value)     ... with an integer
 *   SPAN_SCOPE_ARGS(provider, name, key, value[, key, value]...)
 *   SPAN_ENTER_ARGS(provider, name, key, value[, key, value]...)
 *   SPAN_NEW_ARGS(provider, name, id, key, value[, key, value]...)
 *   SPAN_EVENT_ARGS(provider, name, key, value[, key, value]...)
 *                                               the same with one to four labels
 *
 * provider, name and key are identifiers, not strings. They may be macros: what those stand for
 * is used, so a project can write `#define MY_SPAN(name) SPAN_SCOPE(myproject, name)`.
 *
 * An id is an integer or a pointer to an object, at most 64 bits, unique among the async spans of
 * that name in this process while it lives; unique among all of them if it is named as a parent,
 * and then not 0. A label's value is an integer, an enumeration, a bool or a C string; labels
 * carry integers as signed 64-bit values.
 *
 * Each macro but the SPAN_SCOPE ones is a statement. SPAN_SCOPE is a declaration: it can stand
 * wherever a block lets one stand, as often as wanted, and its span ends with the block however
 * that is left (end, return, break, continue, goto; exceptions in C++, and in C code built with
 * -fexceptions). After longjmp() no exit is seen; spantrace then ends the span when it notices.
 *
 *
 * The markers
 *
 *   macro                  marker                 arguments
 *   SPAN_SCOPE             provider:name__enter
 *                          provider:name__exit
 *   SPAN_ENTER, SPAN_EXIT  the same
 *   SPAN_NEW               provider:name__new     id, 0
 *   SPAN_NEW_UNDER         provider:name__new     id, parent
 *   SPAN_ENTER_ID          provider:name__enter   id
 *   SPAN_EXIT_ID           provider:name__exit    id
 *   SPAN_CLOSE             provider:name__close   id
 *   SPAN_EVENT             provider:name
 *   SPAN_EVENT_VALUE       provider:name          value
 *   ..._ARGS               as without _ARGS, and the labels after those
 *
 * Ids are unsigned 8-byte arguments, values signed 8-byte ones. A label is a signed 8-byte
 * argument when it is an integer, an unsigned one when it is the address of a string. Source
 * file, line and keys stand in a second section, .note.spantrace, which is not loaded either.
 * Both outlive strip and --gc-sections.
 *
 *
 * What it costs when nobody looks
 *
 * A marker without labels has no semaphore: it is its nop, and where there is an id, what it takes
 * to have that in a register or in memory. A marker with labels has a semaphore, a counter that
 * tracers raise while they look: its arguments are evaluated only then, so that it costs one load
 * and one branch that is not taken, however dear they are. (So arguments must have no side
 * effects.) All markers of one name in one binary share one semaphore. A span with labels that
 * was entered before the tracer came has an exit only, as every span that was.
 *
 * The compiler moves no access to memory over a marker, so that work stays on the side of it
 * where the source has it; values in registers it moves as it likes.
 *
 * Semaphores of your own probes are not touched, whether or not _SDT_HAS_SEMAPHORES is defined.
 *
 *
 * How SPAN_SCOPE knows its exit
 *
 * The exit marker should stand in the function that the enter marker stands in: then the stack
 * pointers are equal, which is how a tracer tells recursion and fibers apart. (Where an optimiser
 * sets up the frame on some paths only, they can differ; the tracer then takes the nearest enter.)
 * The name must be in the assembler text, so each use needs code of its own that runs at the end of
 * the block:
 *
 *   C++         the destructor of a local class, always inlined: one nop at every -O level
 *   C, gcc      a nested function, always inlined: one nop at every -O level. It uses no local
 *               variable, so it needs no trampoline and no executable stack
 *   C, clang    has neither, so the exit marker of a name stands in a small function of its own,
 *               shared by all uses of that name in the binary, and the end of the block calls it.
 *               The function sets the stack pointer back to its caller's for the marker, and
 *               changes no register: 0.8 ns a span, where the others cost what two nops do
 *
 *
 * Limits
 *
 *   - inside functions only, and not in constexpr functions
 *   - C before C23 allows no declaration right after `case x:` or a label: give SPAN_SCOPE a block
 *   - -masm=intel makes argument texts that tracers do not read; markers without arguments are fine
 *   - a string is read when the marker fires, so it must be one in memory that ends in a NUL
 *   - gcc: not in a function whose target attribute takes away instructions that the file may use
 *   - arguments of 128 bits, floating point or class type do not compile: cast them
 *
 * Define before including:
 *   SPANTRACE_BATCHED        thread spans and events without labels go through a buffer of the thread: below
 *   SPANTRACE_TSC            with it: stamped with the processor's counter instead of clock_gettime()
 *   SPANTRACE_DISABLE        compile everything to nothing
 *   SPANTRACE_FILE           what to say as the source file of a marker, instead of __FILE__
 *   SPANTRACE_CONSTRAINT     where arguments may stand, as an asm constraint: n constant, o memory,
 *                            r register
 *
 *
 * The batched lane
 *
 * With SPANTRACE_BATCHED the macros SPAN_SCOPE, SPAN_ENTER, SPAN_EXIT, SPAN_EVENT and SPAN_EVENT_VALUE leave no nop and
 * no marker for other tools. While spantrace looks they write {time, stack pointer, marker} into a thread-local
 * buffer; when that is full, or a millisecond old, one marker fires and spantrace fetches it. It costs two reads of the
 * clock and some 40 ns a span, where two nops cost 900 ns; nobody looking, a load and a branch that is not taken. All
 * markers of a binary share one semaphore. Files with and without it can be mixed, in one span even. In a signal handler
 * that interrupts one of these macros on its thread they do nothing.
 *
 *
 * Changes
 *   1.0  first version
 */
#ifndef SPANTRACE_H
#define SPANTRACE_H

#define SPANTRACE_H_MAJOR 1
#define SPANTRACE_H_MINOR 0

#if defined(__cplusplus) && __cplusplus < 201103L
#error "spantrace.h needs C++11 or newer: compile with -std=c++11"
#endif

#if !defined(SPANTRACE_DISABLE) && defined(__linux__) && defined(__ELF__) && defined(__GNUC__) && \
	defined(__LP64__) && (defined(__x86_64__) || defined(__AARCH64EL__))
#define SPANTRACE_ENABLED 1
#else
#define SPANTRACE_ENABLED 0
#endif

#define SPANTRACE_CAT_(a, b)  SPANTRACE_CAT1_(a, b)
#define SPANTRACE_CAT1_(a, b) a##b

/* How many pairs: 1 to 4, or BAD. */
#define SPANTRACE_COUNT_(...)                                                                     \
	SPANTRACE_COUNT1_(__VA_ARGS__, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, 4, BAD, 3, BAD, 2, \
			  BAD, 1, BAD, BAD)
#define SPANTRACE_COUNT1_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count

#if SPANTRACE_ENABLED

#if defined(__has_include)
#if !__has_include(<sys/sdt.h>)
#error "spantrace.h needs <sys/sdt.h>: install systemtap-sdt-dev, or define SPANTRACE_DISABLE"
#endif
#endif
#include <sys/sdt.h>

/* What is used of <sys/sdt.h>: the nop, the directive for an address, the flag that puts a note
 * into the section group of the code it describes, and the anchor that tells how far a file was
 * moved by prelink. Notes are put together here: sdt.h gives all markers of a file a semaphore or
 * none. */
#if !defined(_SDT_NOP) || !defined(_SDT_ASM_ADDR) || !defined(_SDT_ASM_AUTOGROUP) || \
	!defined(_SDT_ASM_BASE)
#error "spantrace.h does not know this <sys/sdt.h>: use systemtap's, or define SPANTRACE_DISABLE"
#endif

#ifndef SPANTRACE_FILE
#define SPANTRACE_FILE __FILE__
#endif

/* Given the choice, clang stores to memory what it has in a register. */
#ifndef SPANTRACE_CONSTRAINT
#ifdef __clang__
#define SPANTRACE_CONSTRAINT "nr"
#else
#define SPANTRACE_CONSTRAINT "nor"
#endif
#endif

#define SPANTRACE_STR_(x)  SPANTRACE_STR1_(x)
#define SPANTRACE_STR1_(x) #x

/* gcc takes the lines of an asm for instructions when it decides what to inline; "inline" tells
 * it that this one is small. */
#if !defined(__clang__) && __GNUC__ >= 9
#define SPANTRACE_ASM_ __asm__ __volatile__ __inline__
#else
#define SPANTRACE_ASM_ __asm__ __volatile__
#endif

#define SPANTRACE_INLINE_ __inline__ __attribute__((always_inline, unused, no_instrument_function))

/* Expands to nothing, and fails with a message where provider or name is no identifier. */
#define SPANTRACE_CHECK_(provider, name)  SPANTRACE_CHECK1_(provider, name)
#define SPANTRACE_CHECK1_(provider, name) SPANTRACE_NOTHING_(spantrace_##provider##_##name)
#define SPANTRACE_NOTHING_(identifier)

/* ---- Assembler text, one line a line. No `%` in it, but for the arguments of a site ---- */

/* clang-format off */

/* The nop and its note. SEMAPHORE is a symbol or 0, ARGS the text that says where
 * arguments are. */
#define SPANTRACE_SITE_(provider, name, suffix, semaphore, args)                           \
	"990: " SPANTRACE_STR_(_SDT_NOP) "\n"                                              \
	".pushsection .note.stapsdt," SPANTRACE_STR_(_SDT_ASM_AUTOGROUP) ",\"note\"\n"     \
	".balign 4\n"                                                                      \
	".4byte 992f-991f,994f-993f,3\n"                                                   \
	"991: .asciz \"stapsdt\"\n"                                                        \
	"992: .balign 4\n"                                                                 \
	"993: " SPANTRACE_STR_(_SDT_ASM_ADDR) " 990b\n"                                    \
	SPANTRACE_STR_(_SDT_ASM_ADDR) " _.stapsdt.base\n"                                  \
	SPANTRACE_STR_(_SDT_ASM_ADDR) " " semaphore "\n"                                   \
	".asciz \"" SPANTRACE_STR_(provider) "\"\n"                                        \
	".asciz \"" SPANTRACE_STR_(name) suffix "\"\n"                                     \
	".asciz \"" args "\"\n"                                                            \
	"994: .balign 4\n"                                                                 \
	".popsection\n"                                                                    \
	_SDT_ASM_BASE

/* What a stapsdt note cannot hold, for the site right before, whose nop still is 990. A text of
 * its own, in an asm without operands: there the `%` and `{` that a path can have mean nothing. */
#define SPANTRACE_NOTE_(provider, name, suffix, keys)                                      \
	".pushsection .note.spantrace," SPANTRACE_STR_(_SDT_ASM_AUTOGROUP) ",\"note\"\n"   \
	".balign 4\n"                                                                      \
	".4byte 992f-991f,994f-993f,1\n"                                                   \
	"991: .asciz \"spantrace\"\n"                                                      \
	"992: .balign 4\n"                                                                 \
	"993: " SPANTRACE_STR_(_SDT_ASM_ADDR) " 990b\n"                                    \
	".4byte " SPANTRACE_STR_(__LINE__) "\n"                                            \
	".asciz \"" SPANTRACE_STR_(provider) "\"\n"                                        \
	".asciz \"" SPANTRACE_STR_(name) suffix "\"\n"                                     \
	".asciz " SPANTRACE_STR_(SPANTRACE_FILE) "\n"                                      \
	keys                                                                               \
	".byte 0\n"                                                                        \
	"994: .balign 4\n"                                                                 \
	".popsection\n"

#define SPANTRACE_KEY_VALUE_ ".asciz \"value\"\n"
#define SPANTRACE_KEY_(key) SPANTRACE_CHECK_(key, ) ".asciz \"" SPANTRACE_STR_(key) "\"\n"

/* One for each marker and binary: the linker keeps the first of a comdat group, and no other
 * binary sees a hidden symbol. Weak, so that one that the program
 * defines for probes of that name in another file wins. */
#define SPANTRACE_SEMAPHORE_NAME_(provider, name, suffix)                                  \
	SPANTRACE_STR_(provider) "_" SPANTRACE_STR_(name) suffix "_semaphore"

#define SPANTRACE_SEMAPHORE_(symbol)                                                       \
	".ifndef " symbol "\n"                                                             \
	".pushsection .probes,\"awG\",\"progbits\"," symbol ",comdat\n"                    \
	".weak " symbol "\n"                                                               \
	".hidden " symbol "\n"                                                             \
	".type " symbol ",@object\n"                                                       \
	".size " symbol ",2\n"                                                             \
	".balign 2\n" symbol ": .2byte 0\n"                                                \
	".popsection\n"                                                                    \
	".endif\n"
#ifdef SPANTRACE_BATCHED

#define SPANTRACE_BATCH_SEMAPHORE_ "spantrace_batch_semaphore"

/* A place in a table that takes a byte of address space a marker and none of the file: how far it stands from the
 * table's begin is the marker's number in this binary. */
#define SPANTRACE_PLACE_(bytes)                                                            \
	"990:\n"                                                                           \
	".pushsection spantrace_sites,\"aw" _SDT_ASM_AUTOGROUP "\",\"nobits\"\n"           \
	"995: .zero " bytes "\n"                                                           \
	".popsection\n"                                                                    \
	".hidden __start_spantrace_sites\n"

/* The note of a batched marker, number AT of those that the place before holds. */
#define SPANTRACE_BATCHED_NOTE_(provider, name, suffix, at, args)                          \
	".pushsection .note.spantrace," SPANTRACE_STR_(_SDT_ASM_AUTOGROUP) ",\"note\"\n"   \
	".balign 4\n"                                                                      \
	".4byte 992f-991f,994f-993f,2\n"                                                   \
	"991: .asciz \"spantrace\"\n"                                                      \
	"992: .balign 4\n"                                                                 \
	"993: " SPANTRACE_STR_(_SDT_ASM_ADDR) " 990b\n"                                    \
	SPANTRACE_STR_(_SDT_ASM_ADDR) " 995b+" at "\n"                                     \
	".asciz \"" SPANTRACE_STR_(provider) "\"\n"                                        \
	".asciz \"" SPANTRACE_STR_(name) suffix "\"\n"                                     \
	".asciz \"" args "\"\n"                                                            \
	"994: .balign 4\n"                                                                 \
	".popsection\n"

/* The marker that fires when a buffer is to be fetched; its argument is the buffer's address. */
#define SPANTRACE_FETCH_(clock)                                                            \
	"990: " SPANTRACE_STR_(_SDT_NOP) "\n"                                              \
	".pushsection .note.spantrace," SPANTRACE_STR_(_SDT_ASM_AUTOGROUP) ",\"note\"\n"   \
	".balign 4\n"                                                                      \
	".4byte 992f-991f,994f-993f,3\n"                                                   \
	"991: .asciz \"spantrace\"\n"                                                      \
	"992: .balign 4\n"                                                                 \
	"993: " SPANTRACE_STR_(_SDT_ASM_ADDR) " 990b\n"                                    \
	SPANTRACE_STR_(_SDT_ASM_ADDR) " " SPANTRACE_BATCH_SEMAPHORE_ "\n"                  \
	SPANTRACE_STR_(_SDT_ASM_ADDR) " __start_spantrace_sites\n"                         \
	SPANTRACE_STR_(_SDT_ASM_ADDR) " __stop_spantrace_sites\n"                          \
	".4byte " clock "\n"                                                               \
	"994: .balign 4\n"                                                                 \
	".popsection\n"                                                                    \
	".pushsection spantrace_sites,\"aw" _SDT_ASM_AUTOGROUP "\",\"nobits\"\n"           \
	".zero 1\n" /* there is such a table, also where no marker is */                   \
	".popsection\n"                                                                    \
	".hidden __start_spantrace_sites\n"                                                \
	".hidden __stop_spantrace_sites\n"                                                 \
	SPANTRACE_SEMAPHORE_(SPANTRACE_BATCH_SEMAPHORE_)

#endif /* SPANTRACE_BATCHED */
/* clang-format on */

/* ---- Markers ---- */

#define SPANTRACE_IN_(value) SPANTRACE_CONSTRAINT(value)

#define SPANTRACE_PLAIN_TEXT_(provider, name, suffix)    \
	SPANTRACE_SITE_(provider, name, suffix, "0", "") \
	SPANTRACE_NOTE_(provider, name, suffix, "")

#define SPANTRACE_PLAIN_(provider, name, suffix)                               \
	SPANTRACE_CHECK_(provider, name)                                       \
	do {                                                                   \
		SPANTRACE_ASM_(SPANTRACE_PLAIN_TEXT_(provider, name, suffix)); \
	} while (0)

/* One argument: TEXT is how the note says its size and sign. */
#define SPANTRACE_ONE_(provider, name, suffix, text, value, keys)                            \
	SPANTRACE_CHECK_(provider, name)                                                     \
	do {                                                                                 \
		SPANTRACE_ASM_(                                                              \
			SPANTRACE_SITE_(provider, name, suffix, "0", text "@%[spantrace_1]") \
			:                                                                    \
			: [spantrace_1] SPANTRACE_IN_(value));                               \
		SPANTRACE_ASM_(SPANTRACE_NOTE_(provider, name, suffix, keys));               \
	} while (0)

#define SPANTRACE_NEW_TEXT_ "8@%[spantrace_id] 8@%[spantrace_parent]"

#define SPANTRACE_NEW_(provider, name, id, parent)                                                \
	SPANTRACE_CHECK_(provider, name)                                                          \
	do {                                                                                      \
		SPANTRACE_ASM_(SPANTRACE_SITE_(provider, name, "__new", "0", SPANTRACE_NEW_TEXT_) \
			       :                                                                  \
			       : [spantrace_id] SPANTRACE_IN_(SPANTRACE_ID_(id)),                 \
				 [spantrace_parent] parent);                                      \
		SPANTRACE_ASM_(SPANTRACE_NOTE_(provider, name, "__new", ""));                     \
	} while (0)

/* ---- Markers with labels ---- */

/* Picks the macro for the number of labels. LEAD is operands that come before them, in brackets,
 * TEXT what the note says of those. */
#define SPANTRACE_LABELLED_(provider, name, suffix, lead, text, ...)       \
	SPANTRACE_CAT_(SPANTRACE_LABELLED_, SPANTRACE_COUNT_(__VA_ARGS__)) \
	(provider, name, suffix, lead, text, __VA_ARGS__)

#define SPANTRACE_LABELLED_BAD(...)                                                            \
	do {                                                                                   \
		SPANTRACE_ASSERT_(                                                             \
			0, "spantrace: labels are one to four pairs: key, value, key, value"); \
	} while (0)

#define SPANTRACE_LABELLED_1(provider, name, suffix, lead, text, k1, v1)                          \
	SPANTRACE_EMIT_(provider, name, suffix, SPANTRACE_LABEL_(1, v1), text SPANTRACE_TEXT_(1), \
			(SPANTRACE_UNWRAP_ lead SPANTRACE_OPERANDS_(1)), SPANTRACE_KEY_(k1))

#define SPANTRACE_LABELLED_2(provider, name, suffix, lead, text, k1, v1, k2, v2)                 \
	SPANTRACE_EMIT_(provider, name, suffix, SPANTRACE_LABEL_(1, v1) SPANTRACE_LABEL_(2, v2), \
			text SPANTRACE_TEXT_(1) " " SPANTRACE_TEXT_(2),                          \
			(SPANTRACE_UNWRAP_ lead SPANTRACE_OPERANDS_(1), SPANTRACE_OPERANDS_(2)), \
			SPANTRACE_KEY_(k1) SPANTRACE_KEY_(k2))

#define SPANTRACE_LABELLED_3(provider, name, suffix, lead, text, k1, v1, k2, v2, k3, v3)         \
	SPANTRACE_EMIT_(provider, name, suffix,                                                  \
			SPANTRACE_LABEL_(1, v1) SPANTRACE_LABEL_(2, v2) SPANTRACE_LABEL_(3, v3), \
			text SPANTRACE_TEXT_(1) " " SPANTRACE_TEXT_(2) " " SPANTRACE_TEXT_(3),   \
			(SPANTRACE_UNWRAP_ lead SPANTRACE_OPERANDS_(1), SPANTRACE_OPERANDS_(2),  \
			 SPANTRACE_OPERANDS_(3)),                                                \
			SPANTRACE_KEY_(k1) SPANTRACE_KEY_(k2) SPANTRACE_KEY_(k3))

#define SPANTRACE_LABELLED_4(provider, name, suffix, lead, text, k1, v1, k2, v2, k3, v3, k4, v4) \
	SPANTRACE_EMIT_(provider, name, suffix,                                                  \
			SPANTRACE_LABEL_(1, v1) SPANTRACE_LABEL_(2, v2) SPANTRACE_LABEL_(3, v3)  \
				SPANTRACE_LABEL_(4, v4),                                         \
			text SPANTRACE_TEXT_(1) " " SPANTRACE_TEXT_(2) " " SPANTRACE_TEXT_(      \
				3) " " SPANTRACE_TEXT_(4),                                       \
			(SPANTRACE_UNWRAP_ lead SPANTRACE_OPERANDS_(1), SPANTRACE_OPERANDS_(2),  \
			 SPANTRACE_OPERANDS_(3), SPANTRACE_OPERANDS_(4)),                        \
			SPANTRACE_KEY_(k1) SPANTRACE_KEY_(k2) SPANTRACE_KEY_(k3)                 \
				SPANTRACE_KEY_(k4))

#define SPANTRACE_UNWRAP_(...) __VA_ARGS__
#define SPANTRACE_TEXT_(i)     "%c[spantrace_size" #i "]@%[spantrace_label" #i "]"
#define SPANTRACE_OPERANDS_(i)                                    \
	[spantrace_size##i] "n"(SPANTRACE_SIZE_(spantrace_v##i)), \
		[spantrace_label##i] SPANTRACE_IN_(SPANTRACE_WIDEN_(spantrace_v##i))

/* clang-format off */
/* Reads a semaphore, each time anew. In assembler, since g++ forgets the assembler name of a
 * variable that is declared inside a template, and LTO does not know symbols that only assembler
 * text defines. */
#if defined(__x86_64__)
#define SPANTRACE_TEST_(symbol, armed)                                                     \
	SPANTRACE_ASM_(SPANTRACE_SEMAPHORE_(symbol)                                        \
		       "{cmpw $0," symbol "(%%rip)|cmp WORD PTR " symbol "[rip],0}"        \
		       : "=@ccne"(armed))
#else
#define SPANTRACE_TEST_(symbol, armed)                                                     \
	SPANTRACE_ASM_(SPANTRACE_SEMAPHORE_(symbol)                                        \
		       "adrp %x0," symbol "\n"                                             \
		       "ldrh %w0,[%x0,#:lo12:" symbol "]"                                  \
		       : "=r"(armed))
#endif
/* clang-format on */

/* The semaphore is tested, then the values are worked out, then the marker fires. The clobber is
 * there for strings: what the program wrote to them must be in memory before a tracer reads it.
 * */
#define SPANTRACE_EMIT_(provider, name, suffix, labels, text, operands, keys)                      \
	SPANTRACE_CHECK_(provider, name)                                                           \
	do {                                                                                       \
		int spantrace_armed;                                                               \
		SPANTRACE_TEST_(SPANTRACE_SEMAPHORE_NAME_(provider, name, suffix),                 \
				spantrace_armed);                                                  \
		if (__builtin_expect(spantrace_armed, 0)) {                                        \
			labels;                                                                    \
			SPANTRACE_ASM_(                                                            \
				SPANTRACE_SITE_(provider, name, suffix,                            \
						SPANTRACE_SEMAPHORE_NAME_(provider, name, suffix), \
						text)                                              \
				:                                                                  \
				: SPANTRACE_UNWRAP_ operands                                       \
				: "memory");                                                       \
			SPANTRACE_ASM_(SPANTRACE_NOTE_(provider, name, suffix, keys));             \
		}                                                                                  \
	} while (0)

/* ---- C and C++: values, labels and the end of a block ---- */

#ifdef __cplusplus

#define SPANTRACE_ASSERT_(condition, message) static_assert(condition, message)
#define SPANTRACE_ID_(id)                     ::spantrace_detail::to_id(id)
#define SPANTRACE_VALUE_(value)               ::spantrace_detail::to_number(value)
#define SPANTRACE_SIZE_(v)                    ::spantrace_detail::size_of_label<decltype(v)>::value
#define SPANTRACE_WIDEN_(v)                   v

#define SPANTRACE_LABEL_(i, value) const auto spantrace_v##i = ::spantrace_detail::to_label(value);

/* What <type_traits> would give, without pulling it into every file. */
namespace spantrace_detail
{
template <typename T, bool = __is_enum(T)> struct plain {
	typedef T type;
};
template <typename T> struct plain<T, true> {
	typedef __underlying_type(T) type;
};

/* Anything but the types below is refused; one is as good as the other for `value`. */
template <typename T> struct is_integer {
	static const bool value = false;
};
#define SPANTRACE_INTEGER_(T)                   \
	template <> struct is_integer<T> {      \
		static const bool value = true; \
	}
SPANTRACE_INTEGER_(bool);
SPANTRACE_INTEGER_(char);
SPANTRACE_INTEGER_(signed char);
SPANTRACE_INTEGER_(unsigned char);
SPANTRACE_INTEGER_(wchar_t);
SPANTRACE_INTEGER_(char16_t);
SPANTRACE_INTEGER_(char32_t);
#ifdef __cpp_char8_t
SPANTRACE_INTEGER_(char8_t);
#endif
SPANTRACE_INTEGER_(short);
SPANTRACE_INTEGER_(unsigned short);
SPANTRACE_INTEGER_(int);
SPANTRACE_INTEGER_(unsigned int);
SPANTRACE_INTEGER_(long);
SPANTRACE_INTEGER_(unsigned long);
SPANTRACE_INTEGER_(long long);
SPANTRACE_INTEGER_(unsigned long long);
#undef SPANTRACE_INTEGER_

/* Overloads take the types that need no cast, so that -Wuseless-cast has nothing to say. */
SPANTRACE_INLINE_ constexpr long long to_number(long long v) noexcept
{
	return v;
}
template <typename T> SPANTRACE_INLINE_ constexpr long long to_number(T v) noexcept
{
	static_assert(is_integer<typename plain<T>::type>::value,
		      "spantrace: this must be an integer of at most 64 bits: cast it");
	return static_cast<long long>(v);
}

SPANTRACE_INLINE_ constexpr unsigned long long to_id(unsigned long long v) noexcept
{
	return v;
}
template <typename T> SPANTRACE_INLINE_ unsigned long long to_id(T *v) noexcept
{
	return reinterpret_cast<unsigned long long>(v);
}
template <typename T> SPANTRACE_INLINE_ constexpr unsigned long long to_id(T v) noexcept
{
	static_assert(is_integer<typename plain<T>::type>::value,
		      "spantrace: an id is an integer of at most 64 bits or a pointer: cast it");
	return static_cast<unsigned long long>(v);
}

SPANTRACE_INLINE_ constexpr const void *to_label(const char *v) noexcept
{
	return v;
}
SPANTRACE_INLINE_ constexpr const void *to_label(const signed char *v) noexcept
{
	return v;
}
SPANTRACE_INLINE_ constexpr const void *to_label(const unsigned char *v) noexcept
{
	return v;
}
#ifdef __cpp_char8_t
SPANTRACE_INLINE_ constexpr const void *to_label(const char8_t *v) noexcept
{
	return v;
}
#endif
SPANTRACE_INLINE_ constexpr const void *to_label(char *v) noexcept
{
	return v;
}
SPANTRACE_INLINE_ constexpr const void *to_label(signed char *v) noexcept
{
	return v;
}
SPANTRACE_INLINE_ constexpr const void *to_label(unsigned char *v) noexcept
{
	return v;
}
SPANTRACE_INLINE_ constexpr long long to_label(long long v) noexcept
{
	return v;
}
template <typename T> SPANTRACE_INLINE_ constexpr long long to_label(T v) noexcept
{
	static_assert(
		is_integer<typename plain<T>::type>::value,
		"spantrace: a label's value is an integer or a C string: cast it, or use .c_str()");
	return static_cast<long long>(v);
}

template <typename T> struct size_of_label;
template <> struct size_of_label<const long long> {
	static const int value = -8;
};
template <> struct size_of_label<const void *const> {
	static const int value = 8;
};
} /* namespace spantrace_detail */

/* One declaration: a local class whose destructor is the exit, and a variable of it whose
 * initialiser is the enter. The statement stands in the initialiser so that its arguments see
 * what is in scope. */
#define SPANTRACE_SCOPE_(n, provider, name, ...)                                             \
	SPANTRACE_CHECK_(provider, name)                                                     \
	const struct SPANTRACE_CAT_(spantrace_scope_, n) {                                   \
		SPANTRACE_INLINE_ explicit SPANTRACE_CAT_(spantrace_scope_, n)(int) noexcept \
		{                                                                            \
		}                                                                            \
		SPANTRACE_INLINE_ ~SPANTRACE_CAT_(spantrace_scope_, n)() noexcept            \
		{                                                                            \
			SPANTRACE_ASM_(SPANTRACE_PLAIN_TEXT_(provider, name, "__exit"));     \
		}                                                                            \
	} SPANTRACE_CAT_(spantrace_open_, n)(__extension__({                                 \
		__VA_ARGS__;                                                                 \
		0;                                                                           \
	}))

#else /* C */

#define SPANTRACE_ASSERT_(condition, message) __extension__ _Static_assert(condition, message)
#define SPANTRACE_ID_(id)                     ((unsigned long long)(id))
#define SPANTRACE_VALUE_(value)               ((long long)(value))

/* `+ 0` makes a pointer of an array and an int of a bit-field. */
#define SPANTRACE_LABEL_(i, value)                             \
	__typeof__((value) + 0) spantrace_v##i = (value);      \
	SPANTRACE_ASSERT_(SPANTRACE_IS_LABEL_(spantrace_v##i), \
			  "spantrace: a label's value is an integer or a C string: cast it");
#define SPANTRACE_IS_LABEL_(v)                                                                  \
	_Generic((v), char * : 1, const char * : 1, signed char * : 1, const signed char * : 1, \
		 unsigned char * : 1, const unsigned char * : 1, default                        \
		 : __builtin_classify_type(v) == 1 && sizeof(v) <= 8)
#define SPANTRACE_SIZE_(v)  (__builtin_classify_type(v) == 1 ? -8 : 8)
#define SPANTRACE_WIDEN_(v) ((long)(v))

#define SPANTRACE_OPEN_(n, ...)                                                        \
	const char SPANTRACE_CAT_(spantrace_open_, n)                                  \
		__attribute__((unused, cleanup(SPANTRACE_CAT_(spantrace_exit_, n)))) = \
			__extension__({                                                \
				__VA_ARGS__;                                           \
				(char)0;                                               \
			})

#ifndef __clang__

#define SPANTRACE_SCOPE_(n, provider, name, ...)                                          \
	SPANTRACE_CHECK_(provider, name)                                                  \
	__extension__ SPANTRACE_INLINE_ void SPANTRACE_CAT_(spantrace_exit_, n)(          \
		const char *SPANTRACE_CAT_(spantrace_unused_, n) __attribute__((unused))) \
	{                                                                                 \
		SPANTRACE_ASM_(SPANTRACE_PLAIN_TEXT_(provider, name, "__exit"));          \
	}                                                                                 \
	SPANTRACE_OPEN_(n, __VA_ARGS__)

#else

/* The exit function, as text, before the first enter of each file that has one; comdat and hidden
 * as the semaphores are. On x86-64 the marker stands between `lea 8(%rsp),%rsp` and `lea
 * -8(%rsp),%rsp`, in bytes so that -masm=intel does not matter: the return address lies in the
 * red zone for as long as the stack pointer is the caller's, where no signal can harm it. */
#if defined(__x86_64__)
#define SPANTRACE_UP_   ".byte 0x48,0x8d,0x64,0x24,0x08\n"
#define SPANTRACE_DOWN_ ".byte 0x48,0x8d,0x64,0x24,0xf8\n"
#define SPANTRACE_CALL_ preserve_all
#else
#define SPANTRACE_UP_   ""
#define SPANTRACE_DOWN_ ""
#define SPANTRACE_CALL_ preserve_most
#endif

/* No C identifier has a dot, so a:b_c and a_b:c do not meet. */
#define SPANTRACE_EXIT_NAME_(provider, name) \
	"spantrace_exit." SPANTRACE_STR_(provider) "." SPANTRACE_STR_(name)

/* clang-format off */
#define SPANTRACE_EXIT_TEXT_(symbol, provider, name)                                       \
	".ifndef " symbol "\n"                                                             \
	".pushsection .text." symbol ",\"axG\",\"progbits\"," symbol ",comdat\n"           \
	".weak " symbol "\n"                                                               \
	".hidden " symbol "\n"                                                             \
	".type " symbol ",@function\n"                                                     \
	".balign 16\n" symbol ":\n"                                                        \
	SPANTRACE_UP_                                                                      \
	SPANTRACE_PLAIN_TEXT_(provider, name, "__exit")                                    \
	SPANTRACE_DOWN_                                                                    \
	"ret\n"                                                                            \
	".size " symbol ",.-" symbol "\n"                                                  \
	".popsection\n"                                                                    \
	".endif\n"
/* clang-format on */

#define SPANTRACE_SCOPE_(n, provider, name, ...)                                                  \
	SPANTRACE_CHECK_(provider, name)                                                          \
	extern void SPANTRACE_CAT_(spantrace_exit_,                                               \
				   n)(const char *) __asm__(SPANTRACE_EXIT_NAME_(provider, name)) \
		__attribute__((SPANTRACE_CALL_, nothrow, visibility("hidden")));                  \
	SPANTRACE_OPEN_(n, SPANTRACE_ASM_(SPANTRACE_EXIT_TEXT_(                                   \
				   SPANTRACE_EXIT_NAME_(provider, name), provider, name));        \
			__VA_ARGS__)

#endif /* __clang__ */
#endif /* __cplusplus */

/* ---- The batched lane ---- */

#ifdef SPANTRACE_BATCHED

#define SPANTRACE_BATCH_OPS_   200
#define SPANTRACE_BATCH_VALUE_ 0xffffu /* what of the op before an event: its time is the event's value */

/* A buffer for each clock, since a binary may be made of files of both kinds. */
#ifdef SPANTRACE_TSC
#define SPANTRACE_BATCH_(x)     spantrace_tsc_##x
#define SPANTRACE_BATCH_CLOCK_  "1"
#define SPANTRACE_BATCH_SYMBOL_ "spantrace_tsc_buffer"
#else
#define SPANTRACE_BATCH_(x)     spantrace_batch_##x
#define SPANTRACE_BATCH_CLOCK_  "0"
#define SPANTRACE_BATCH_SYMBOL_ "spantrace_batch_buffer"
#endif

struct SPANTRACE_BATCH_(op) {
	unsigned long long time;
	unsigned long long what; /* stack pointer << 16 | number of the marker */
};

/* As spantrace reads it: include/batch.h. 3264 bytes, of which a thread touches none before it is traced. */
struct SPANTRACE_BATCH_(buffer) {
	unsigned long long magic;
	unsigned long long state;    /* how often it was full << 32 | ops in it */
	unsigned long long dropped;  /* ops of signal handlers that came while one was written */
	unsigned long long deadline; /* the first op after that has it fetched */
	unsigned long long clock;    /* SPANTRACE_TSC: the two clocks at one instant */
	unsigned long long clock_ns;
	unsigned long long busy;
	unsigned long long born; /* when it was fetched first */
	struct SPANTRACE_BATCH_(op) ops[SPANTRACE_BATCH_OPS_];
};

/* One a thread and binary. Neither C nor C++11 can say that of a variable in a header; the assembler can. Inside a function,
 * since link-time optimisation looks at what stands outside of them, and takes it for an ordinary variable. */
#define SPANTRACE_BATCH_DEFINE_(symbol)                                                    \
	".ifndef " symbol "\n"                                                             \
	".pushsection .tbss." symbol ",\"awTG\",\"nobits\"," symbol ",comdat\n"            \
	".weak " symbol "\n"                                                               \
	".hidden " symbol "\n"                                                             \
	".type " symbol ",\"tls_object\"\n"                                                \
	".size " symbol ",3264\n"                                                          \
	".balign 64\n" symbol ": .zero 3264\n"                                            \
	".popsection\n"                                                                    \
	".endif\n"
extern __thread struct SPANTRACE_BATCH_(buffer) SPANTRACE_BATCH_(this) __asm__(
	SPANTRACE_BATCH_SYMBOL_) __attribute__((visibility("hidden")));

/* clock_gettime() by a name of its own: <time.h> has it only where more than the C standard is asked for. */
struct SPANTRACE_BATCH_(time) {
	unsigned long long s, ns;
};
#ifdef __cplusplus
extern "C" int SPANTRACE_BATCH_(gettime)(int, struct SPANTRACE_BATCH_(time) *) __asm__(
	"clock_gettime");
#else
extern int SPANTRACE_BATCH_(gettime)(int, struct SPANTRACE_BATCH_(time) *) __asm__("clock_gettime");
#endif

SPANTRACE_INLINE_ static unsigned long long SPANTRACE_BATCH_(ns)(void)
{
	struct SPANTRACE_BATCH_(time) now;

	SPANTRACE_BATCH_(gettime)(1 /* CLOCK_MONOTONIC */, &now);
	return now.s * 1000000000 + now.ns;
}

/* What ops are stamped with, and after how much of that, a millisecond or so, a buffer is fetched. */
#ifndef SPANTRACE_TSC
#define SPANTRACE_BATCH_PERIOD_ 1000000u
SPANTRACE_INLINE_ static unsigned long long SPANTRACE_BATCH_(clock)(void)
{
	return SPANTRACE_BATCH_(ns)();
}
#elif defined(__x86_64__)
#define SPANTRACE_BATCH_PERIOD_ (1u << 21)
SPANTRACE_INLINE_ static unsigned long long SPANTRACE_BATCH_(clock)(void)
{
	unsigned long long low, high;

	__asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
	return high << 32 | low;
}
#else
#define SPANTRACE_BATCH_PERIOD_ (1u << 15)
SPANTRACE_INLINE_ static unsigned long long SPANTRACE_BATCH_(clock)(void)
{
	unsigned long long now;

	__asm__ __volatile__("mrs %0,cntvct_el0" : "=r"(now));
	return now;
}
#endif

#define SPANTRACE_ONCE_ static __attribute__((noinline, unused, no_instrument_function))

/* Has the buffer fetched, and makes room where it is full. */
SPANTRACE_ONCE_ void SPANTRACE_BATCH_(fetch)(struct SPANTRACE_BATCH_(buffer) *b,
					     unsigned long long now)
{
	unsigned long long address;

	__asm__("" : "=r"(address) : "0"(b)); /* a cast that both languages are content with */
	b->magic = address ^ 0x7370616e62617463ULL;
	b->deadline = now + SPANTRACE_BATCH_PERIOD_;
	if (!b->born)
		b->born = now;
#ifdef SPANTRACE_TSC
	b->clock = SPANTRACE_BATCH_(clock)();
	b->clock_ns = SPANTRACE_BATCH_(ns)();
#endif
	{
#if defined(__x86_64__)
		SPANTRACE_ASM_(SPANTRACE_FETCH_(SPANTRACE_BATCH_CLOCK_)
				       SPANTRACE_BATCH_DEFINE_(SPANTRACE_BATCH_SYMBOL_)
			       :
			       : "D"(b)
			       : "memory");
#else
		register struct SPANTRACE_BATCH_(buffer) *argument __asm__("x0") = b;
		SPANTRACE_ASM_(SPANTRACE_FETCH_(SPANTRACE_BATCH_CLOCK_)
				       SPANTRACE_BATCH_DEFINE_(SPANTRACE_BATCH_SYMBOL_)
			       :
			       : "r"(argument)
			       : "memory");
#endif
	}
	if ((b->state & 0xffffffff) >= SPANTRACE_BATCH_OPS_)
		b->state = ((b->state >> 32) + 1) << 32;
}

/* An op is whole before it is counted: whoever looks in between, in the kernel, does not see it. */
SPANTRACE_INLINE_ static void SPANTRACE_BATCH_(put)(struct SPANTRACE_BATCH_(buffer) *b,
						    unsigned long long time,
						    unsigned long long what,
						    unsigned long long now, int due)
{
	unsigned long long state = b->state;
	struct SPANTRACE_BATCH_(op) *op = &b->ops[state & 0xff];

	op->time = time;
	op->what = what;
	__atomic_store_n(&b->state, state + 1, __ATOMIC_RELEASE);
	if (__builtin_expect((state & 0xff) == SPANTRACE_BATCH_OPS_ - 1 || due, 0))
		SPANTRACE_BATCH_(fetch)(b, now);
}

/* False while the thread is in the middle of an op already: a signal handler came. */
SPANTRACE_INLINE_ static int SPANTRACE_BATCH_(begin)(struct SPANTRACE_BATCH_(buffer) *b)
{
	if (__builtin_expect(b->busy != 0, 0)) {
		b->dropped++;
		return 0;
	}
	b->busy = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return 1;
}

SPANTRACE_INLINE_ static void SPANTRACE_BATCH_(end)(struct SPANTRACE_BATCH_(buffer) *b)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	b->busy = 0;
}

/* An enter: what a fetch takes that is due goes before the span. */
SPANTRACE_ONCE_ void SPANTRACE_BATCH_(enter)(unsigned long long what)
{
	struct SPANTRACE_BATCH_(buffer) *b = &SPANTRACE_BATCH_(this);
	unsigned long long now;

	if (!SPANTRACE_BATCH_(begin)(b))
		return;
	now = SPANTRACE_BATCH_(clock)();
	if (__builtin_expect(now >= b->deadline, 0)) {
		SPANTRACE_BATCH_(fetch)(b, now);
		now = SPANTRACE_BATCH_(clock)();
	}
	SPANTRACE_BATCH_(put)(b, now, what, now, 0);
	SPANTRACE_BATCH_(end)(b);
}

/* An exit or event: a fetch comes after it, and takes it along. */
SPANTRACE_ONCE_ void SPANTRACE_BATCH_(add)(unsigned long long what)
{
	struct SPANTRACE_BATCH_(buffer) *b = &SPANTRACE_BATCH_(this);
	unsigned long long now;

	if (!SPANTRACE_BATCH_(begin)(b))
		return;
	now = SPANTRACE_BATCH_(clock)();
	SPANTRACE_BATCH_(put)(b, now, what, now, now >= b->deadline);
	SPANTRACE_BATCH_(end)(b);
}

SPANTRACE_ONCE_ void SPANTRACE_BATCH_(add_value)(unsigned long long what, long long value)
{
	struct SPANTRACE_BATCH_(buffer) *b = &SPANTRACE_BATCH_(this);
	unsigned long long now, bits;

	if (!SPANTRACE_BATCH_(begin)(b))
		return;
	now = SPANTRACE_BATCH_(clock)();
	__asm__("" : "=r"(bits) : "0"(value));
	SPANTRACE_BATCH_(put)(b, bits, SPANTRACE_BATCH_VALUE_, now, 0);
	SPANTRACE_BATCH_(put)(b, now, what, now, now >= b->deadline);
	SPANTRACE_BATCH_(end)(b);
}

/* clang-format off */
/* What an op says, of the place right before: whose 995 it is. */
#if defined(__x86_64__)
#define SPANTRACE_BATCH_WHAT_                                                              \
	"{lea 995b(%%rip),%0|lea %0,995b[rip]}\n"                                          \
	"{lea __start_spantrace_sites(%%rip),%1|lea %1,__start_spantrace_sites[rip]}\n"    \
	"{sub %1,%0|sub %0,%1}\n"                                                          \
	"{mov %%rsp,%1|mov %1,rsp}\n"                                                      \
	"{shl $16,%1|shl %1,16}\n"                                                         \
	"{or %1,%0|or %0,%1}"
#else
#define SPANTRACE_BATCH_WHAT_                                                              \
	"adrp %0,995b\n"                                                                   \
	"add %0,%0,:lo12:995b\n"                                                           \
	"adrp %1,__start_spantrace_sites\n"                                                \
	"add %1,%1,:lo12:__start_spantrace_sites\n"                                        \
	"sub %0,%0,%1\n"                                                                   \
	"mov %1,sp\n"                                                                      \
	"orr %0,%0,%1,lsl #16"
#endif
/* clang-format on */

/* NOTES: of the BYTES markers of a place, DONE what follows. Where nobody looks this is a test. */
#define SPANTRACE_BATCH_SITE_(bytes, notes, more, done)                                           \
	do {                                                                                      \
		int spantrace_armed;                                                              \
		SPANTRACE_TEST_(SPANTRACE_BATCH_SEMAPHORE_, spantrace_armed);                     \
		if (__builtin_expect(spantrace_armed, 0)) {                                       \
			unsigned long long spantrace_what, spantrace_other;                       \
			SPANTRACE_ASM_(SPANTRACE_PLACE_(bytes) notes SPANTRACE_BATCH_WHAT_        \
				       : "=&r"(spantrace_what), "=&r"(spantrace_other)            \
				       :                                                          \
				       : "cc");                                                   \
			SPANTRACE_ASM_(more);                                                     \
			done;                                                                     \
		}                                                                                 \
	} while (0)

#define SPANTRACE_BATCH_ONE_(provider, name, suffix, args, keys, done)                     \
	SPANTRACE_CHECK_(provider, name)                                                   \
	SPANTRACE_BATCH_SITE_("1", SPANTRACE_BATCHED_NOTE_(provider, name, suffix, "0", args), \
			      SPANTRACE_NOTE_(provider, name, suffix, keys), done)

/* Both ends of a scope are one place: its exit is the marker behind its enter, and comes only where the enter was seen. */
struct SPANTRACE_BATCH_(scope) {
	unsigned long long what; /* of the exit; 0: nobody looked */
#ifdef __cplusplus
	SPANTRACE_INLINE_ explicit SPANTRACE_BATCH_(scope)(unsigned long long w) noexcept : what(w)
	{
	}
	SPANTRACE_INLINE_ ~SPANTRACE_BATCH_(scope)() noexcept
	{
		if (__builtin_expect(what != 0, 0))
			SPANTRACE_BATCH_(add)(what);
	}
#endif
};

#define SPANTRACE_BATCH_ENTER_(provider, name)                                                \
	__extension__({                                                                       \
		unsigned long long spantrace_exit = 0;                                        \
		SPANTRACE_BATCH_SITE_(                                                        \
			"2",                                                                  \
			SPANTRACE_BATCHED_NOTE_(provider, name, "__enter", "0", "")           \
				SPANTRACE_BATCHED_NOTE_(provider, name, "__exit", "1", ""),   \
			SPANTRACE_NOTE_(provider, name, "__enter", "")                        \
				SPANTRACE_NOTE_(provider, name, "__exit", ""),                \
			SPANTRACE_BATCH_(enter)(spantrace_what); spantrace_exit = spantrace_what + 1); \
		spantrace_exit;                                                               \
	})

#ifdef __cplusplus
#define SPANTRACE_BATCH_SCOPE_(n, provider, name)                                        \
	SPANTRACE_CHECK_(provider, name)                                                 \
	const struct SPANTRACE_BATCH_(scope) SPANTRACE_CAT_(spantrace_open_, n)(         \
		SPANTRACE_BATCH_ENTER_(provider, name))
#else
SPANTRACE_INLINE_ static void SPANTRACE_BATCH_(leave)(const struct SPANTRACE_BATCH_(scope) *scope)
{
	if (__builtin_expect(scope->what != 0, 0))
		SPANTRACE_BATCH_(add)(scope->what);
}

#define SPANTRACE_BATCH_SCOPE_(n, provider, name)                                    \
	SPANTRACE_CHECK_(provider, name)                                             \
	const struct SPANTRACE_BATCH_(scope) SPANTRACE_CAT_(spantrace_open_, n)      \
		__attribute__((unused, cleanup(SPANTRACE_BATCH_(leave)))) = {        \
			SPANTRACE_BATCH_ENTER_(provider, name)}
#endif

#endif /* SPANTRACE_BATCHED */

/* ---- The macros ---- */

#ifdef SPANTRACE_BATCHED
#define SPAN_SCOPE(provider, name) SPANTRACE_BATCH_SCOPE_(__COUNTER__, provider, name)
#define SPAN_ENTER(provider, name)                             \
	SPANTRACE_BATCH_ONE_(provider, name, "__enter", "", "", \
			     SPANTRACE_BATCH_(enter)(spantrace_what))
#define SPAN_EXIT(provider, name)                             \
	SPANTRACE_BATCH_ONE_(provider, name, "__exit", "", "", \
			     SPANTRACE_BATCH_(add)(spantrace_what))
#define SPAN_EVENT(provider, name) \
	SPANTRACE_BATCH_ONE_(provider, name, "", "", "", SPANTRACE_BATCH_(add)(spantrace_what))
#define SPAN_EVENT_VALUE(provider, name, value)                                    \
	SPANTRACE_BATCH_ONE_(provider, name, "", "-8@$0", SPANTRACE_KEY_VALUE_,    \
			     SPANTRACE_BATCH_(add_value)(spantrace_what, SPANTRACE_VALUE_(value)))
#else
#define SPAN_SCOPE(provider, name) \
	SPANTRACE_SCOPE_(__COUNTER__, provider, name, SPAN_ENTER(provider, name))
#define SPAN_ENTER(provider, name) SPANTRACE_PLAIN_(provider, name, "__enter")
#define SPAN_EXIT(provider, name)  SPANTRACE_PLAIN_(provider, name, "__exit")
#define SPAN_EVENT(provider, name) SPANTRACE_PLAIN_(provider, name, "")
#define SPAN_EVENT_VALUE(provider, name, value) \
	SPANTRACE_ONE_(provider, name, "", "-8", SPANTRACE_VALUE_(value), SPANTRACE_KEY_VALUE_)
#endif

#define SPAN_NEW(provider, name, id) SPANTRACE_NEW_(provider, name, id, "n"(0))
#define SPAN_NEW_UNDER(provider, name, id, parent) \
	SPANTRACE_NEW_(provider, name, id, SPANTRACE_IN_(SPANTRACE_ID_(parent)))
#define SPAN_ENTER_ID(provider, name, id) \
	SPANTRACE_ONE_(provider, name, "__enter", "8", SPANTRACE_ID_(id), "")
#define SPAN_EXIT_ID(provider, name, id) \
	SPANTRACE_ONE_(provider, name, "__exit", "8", SPANTRACE_ID_(id), "")
#define SPAN_CLOSE(provider, name, id) \
	SPANTRACE_ONE_(provider, name, "__close", "8", SPANTRACE_ID_(id), "")

#define SPAN_SCOPE_ARGS(provider, name, ...) \
	SPANTRACE_SCOPE_(__COUNTER__, provider, name, SPAN_ENTER_ARGS(provider, name, __VA_ARGS__))
#define SPAN_ENTER_ARGS(provider, name, ...) \
	SPANTRACE_LABELLED_(provider, name, "__enter", (), "", __VA_ARGS__)
#define SPAN_NEW_ARGS(provider, name, id, ...)                                                  \
	SPANTRACE_LABELLED_(                                                                    \
		provider, name, "__new",                                                        \
		([spantrace_id] SPANTRACE_IN_(SPANTRACE_ID_(id)), [spantrace_parent] "n"(0), ), \
		SPANTRACE_NEW_TEXT_ " ", __VA_ARGS__)
#define SPAN_EVENT_ARGS(provider, name, ...) \
	SPANTRACE_LABELLED_(provider, name, "", (), "", __VA_ARGS__)

#else /* !SPANTRACE_ENABLED */

/* Arguments are named and never evaluated, so that variables only they use raise no warning. */
#define SPANTRACE_USE_1(k1, v1)                 (void)(v1)
#define SPANTRACE_USE_2(k1, v1, k2, v2)         (void)(v1), (void)(v2)
#define SPANTRACE_USE_3(k1, v1, k2, v2, k3, v3) (void)(v1), (void)(v2), (void)(v3)
#define SPANTRACE_USE_4(k1, v1, k2, v2, k3, v3, k4, v4) \
	(void)(v1), (void)(v2), (void)(v3), (void)(v4)
#define SPANTRACE_USE_(...) \
	SPANTRACE_CAT_(SPANTRACE_USE_, SPANTRACE_COUNT_(__VA_ARGS__))(__VA_ARGS__)

#define SPANTRACE_OFF_ \
	do {           \
	} while (0)
#define SPANTRACE_OFF_USING_(...)    \
	do {                         \
		if (0) {             \
			__VA_ARGS__; \
		}                    \
	} while (0)

#if defined(__GNUC__)
#define SPANTRACE_UNUSED_ __attribute__((unused))
#else
#define SPANTRACE_UNUSED_
#endif

#define SPAN_SCOPE(provider, name)                 struct spantrace_off
#define SPAN_ENTER(provider, name)                 SPANTRACE_OFF_
#define SPAN_EXIT(provider, name)                  SPANTRACE_OFF_
#define SPAN_NEW(provider, name, id)               SPANTRACE_OFF_USING_((void)(id))
#define SPAN_NEW_UNDER(provider, name, id, parent) SPANTRACE_OFF_USING_((void)(id), (void)(parent))
#define SPAN_ENTER_ID(provider, name, id)          SPANTRACE_OFF_USING_((void)(id))
#define SPAN_EXIT_ID(provider, name, id)           SPANTRACE_OFF_USING_((void)(id))
#define SPAN_CLOSE(provider, name, id)             SPANTRACE_OFF_USING_((void)(id))
#define SPAN_EVENT(provider, name)                 SPANTRACE_OFF_
#define SPAN_EVENT_VALUE(provider, name, value)    SPANTRACE_OFF_USING_((void)(value))
#define SPAN_ENTER_ARGS(provider, name, ...)       SPANTRACE_OFF_USING_(SPANTRACE_USE_(__VA_ARGS__))
#define SPAN_EVENT_ARGS(provider, name, ...)       SPANTRACE_OFF_USING_(SPANTRACE_USE_(__VA_ARGS__))
#define SPAN_NEW_ARGS(provider, name, id, ...) \
	SPANTRACE_OFF_USING_((void)(id), SPANTRACE_USE_(__VA_ARGS__))
#define SPAN_SCOPE_ARGS(provider, name, ...)                                      \
	SPANTRACE_UNUSED_ const int SPANTRACE_CAT_(spantrace_off_, __COUNTER__) = \
		0 && (SPANTRACE_USE_(__VA_ARGS__), 0)

#endif /* SPANTRACE_ENABLED */
#endif /* SPANTRACE_H */
