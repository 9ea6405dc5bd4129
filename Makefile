# SPDX-License-Identifier: MIT
# Builds spantrace, runs its tests and its demos. Everything made stands in .output/.
#
#   make               build (installs nothing; says what is missing)
#   sudo make demo     install what is missing, build, trace an example server
#   sudo make check    install what is missing, build, run every test
#   make help          the other targets

OUTPUT := .output
VERSION := 0.1.0
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
	-DSPANTRACE_VERSION='"$(VERSION)"' -I$(OUTPUT) $(CFLAGS)
LIBS := -lbpf -lelf -lz -lpthread -lm
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-missing-declarations

USER_SRC := $(wildcard user/*.c user/util/*.c)
EXPORT_SRC := $(wildcard exporters/*.c)
LIB_OBJ := $(patsubst %.c,$(OUTPUT)/%.o,$(filter-out user/main.c,$(USER_SRC)) $(EXPORT_SRC))
SKELETON := $(OUTPUT)/spantrace.skel.h
ASSETS := $(patsubst %,$(OUTPUT)/%.h,$(wildcard exporters/*.js exporters/*.css))

.PHONY: all help clean install check demo demo-postgres bench deps tools
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

all: $(OUTPUT)/spantrace examples compile_commands.json

help:
	@sed -n '2,8s/^# \{0,1\}//p' Makefile
	@echo "  make install [PREFIX=$(PREFIX)] [DESTDIR=]; make bench; make format; make tidy; make clean; V=1 shows commands"

# --- the kernel side -------------------------------------------------------------------------------

$(OUTPUT)/bpf/spantrace.bpf.o: bpf/spantrace.bpf.c | tools
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -MF $@.d -c $< -o $@.tmp
	$(Q)$(BPFTOOL) gen object $@ $@.tmp

$(SKELETON): $(OUTPUT)/bpf/spantrace.bpf.o
	$(call msg,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name spantrace_bpf >$@

# --- the loader ------------------------------------------------------------------------------------

# Text that the program carries, as a C string.
$(OUTPUT)/%.js.h $(OUTPUT)/%.css.h: FORCE_SUFFIX :=
$(OUTPUT)/%.h: %
	$(call msg,EMBED,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< >$@

$(OUTPUT)/user/%.o: user/%.c | $(SKELETON)
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

clean:
	$(call msg,CLEAN,$(OUTPUT))
	$(Q)rm -rf $(OUTPUT) compile_commands.json

include tests/tests.mk

-include $(shell find $(OUTPUT) -name '*.d' 2>/dev/null)
