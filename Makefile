# SPDX-License-Identifier: MIT
# Builds spantrace, runs its tests and its demos. Everything made stands in .output/.
#
#   sudo make demo           install what is missing, build, trace an example server
#   sudo make check          install what is missing, build, run every test
#   sudo make demo-postgres  the same demo with an unmodified PostgreSQL
#   make                     build (installs nothing)
#   make install             into PREFIX (/usr/local), below DESTDIR
#   make bench               what tracing costs, as ratios (root)
#   make format, make tidy   clang-format in place; clang-tidy
#   make clean               V=1 shows every command

OUTPUT := .output
PREFIX ?= /usr/local
CC ?= gcc
CXX ?= g++
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/local/sbin/bpftool /usr/bin/bpftool) bpftool)
ARCH := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')

ifeq ($(V),1)
Q :=
msg =
else
Q := @
msg = @printf '  %-8s %s\n' '$(1)' '$(patsubst $(OUTPUT)/%,%,$(2))';
endif

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=gnu11 $(WARNINGS) -fno-omit-frame-pointer -D_GNU_SOURCE \
	-I$(OUTPUT) $(CFLAGS)
LIBS := -lcurl -lmicrohttpd -lbpf -lelf -lz -lcapstone -ljansson -lpthread -lm
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-missing-declarations

USER_SRC := $(wildcard user/*.c user/*/*.c)
LIB_SRC := $(filter-out user/main.c,$(USER_SRC)) $(wildcard exporters/*.c)
LIB_OBJ := $(LIB_SRC:%.c=$(OUTPUT)/%.o)
SKELETON := $(OUTPUT)/spantrace.skel.h $(OUTPUT)/spantrace_small.skel.h
ASSETS := $(patsubst %,$(OUTPUT)/%.h,$(wildcard exporters/*.js exporters/*.css))
RULES := $(OUTPUT)/user/pair/programs.rules.h
COZ_SHIM := $(OUTPUT)/libspantrace-coz.so

.PHONY: all help clean install deps demo demo-postgres format tidy FORCE
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

all: $(OUTPUT)/spantrace $(COZ_SHIM) examples compile_commands.json

help:
	@sed -n '4,12s/^# \{0,1\}//p' Makefile

# --- the kernel side -------------------------------------------------------------------------------

$(OUTPUT)/bpf/spantrace.bpf.o: bpf/spantrace.bpf.c
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $@.d -MT $@ -c $< -o $@.tmp
	$(Q)$(BPFTOOL) gen object $@ $@.tmp

# The same without the batched lane, which takes a stack of its own (bpf/guard.bpf.h).
$(OUTPUT)/bpf/spantrace_small.bpf.o: bpf/spantrace.bpf.c
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -DSMALL_STACK -MMD -MP -MF $@.d -MT $@ -c $< -o $@.tmp
	$(Q)$(BPFTOOL) gen object $@ $@.tmp

$(OUTPUT)/%.skel.h: $(OUTPUT)/bpf/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@

# --- the loader ------------------------------------------------------------------------------------

# Text that the program carries, as C strings without its comments and indentation; and its hash, as a page's policy wants it.
$(OUTPUT)/exporters/%.h: exporters/%
	$(call msg,EMBED,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed -e '/^[[:space:]]*\/\//d' -e '/^[[:space:]]*\/\*.*\*\/$$/d' -e '/^[[:space:]]*$$/d' \
		-e 's/^[[:space:]]*//' $< >$(@:.h=.text)
	$(Q)printf '"sha256-%s"\n' "$$(sha256sum $(@:.h=.text) | cut -d' ' -f1 | tr a-f A-F | \
		basenc --base16 -d | base64)" >$(@:.h=.sha256.h)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $(@:.h=.text) >$@

# Every line, so that those in messages are the file's.
$(RULES): user/pair/programs.rules
	$(call msg,EMBED,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $< >$@

$(OUTPUT)/user/%.o: user/%.c | $(SKELETON) $(RULES)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(OUTPUT)/exporters/%.o: exporters/%.c | $(ASSETS)
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(OUTPUT)/spantrace: $(OUTPUT)/user/main.o $(LIB_OBJ)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $^ $(LDFLAGS) $(LIBS) -o $@

# What editors and clang-tidy need to see the sources as make does.
compile_commands.json: Makefile $(LIB_SRC) user/main.c
	$(call msg,GEN,$@)
	$(Q){ sep='['; for f in $(sort $(LIB_SRC) user/main.c); do \
		printf '%s\n{"directory":"%s","file":"%s","command":"%s -c %s"}' \
			"$$sep" "$(CURDIR)" $$f "$(CC) $(ALL_CFLAGS)" $$f; sep=,; \
	done; printf '\n]\n'; } >$@

# Preloaded into programs, so it carries no sanitizer and nothing that its own flags bring.
$(COZ_SHIM): usdt/coz_shim.c include/coz.h
	$(call msg,SHIM,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 -g -fPIC -shared -fvisibility=hidden \
		-Wl,-z,defs -Wl,-soname,$(@F) $< -ldl -lpthread -o $@

# --- examples for people, targets for tests ---------------------------------------------------------

EXAMPLES := $(patsubst usdt/%.c,$(OUTPUT)/usdt/%,$(filter-out usdt/coz_shim.c,$(wildcard usdt/*.c))) \
	$(if $(shell command -v $(CXX)),$(patsubst usdt/%.cc,$(OUTPUT)/usdt/%,$(wildcard usdt/*.cc)))

.PHONY: examples
examples: $(EXAMPLES)

$(OUTPUT)/usdt/%: usdt/%.c usdt/spantrace.h
	$(call msg,EXAMPLE,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -O2 -g -Wall -Wextra -Werror -Iusdt -MMD -MP -MF $@.d $< -lpthread -o $@

$(OUTPUT)/usdt/%: usdt/%.cc usdt/spantrace.h
	$(call msg,EXAMPLE,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -O2 -g -Wall -Wextra -Werror -Iusdt -MMD -MP -MF $@.d $< -lpthread -o $@

# --- for people ------------------------------------------------------------------------------------

deps:
	$(Q)tests/install-deps.sh build

demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/demo/demo.sh

demo-postgres: deps
	$(Q)tests/install-deps.sh postgres
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/demo/demo-postgres.sh

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include \
		$(DESTDIR)$(PREFIX)/share/doc/spantrace $(DESTDIR)$(PREFIX)/lib/systemd/system \
		$(DESTDIR)/etc/spantrace
	install -m 755 $(OUTPUT)/spantrace $(DESTDIR)$(PREFIX)/bin/spantrace
	install -m 644 $(COZ_SHIM) $(DESTDIR)$(PREFIX)/lib/libspantrace-coz.so
	install -m 644 usdt/spantrace.h $(DESTDIR)$(PREFIX)/include/spantrace.h
	install -m 644 README.md LICENSE $(DESTDIR)$(PREFIX)/share/doc/spantrace/
	sed 's|/usr/local|$(PREFIX)|' user/service/spantrace.service \
		>$(DESTDIR)$(PREFIX)/lib/systemd/system/spantrace.service
	[ -e $(DESTDIR)/etc/spantrace/spantrace.conf ] || \
		install -m 600 user/service/spantrace.conf $(DESTDIR)/etc/spantrace/

clean:
	$(call msg,CLEAN,$(OUTPUT))
	$(Q)rm -rf $(OUTPUT) compile_commands.json

include tests/tests.mk

# Not those of the sanitizers' tree below this one.
-include $(shell find $(OUTPUT) -path $(OUTPUT)/asan -prune -o -name '*.d' -print 2>/dev/null)
