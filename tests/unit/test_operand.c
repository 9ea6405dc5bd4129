/* SPDX-License-Identifier: MIT */
/* Tests of user/elf/operand*.c: each form of argument that compilers make, and what must not be
 * guessed at. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/elf/operand.h"

#define NONE OPERAND_NO_REG
#define PC   0x1000u

/* The symbols of the tests: "counter" at 0x5000, "twice" at two places, "broken" unreadable. */
static int find_symbol(void *arg, const char *name, size_t len, u64 *address)
{
	assert_ptr_equal(arg, &find_symbol);
	if (len == 7 && memcmp(name, "counter", len) == 0) {
		*address = 0x5000;
		return 0;
	}
	if (len == 5 && memcmp(name, "a.0$b", len) == 0) {
		*address = 0x800;
		return 0;
	}
	if (len == 5 && memcmp(name, "twice", len) == 0)
		return -ENOTUNIQ;
	if (len == 6 && memcmp(name, "broken", len) == 0)
		return -EBADMSG;
	return -ENOENT;
}

static int parse(u16 machine, bool fixed, const char *text, struct operand *out, const char **why)
{
	const struct operand_site site = {
		.machine = machine,
		.fixed_addresses = fixed,
		.pc = PC,
		.symbol = find_symbol,
		.symbol_arg = (void *)&find_symbol,
	};
	/* A copy of the exact size lets the address sanitizer see a read beyond the end. */
	size_t len = strlen(text);
	char *copy = test_malloc(len ? len : 1);
	int err;

	memcpy(copy, text, len);
	*why = NULL;
	memset(out, 0xaa, sizeof(*out));
	err = operand_parse(&site, copy, len, out, why);
	test_free(copy);
	return err;
}

struct good {
	const char *text;
	struct operand expected;
};

static void check_good(u16 machine, bool fixed, const struct good *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct operand got;
		const char *why;
		int err = parse(machine, fixed, cases[i].text, &got, &why);

		if (err || why || memcmp(&got, &cases[i].expected, sizeof(got)) != 0)
			fail_msg(
				"%s: %d (%s), form %u size %u signed %u base %u index %u scale %u high %u disp %lld",
				cases[i].text, err, why ? why : "-", got.form, got.size,
				got.is_signed, got.base, got.index, got.scale, got.high_byte,
				(long long)got.disp);
	}
}

#define REG(size, sign, reg)                                   \
	{                                                      \
		OPERAND_REG, size, sign, reg, NONE, 1, 0, 0, 0 \
	}
#define HIGH(sign, reg)                                     \
	{                                                   \
		OPERAND_REG, 1, sign, reg, NONE, 1, 1, 0, 0 \
	}
#define CONST(size, sign, value)                                      \
	{                                                             \
		OPERAND_CONST, size, sign, NONE, NONE, 1, 0, 0, value \
	}
#define MEM(size, sign, base, index, scale, disp)                       \
	{                                                               \
		OPERAND_MEM, size, sign, base, index, scale, 0, 0, disp \
	}

