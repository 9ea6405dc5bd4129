/* SPDX-License-Identifier: MIT */
/* Where a probe on a function goes, and what the function goes on to: by instructions written out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>

#include "../../user/elf/decode.h"

static struct decode_entry entry_of(const char *code, size_t size, u32 args)
{
	struct decode_entry entry = {.shift = 99};

	assert_int_equal(decode_entry((const u8 *)code, size, args, &entry), 0);
	return entry;
}

#define ENTRY(code, args) entry_of(code, sizeof(code) - 1, args)

static void check(struct decode_entry entry, u32 shift, bool stepped)
{
	assert_int_equal(entry.shift, shift);
	assert_int_equal(entry.stepped, stepped);
}

static void test_first_instruction(void **state)
{
	(void)state;
	check(ENTRY("\x55\xc3", 7), 0, false);                 /* push %rbp */
	check(ENTRY("\x41\x54\xc3", 7), 0, false);             /* push %r12 */
	check(ENTRY("\x90\xc3", 7), 0, false);                 /* nop */
	check(ENTRY("\xe9\x00\x01\x00\x00", 7), 0, false);     /* jmp */
	check(ENTRY("\xc3", 7), 0, true);                      /* ret */
	check(ENTRY("\xff\x25\x00\x01\x00\x00", 7), 0, true);  /* jmp *0x100(%rip) */
	check(ENTRY("\x48\x83\xec\x18\x55\xc3", 7), 0, true);  /* sub $0x18,%rsp; push */
	check(ENTRY("\x66\x90\x31\xc0\xc3", 7), 0, true);      /* xchg %ax,%ax; xor; ret */
	check(ENTRY("\xf3\x0f\x1e\xfa\x55\xc3", 7), 4, false); /* endbr64; push */
	check(ENTRY("\x66\x0f\x1f\x00\xf3\xc3", 7), 0, true);  /* nopw; repz ret */
}

static void test_arguments_stay(void **state)
{
	/* test %rdi,%rdi; je +8; … */
	static const char checks[] = "\x48\x85\xff\x74\x08\x90\x90\x90\x90\x90\x90\x90\x90\xc3";
	/* mov %rdi,%rsi; push %rbx; ret */
	static const char moves[] = "\x48\x89\xfe\x53\xc3";
	/* mov $0x1000,%edi; push %rbx; ret */
	static const char sets[] = "\xbf\x00\x10\x00\x00\x53\xc3";
	/* mul %rdx; push %rbx; ret */
	static const char multiplies[] = "\x48\xf7\xe2\x53\xc3";
	/* lea -8(%rsp),%rsp; push %rbx; ret */
	static const char stack[] = "\x48\x8d\x64\x24\xf8\x53\xc3";

	(void)state;
	check(ENTRY(checks, 1), 3, false);
	check(ENTRY(moves, 1), 3, false);
	check(ENTRY(moves, 2), 0, true);
	check(ENTRY(sets, 1), 0, true);
	check(ENTRY(sets, 2), 5, false);
	check(ENTRY(multiplies, 3), 3, false);
	check(ENTRY(multiplies, 4), 0, true);
	check(ENTRY(stack, 0), 0, true);
}

static void test_jumped_to(void **state)
{
	/* inc %rax; push %rbx; jmp to the push: the probe would be hit again and again. */
	static const char loop[] = "\x48\xff\xc0\x53\xeb\xfd\xc3";
	/* … to the entry: that is another call. */
	static const char again[] = "\x48\xff\xc0\x53\xeb\xfa\xc3";
	/* … through a register: to anywhere. */
	static const char table[] = "\x48\xff\xc0\x53\xff\xe0";
	/* … through a slot: out of here. */
	static const char away[] = "\x48\xff\xc0\x53\xff\x25\x00\x01\x00\x00";
	/* What follows is no code. */
	static const char data[] = "\x48\xff\xc0\x53\xc3\x06\x06";

	(void)state;
	check(ENTRY(loop, 1), 0, true);
	check(ENTRY(again, 1), 3, false);
	check(ENTRY(table, 1), 0, true);
	check(ENTRY(away, 1), 3, false);
	check(ENTRY(data, 1), 0, true);
}

static void test_no_code(void **state)
{
	struct decode_entry entry;

	(void)state;
	assert_int_equal(decode_entry((const u8 *)"\x06\x06", 2, 7, &entry), -EBADMSG);
	assert_int_equal(decode_entry((const u8 *)"", 0, 7, &entry), -EBADMSG);
	/* Cut in the middle of an instruction. */
	check(ENTRY("\x48\xff\xc0\x48", 7), 0, true);
}

struct targets {
	u64 address[8];
	bool slot[8];
	int n;
	int stop; /* after so many */
};

static int note(void *context, u64 target, bool slot)
{
	struct targets *t = context;

	assert_true(t->n < 8);
	t->address[t->n] = target;
	t->slot[t->n++] = slot;
	return t->n == t->stop ? 7 : 0;
}

static void test_targets(void **state)
{
	/* 1000: call 2000; je 1010 (within); jmp *0x2000(%rip) (1010: …); call *%rax; jmp 3000 */
	static const u8 code[] = "\xe8\xfb\x0f\x00\x00"
				 "\x74\x09"
				 "\xff\x25\x00\x20\x00\x00"
				 "\xff\xd0\x90"
				 "\xe9\xeb\x1f\x00\x00";
	struct targets t = {.stop = -1};

	(void)state;
	assert_int_equal(decode_targets(code, sizeof(code) - 1, true, 0x1000, note, &t), 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.address[0], 0x2000);
	assert_int_equal(t.address[1], 0x300d);
	assert_true(t.slot[1]);
	assert_int_equal(t.address[2], 0x3000);
	assert_false(t.slot[0] || t.slot[2]);
	t = (struct targets){.stop = 1};
	assert_int_equal(decode_targets(code, sizeof(code) - 1, true, 0x1000, note, &t), 7);
	assert_int_equal(t.n, 1);
}

static void test_the_end_of_a_function_without_a_size(void **state)
{
	/* je over the first ret; ret; ret; and the next function: call. */
	static const u8 code[] = "\x74\x01\xc3\xc3\xe8\x00\x10\x00\x00";
	struct targets t = {.stop = -1};

	(void)state;
	assert_int_equal(decode_targets(code, sizeof(code) - 1, false, 0x1000, note, &t), 0);
	assert_int_equal(t.n, 0);
	assert_int_equal(decode_targets(code, sizeof(code) - 1, true, 0x1000, note, &t), 0);
	assert_int_equal(t.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_instruction),
		cmocka_unit_test(test_arguments_stay),
		cmocka_unit_test(test_jumped_to),
		cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_the_end_of_a_function_without_a_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
