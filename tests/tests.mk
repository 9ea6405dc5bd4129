# SPDX-License-Identifier: MIT
# Tests: what is built for them and how they are run. Included by the Makefile.
#
#   tests/unit/test_X.c   one cmocka program each, mirrors X.c of user/ or exporters/
#   tests/fuzz/fuzz_X.c   one program each, run with ASAN and UBSAN
#   tests/live/test_X.py  real eBPF on real programs, as root
#   *.sh beside them      checks that are easier said in shell
# Each prints its own result; tests/run.py runs them all and prints the sum.

TEST_PROGRAMS := $(patsubst tests/programs/%.c,$(OUTPUT)/programs/%,$(wildcard tests/programs/*.c)) \
	$(patsubst tests/programs/%.cc,$(OUTPUT)/programs/%,$(wildcard tests/programs/*.cc))
# The same programs with their spans in the batched lane.
BATCHED := rules throws counted cpu nested async scopes threads
TEST_PROGRAMS += $(BATCHED:%=$(OUTPUT)/batched/%) $(OUTPUT)/batched/tsc
UNIT_TESTS := $(patsubst tests/unit/%.c,$(OUTPUT)/unit/%,$(wildcard tests/unit/test_*.c))
UNIT_SHARED := $(patsubst tests/unit/%.c,$(OUTPUT)/unit/%.o,$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c)))
FUZZERS := $(patsubst tests/fuzz/%.c,$(OUTPUT)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
FORMATTED := $(wildcard include/*.h user/*.[ch] user/*/*.[ch] exporters/*.[ch] bpf/*.[ch] vmlinux/*.h \
	usdt/*.c usdt/*.cc tests/unit/*.[ch] tests/fuzz/*.[ch] tests/programs/*.[ch] tests/programs/*.cc tests/bench/*.[ch] \
	tests/bench/peers/*.[ch])

.SECONDARY: $(UNIT_SHARED) $(UNIT_TESTS:%=%.o) $(FUZZERS:%=%.o)
.PHONY: check unit fuzz asan test-programs bench lint

check:
	$(Q)tests/install-deps.sh build test postgres programs
	$(Q)$(MAKE) -j$$(nproc) --no-print-directory all unit test-programs
	$(Q)$(MAKE) -j$$(nproc) --no-print-directory asan
	$(Q)python3 tests/run.py $(OUTPUT)

unit: $(UNIT_TESTS)
fuzz: $(FUZZERS)
test-programs: $(TEST_PROGRAMS)

# The same objects, unit tests and fuzzers under the sanitizers, in a tree of their own.
asan:
	$(Q)$(MAKE) --no-print-directory OUTPUT=$(OUTPUT)/asan CFLAGS="$(SANITIZE)" unit fuzz

$(OUTPUT)/unit/%.o: tests/unit/%.c | $(SKELETON)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(OUTPUT)/unit/%: $(OUTPUT)/unit/%.o $(UNIT_SHARED) $(LIB_OBJ)
	$(call msg,TEST,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(LIBS) -lcmocka -o $@

# Tests that play the kernel: these functions of the program call what the test has in their place.
wrap = $(1:%=-Wl,--wrap=%)
OVERHEARD := kernel_walk_processes kernel_walk_meters kernel_shed kernel_forget attach_parts_of attach_parts_has \
	attach_parts_pause attach_parts_resume trace_counts clock_getcpuclockid clock_gettime
$(OUTPUT)/unit/test_overhead $(OUTPUT)/unit/test_overhead_shed: LDFLAGS += $(call wrap,$(OVERHEARD))
$(OUTPUT)/unit/test_attach_parts: LDFLAGS += $(call wrap,attach_new attach_file attach_free)
$(OUTPUT)/unit/test_calibrate: LDFLAGS += $(call wrap,attach_new attach_file attach_free)

$(OUTPUT)/fuzz/%.o: tests/fuzz/%.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(OUTPUT)/fuzz/%: $(OUTPUT)/fuzz/%.o $(LIB_OBJ)
	$(call msg,FUZZ,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(LIBS) -o $@

# What every version of coz can read.
$(OUTPUT)/programs/coz_points: PROGRAM_DEBUG := -gdwarf-4 -gstrict-dwarf

# Programs that tests look at from outside. Those that need parts of spantrace link all of it.
$(OUTPUT)/programs/%: tests/programs/%.c usdt/spantrace.h $(LIB_OBJ)
	$(call msg,PROGRAM,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g $(PROGRAM_DEBUG) -Wall -Wextra -Werror -D_GNU_SOURCE -Iusdt -I$(OUTPUT) $< \
		$(if $(shell grep -l '"\.\./\.\./' $<),$(LIB_OBJ) $(LDFLAGS) $(LIBS)) -lpthread -lm -ldl -o $@

$(OUTPUT)/programs/allocs $(OUTPUT)/programs/confined: tests/programs/ledger.h

# spantrace for a kernel that kills at a return, see shy.c.
$(OUTPUT)/programs/shy: LDFLAGS += -Wl,--wrap=features_returns_pass_seccomp

$(OUTPUT)/programs/%: tests/programs/%.cc usdt/spantrace.h
	$(call msg,PROGRAM,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -Wall -Wextra -Werror -Iusdt $< -lpthread -o $@

$(OUTPUT)/batched/tsc: tests/programs/batched.c usdt/spantrace.h
	$(call msg,PROGRAM,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -DSPANTRACE_TSC -Iusdt $< -lpthread -ldl -o $@

$(OUTPUT)/batched/%: tests/programs/%.c usdt/spantrace.h
	$(call msg,PROGRAM,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -DSPANTRACE_BATCHED -Iusdt $< \
		-lpthread -lm -o $@

$(OUTPUT)/batched/%: usdt/%.c usdt/spantrace.h
	$(call msg,PROGRAM,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Wall -Wextra -Werror -DSPANTRACE_BATCHED -Iusdt $< -lpthread -o $@

$(OUTPUT)/batched/%: usdt/%.cc usdt/spantrace.h
	$(call msg,PROGRAM,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -Wall -Wextra -Werror -DSPANTRACE_BATCHED -Iusdt $< -lpthread -o $@

$(OUTPUT)/batched/%: tests/programs/%.cc usdt/spantrace.h
	$(call msg,PROGRAM,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -Wall -Wextra -Werror -DSPANTRACE_BATCHED -Iusdt $< -lpthread -o $@

bench: $(OUTPUT)/spantrace $(OUTPUT)/programs/spans_gen $(OUTPUT)/programs/many $(OUTPUT)/bench/bench_lane $(OUTPUT)/bench/bench_lane_tsc $(patsubst tests/bench/%.c,$(OUTPUT)/bench/%,$(wildcard tests/bench/*.c))
	$(Q)PYTHONDONTWRITEBYTECODE=1 tests/bench/bench.py $(BENCHFLAGS) $(OUTPUT)

# The same loop with its spans in the batched lane, by either clock.
BENCH_LANES := $(OUTPUT)/bench/bench_lane $(OUTPUT)/bench/bench_lane_tsc

$(OUTPUT)/bench/bench_lane: PROGRAM_LANE := -DSPANTRACE_BATCHED
$(OUTPUT)/bench/bench_lane_tsc: PROGRAM_LANE := -DSPANTRACE_BATCHED -DSPANTRACE_TSC

$(BENCH_LANES): tests/bench/bench_loop.c usdt/spantrace.h
	$(call msg,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(PROGRAM_LANE) -Iusdt $< -lpthread -o $@

$(OUTPUT)/bench/%: tests/bench/%.c usdt/spantrace.h $(LIB_OBJ)
	$(call msg,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Iusdt $< $(if $(shell grep -l '"\.\./\.\./' $<),$(LIB_OBJ) $(LIBS)) -lpthread -o $@

format:
	$(Q)clang-format -i $(FORMATTED)

tidy: compile_commands.json $(SKELETON) $(ASSETS) $(RULES)
	$(Q)tests/lint.sh tidy

lint: compile_commands.json $(SKELETON) $(ASSETS) $(RULES)
	$(Q)tests/lint.sh all