static void test_x86_registers(void **state)
{
	static const struct good cases[] = {
		{"8@%rax", REG(8, 0, OPERAND_RAX)},
		{"-8@%rdx", REG(8, 1, OPERAND_RDX)},
		{"4@%ecx", REG(4, 0, OPERAND_RCX)},
		{"-4@%ebx", REG(4, 1, OPERAND_RBX)},
		{"2@%si", REG(2, 0, OPERAND_RSI)},
		{"-2@%di", REG(2, 1, OPERAND_RDI)},
		{"1@%dil", REG(1, 0, OPERAND_RDI)},
		{"1@%sil", REG(1, 0, OPERAND_RSI)},
		{"1@%bpl", REG(1, 0, OPERAND_RBP)},
		{"1@%spl", REG(1, 0, OPERAND_RSP)},
		{"-1@%al", REG(1, 1, OPERAND_RAX)},
		{"1@%ah", HIGH(0, OPERAND_RAX)},
		{"-1@%bh", HIGH(1, OPERAND_RBX)},
		{"1@%ch", HIGH(0, OPERAND_RCX)},
		{"1@%dh", HIGH(0, OPERAND_RDX)},
		{"8@%r8", REG(8, 0, OPERAND_R8)},
		{"4@%r8d", REG(4, 0, OPERAND_R8)},
		{"2@%r9w", REG(2, 0, OPERAND_R9)},
		{"1@%r10b", REG(1, 0, OPERAND_R10)},
		{"1@%r11l", REG(1, 0, OPERAND_R11)},
		{"-4@%r15d", REG(4, 1, OPERAND_R15)},
		{"8@%rbp", REG(8, 0, OPERAND_RBP)},
		{"8@%rsp", REG(8, 0, OPERAND_RSP)},
		{"8@%r12", REG(8, 0, OPERAND_R12)},
		{"8@%r13", REG(8, 0, OPERAND_R13)},
		{"8@%r14", REG(8, 0, OPERAND_R14)},
		/* Less than the register: its low bytes. More: no further than the register. */
		{"1@%rax", REG(1, 0, OPERAND_RAX)},
		{"-4@%rdi", REG(4, 1, OPERAND_RDI)},
		{"8@%eax", REG(4, 0, OPERAND_RAX)},
		{"-4@%al", REG(1, 1, OPERAND_RAX)},
		{"4@%ah", HIGH(0, OPERAND_RAX)},
		{" 8 @ % rax ", REG(8, 0, OPERAND_RAX)},
	};

	(void)state;
	check_good(EM_X86_64, false, cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_x86_constants(void **state)
{
	static const struct good cases[] = {
		{"8@$0", CONST(8, 0, 0)},
		{"-4@$-5", CONST(4, 1, -5)},
		{"4@$5", CONST(4, 0, 5)},
		/* gcc prints unsigned values as signed ones. */
		{"1@$-56", CONST(1, 0, 200)},
		{"4@$-294967296", CONST(4, 0, 4000000000)},
		{"2@$-1", CONST(2, 0, 65535)},
		{"8@$-1", CONST(8, 0, -1)},
		{"-1@$200", CONST(1, 1, -56)},
		{"-4@$4294967295", CONST(4, 1, -1)},
		{"8@$18446744073709551615", CONST(8, 0, -1)},
		{"-8@$-9223372036854775808", CONST(8, 1, INT64_MIN)},
		{"8@$0x10", CONST(8, 0, 16)},
		{"8@$0XfF", CONST(8, 0, 255)},
		{"8@$010", CONST(8, 0, 8)},
		{"8@$10+2-4", CONST(8, 0, 8)},
		{"8@$--3", CONST(8, 0, 3)},
	};

	(void)state;
	check_good(EM_X86_64, false, cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_x86_memory(void **state)
{
	static const struct good cases[] = {
		{"8@(%r12)", MEM(8, 0, OPERAND_R12, NONE, 1, 0)},
		{"-4@-20(%rbp)", MEM(4, 1, OPERAND_RBP, NONE, 1, -20)},
		{"2@12(%r12)", MEM(2, 0, OPERAND_R12, NONE, 1, 12)},
		{"8@0x20(%rsp)", MEM(8, 0, OPERAND_RSP, NONE, 1, 32)},
		{"8@(%rax,%rcx)", MEM(8, 0, OPERAND_RAX, OPERAND_RCX, 1, 0)},
		{"1@(%rdi,%rsi,8)", MEM(1, 0, OPERAND_RDI, OPERAND_RSI, 8, 0)},
		{"-8@-16(%rax,%rdx,4)", MEM(8, 1, OPERAND_RAX, OPERAND_RDX, 4, -16)},
		{"8@64(,%rbx,2)", MEM(8, 0, NONE, OPERAND_RBX, 2, 64)},
		{"8@(,%rbx)", MEM(8, 0, NONE, OPERAND_RBX, 1, 0)},
		{"8@8(%rax,,4)", MEM(8, 0, OPERAND_RAX, NONE, 4, 8)},
		{"4@ 16 ( %rbp , %rax , 4 ) ", MEM(4, 0, OPERAND_RBP, OPERAND_RAX, 4, 16)},
		{"8@4+4(%rax)", MEM(8, 0, OPERAND_RAX, NONE, 1, 8)},
		{"8@-9223372036854775808(%rax)", MEM(8, 0, OPERAND_RAX, NONE, 1, INT64_MIN)},
	};

	(void)state;
	check_good(EM_X86_64, false, cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_x86_symbols(void **state)
{
	static const struct good anywhere[] = {
		{"-4@counter(%rip)", MEM(4, 1, OPERAND_PC, NONE, 1, 0x4000)},
		{"-4@40+counter(%rip)", MEM(4, 1, OPERAND_PC, NONE, 1, 0x4028)},
		{"-4@counter+40(%rip)", MEM(4, 1, OPERAND_PC, NONE, 1, 0x4028)},
		{"-4@-8+counter+4(%rip)", MEM(4, 1, OPERAND_PC, NONE, 1, 0x3ffc)},
		{"8@counter-0x5000(%rip)", MEM(8, 0, OPERAND_PC, NONE, 1, -0x1000)},
		{"8@a.0$b(%rip)", MEM(8, 0, OPERAND_PC, NONE, 1, -0x800)},
	};
	static const struct good fixed[] = {
		{"4@counter", MEM(4, 0, NONE, NONE, 1, 0x5000)},
		{"4@counter+4", MEM(4, 0, NONE, NONE, 1, 0x5004)},
		{"8@counter(,%rax,8)", MEM(8, 0, NONE, OPERAND_RAX, 8, 0x5000)},
		{"8@8+counter(%rbx)", MEM(8, 0, OPERAND_RBX, NONE, 1, 0x5008)},
		{"8@$counter", CONST(8, 0, 0x5000)},
		{"-8@$counter+16", CONST(8, 1, 0x5010)},
	};

	(void)state;
	check_good(EM_X86_64, false, anywhere, sizeof(anywhere) / sizeof(anywhere[0]));
	check_good(EM_X86_64, true, anywhere, sizeof(anywhere) / sizeof(anywhere[0]));
	check_good(EM_X86_64, true, fixed, sizeof(fixed) / sizeof(fixed[0]));
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		struct operand got;
		const char *why;

		assert_int_equal(parse(EM_X86_64, false, fixed[i].text, &got, &why), -EOPNOTSUPP);
		assert_non_null(strstr(why, "position-independent"));
		assert_int_equal(got.form, OPERAND_NONE);
	}
}

static void test_arm64(void **state)
{
	static const struct good cases[] = {
		{"8@x0", REG(8, 0, 0)},
		{"-4@w1", REG(4, 1, 1)},
		{"1@w30", REG(1, 0, 30)},
		{"8@w7", REG(4, 0, 7)},
		{"8@sp", REG(8, 0, 31)},
		{"8@fp", REG(8, 0, 29)},
		{"8@lr", REG(8, 0, 30)},
		{"8@xzr", CONST(8, 0, 0)},
		{"-4@wzr", CONST(4, 1, 0)},
		{"8@5", CONST(8, 0, 5)},
		{"-4@-5", CONST(4, 1, -5)},
		{"1@-56", CONST(1, 0, 200)},
		{"8@#0x10", CONST(8, 0, 16)},
		{"8@[x0]", MEM(8, 0, 0, NONE, 1, 0)},
		{"8@[sp, 16]", MEM(8, 0, 31, NONE, 1, 16)},
		{"-4@[sp,#-20]", MEM(4, 1, 31, NONE, 1, -20)},
		{"8@[x29, -8]", MEM(8, 0, 29, NONE, 1, -8)},
		{"4@[x1, x2]", MEM(4, 0, 1, 2, 1, 0)},
		{"4@[x1, x2, lsl 2]", MEM(4, 0, 1, 2, 4, 0)},
		{"8@[x1,x2,LSL #3]", MEM(8, 0, 1, 2, 8, 0)},
		{"8@[x1, xzr]", MEM(8, 0, 1, NONE, 1, 0)},
	};

	(void)state;
	check_good(EM_AARCH64, false, cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_floats(void **state)
{
	static const struct {
		u16 machine;
		const char *text;
		u8 size;
	} cases[] = {
		{EM_X86_64, "8f@%rax", 8},       {EM_X86_64, "4f@%edx", 4},
		{EM_X86_64, "8f@.LC0(%rip)", 8}, {EM_X86_64, "8@%xmm0", 8},
		{EM_X86_64, "4@%ymm15", 4},      {EM_X86_64, "8@%st(1)", 8},
		{EM_AARCH64, "8f@x0", 8},        {EM_AARCH64, "8@d0", 8},
		{EM_AARCH64, "4@s31", 4},        {EM_AARCH64, "8@v2", 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct operand got;
		const char *why;

		assert_int_equal(parse(cases[i].machine, false, cases[i].text, &got, &why),
				 -EOPNOTSUPP);
		assert_int_equal(got.form, OPERAND_FLOAT);
		assert_int_equal(got.size, cases[i].size);
		assert_non_null(strstr(why, "floating-point"));
	}
}

static void test_unreadable(void **state)
{
	static const struct {
		u16 machine;
		const char *text;
		int err;
		const char *why; /* part of it */
	} cases[] = {
		{EM_X86_64, "", -EINVAL, "size"},
		{EM_X86_64, "%rax", -EINVAL, "size"},
		{EM_X86_64, "8", -EINVAL, "size"},
		{EM_X86_64, "-@%rax", -EINVAL, "size"},
		{EM_X86_64, "99999999999999999999@%rax", -EINVAL, "size"},
		{EM_X86_64, "0@%rax", -EINVAL, "1, 2, 4 or 8"},
		{EM_X86_64, "3@%rax", -EINVAL, "1, 2, 4 or 8"},
		{EM_X86_64, "16@%rax", -EINVAL, "1, 2, 4 or 8"},
		{EM_X86_64, "8@", -EINVAL, "form"},
		{EM_X86_64, "8@%", -EINVAL, "form"},
		{EM_X86_64, "8@$", -EINVAL, "form"},
		{EM_X86_64, "8@%rxx", -EINVAL, "form"},
		{EM_X86_64, "8@%r7", -EINVAL, "form"},
		{EM_X86_64, "8@%r16", -EINVAL, "form"},
		{EM_X86_64, "8@%r08", -EINVAL, "form"},
		{EM_X86_64, "8@%r8dd", -EINVAL, "form"},
		{EM_X86_64, "8@%rip", -EINVAL, "form"},
		{EM_X86_64, "8@%raxraxrax", -EINVAL, "form"},
		{EM_X86_64, "8@%rax)", -EINVAL, "form"},
		{EM_X86_64, "8@%rax garbage", -EINVAL, "form"},
		{EM_X86_64, "8@(%rax", -EINVAL, "form"},
		{EM_X86_64, "8@()", -EINVAL, "form"},
		{EM_X86_64, "8@4()", -EINVAL, "form"},
		{EM_X86_64, "8@(,,)", -EINVAL, "form"},
		{EM_X86_64, "8@(%rax,%rcx,3)", -EINVAL, "form"},
		{EM_X86_64, "8@(%rax,%rcx,16)", -EINVAL, "form"},
		{EM_X86_64, "8@(%rax,%rsp,1)", -EINVAL, "form"},
		{EM_X86_64, "8@(%rax,%rip,1)", -EINVAL, "form"},
		{EM_X86_64, "8@counter(%rip,%rax)", -EINVAL, "form"},
		{EM_X86_64, "8@8(%rip)", -EINVAL, "form"},
		{EM_X86_64, "8@counter+twice(%rip)", -EINVAL, "form"},
		{EM_X86_64, "8@4-counter(%rip)", -EINVAL, "form"},
		{EM_X86_64, "8@1f(%rip)", -EINVAL, "form"},
		{EM_X86_64, "8@8+(%rax)", -EINVAL, "form"},
		{EM_X86_64, "8@18446744073709551616(%rax)", -EINVAL, "form"},
		{EM_X86_64, "8@4210752", -EINVAL, "form"},
		{EM_X86_64, "8@QWORD PTR [rsp+8]", -EINVAL, "form"},
		{EM_X86_64, "8@[rsp+8]", -EINVAL, "form"},
		{EM_X86_64, "8@rax", -ENOENT, "no symbol"},
		{EM_X86_64, "8@(%eax)", -EOPNOTSUPP, "64 bits"},
		{EM_X86_64, "8@%fs:0", -EOPNOTSUPP, "thread-local"},
		{EM_X86_64, "8@%fs:counter@tpoff", -EOPNOTSUPP, "thread-local"},
		{EM_X86_64, "8@counter@GOTPCREL(%rip)", -EOPNOTSUPP, "GOT"},
		{EM_X86_64, "8@missing(%rip)", -ENOENT, "no symbol"},
		{EM_X86_64, "8@twice(%rip)", -ENOTUNIQ, "several symbols"},
		{EM_X86_64, "8@broken(%rip)", -EBADMSG, "symbols cannot be read"},
		{EM_AARCH64, "8@x31", -EINVAL, "form"},
		{EM_AARCH64, "8@y0", -EINVAL, "form"},
		{EM_AARCH64, "8@[w0]", -EINVAL, "form"},
		{EM_AARCH64, "8@[x0", -EINVAL, "form"},
		{EM_AARCH64, "8@[x0], 8", -EINVAL, "form"},
		{EM_AARCH64, "8@[x0, 8]!", -EINVAL, "form"},
		{EM_AARCH64, "8@[x0, #:lo12:counter]", -EINVAL, "form"},
		{EM_AARCH64, "8@[x1, w2, sxtw 2]", -EOPNOTSUPP, "64 bits"},
		{EM_AARCH64, "8@[x1, x2, lsl 4]", -EINVAL, "form"},
		{EM_AARCH64, "8@[x1, x2, asr 1]", -EINVAL, "form"},
		{EM_AARCH64, "8@counter", -EINVAL, "form"},
		{EM_RISCV, "8@a0", -EOPNOTSUPP, "x86-64 and arm64"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct operand got;
		const char *why;
		int err = parse(cases[i].machine, true, cases[i].text, &got, &why);

		if (err != cases[i].err || !why || !strstr(why, cases[i].why) ||
		    got.form != OPERAND_NONE)
			fail_msg("%s: %d (%s), form %u", cases[i].text, err, why ? why : "-",
				 got.form);
	}
}

static void test_no_symbols(void **state)
{
	const struct operand_site site = {.machine = EM_X86_64, .pc = PC};
	const char *why = NULL;
	struct operand got;

	(void)state;
	assert_int_equal(operand_parse(&site, "8@counter(%rip)", 15, &got, &why), -ENOENT);
	assert_non_null(why);
}

/* Cuts TEXT and compares with PARTS, which stand one after the other with a '|' between. */
static void check_split(const char *text, const char *parts)
{
	const char *at = text, *end = text + strlen(text), *argument;
	char joined[256] = "";
	size_t len, size = 0;

	while ((len = operand_next(&at, end, &argument))) {
		if (size)
			joined[size++] = '|';
		memcpy(joined + size, argument, len);
		size += len;
		joined[size] = '\0';
	}
	assert_string_equal(joined, parts);
}

static void test_split(void **state)
{
	(void)state;
	check_split("", "");
	check_split("  \t ", "");
	check_split("8@%rdi", "8@%rdi");
	check_split("8@%rdi -4@%esi", "8@%rdi|-4@%esi");
	check_split("  8@%rdi\t \t-4@%esi  ", "8@%rdi|-4@%esi");
	check_split("8@[sp, 16] 4@w1", "8@[sp, 16]|4@w1");
	check_split("8@16( %rax , %rcx, 8 ) 4@%esi", "8@16( %rax , %rcx, 8 )|4@%esi");
	check_split("8@ %rdi 4 @%esi", "8@ %rdi|4 @%esi");
	check_split("8@8 (%rax) 4@ -4 (%rbp)", "8@8 (%rax)|4@ -4 (%rbp)");
	check_split("8@4 + counter(%rip) -4@$1", "8@4 + counter(%rip)|-4@$1");
	check_split("8@QWORD PTR [rsp+8] -4 @edx", "8@QWORD PTR [rsp+8]|-4 @edx");
	check_split("8f@%rax 4@%ebx", "8f@%rax|4@%ebx");
	check_split("8@%rdi rubbish 4@%esi", "8@%rdi rubbish|4@%esi");
	check_split("rubbish 4 5 @ -@ 4@%esi", "rubbish 4|5 @ -@|4@%esi");
	check_split("8@(%rdi 4@%esi", "8@(%rdi|4@%esi");
	check_split("8@%rdi - 4", "8@%rdi - 4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86_registers), cmocka_unit_test(test_x86_constants),
		cmocka_unit_test(test_x86_memory),    cmocka_unit_test(test_x86_symbols),
		cmocka_unit_test(test_arm64),         cmocka_unit_test(test_floats),
		cmocka_unit_test(test_unreadable),    cmocka_unit_test(test_no_symbols),
		cmocka_unit_test(test_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
