#!/bin/bash
# SPDX-License-Identifier: MIT
# usdt/spantrace.h with SPANTRACE_BATCHED, untraced: clean under the warnings of tests/unit/test_header.sh in every language
# mode, optimisation and way of linking, and every marker of the programs in tests/programs/header/ is found by `spantrace
# list` as theirs say: those without an id or labels are batched, the others are not. Needs no root.
#
#   test_batched_header.sh               runs everything
#   test_batched_header.sh build ARG...  runs one check in $WORK, prints `ok …` or `FAIL …`
. "$(dirname "$0")/../programs/header/checks.sh"

SPANTRACE=${SPANTRACE_OUTPUT:-$ROOT/.output}/spantrace

# MARKER batched|nop of every site of a file; `refused` where it is
found() {
	"$SPANTRACE" list --json "$1" | python3 -c '
import json, sys
for site in json.load(sys.stdin)["files"][0]["sites"]:
    print(site["marker"], "refused: " + site["refused"] if "refused" in site else site["nop"])' | sort -u
}

# build SOURCE... -- COMPILER FLAGS...
check_build() {
	local sources=() names=()
	while [[ $1 != -- ]]; do
		sources+=("$PROGRAMS/$1")
		shift
	done
	shift
	compile "$@" -DSPANTRACE_BATCHED "${sources[@]}" -o "$OUT" || return
	[[ " $* " == *" -shared "* ]] || "$OUT" || { echo "ran with status $?"; return 1; }
	mapfile -t names < <(expected markers "${sources[@]}" | cut -d' ' -f1 | sort -u)
	diff <(printf '%s\n' "${names[@]}") <(found "$OUT" | cut -d' ' -f1 | sort -u) || return
	if found "$OUT" | grep refused; then
		return 1
	fi
	same_lane "${sources[@]}"
}

# A name that no use of has labels or an id is batched at every site.
same_lane() {
	local batched
	batched=$(expected markers "$@" | awk '
		{
			name = $1
			sub(/__(enter|exit|new|close)$/, "", name)
			if (!(NF == 1 || (NF == 4 && $2 == "-8" && $4 == "value")))
				other[name] = 1
			marker[$1] = name
		}
		END {
			for (m in marker)
				if (!(marker[m] in other))
					print m, "batched"
		}' | sort)
	[[ -n $batched ]] || return 0
	diff <(echo "$batched") <(found "$OUT" | grep -Ff <(cut -d' ' -f1 <<<"$batched" | sed 's/$/ /'))
}

checks_begin "$@"

for c in gcc clang; do
	have $c || continue
	for std in c99 c11 c2x gnu11; do
		add build plain.c -- $c -std=$std -O2
	done
	for o in -O0 -O1 -Os -O3; do
		add build scopes.c -- $c -std=c11 $o
		add build labels.c -- $c -std=c11 $o
	done
	add build plain.c -- $c -O2 -DSPANTRACE_TSC
	add build scopes.c -- $c -O2 -g -fPIC -fno-plt -shared -Wl,-z,text
	add build scopes.c -- $c -O0 -fPIE -pie
	add build scopes.c -- $c -O2 -static
	add build plain.c -- $c -O1 -g -fsanitize=address,undefined
	add build scopes.c -- $c -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
	add build plain.c -- $c -O2 -masm=intel
done
for c in g++ clang++; do
	have $c || continue
	for std in c++11 c++17 c++2b; do
		add build scopes.cc -- $c -std=$std -O2
	done
	for o in -O0 -O1 -O3; do
		add build scopes.cc -- $c -std=c++17 $o
	done
	add build labels.cc -- $c -std=c++17 -O2
	add build scopes.cc -- $c -O2 -fPIC -fno-plt -shared -Wl,-z,text
	add build scopes.cc -- $c -O2 -DSPANTRACE_TSC -ffunction-sections -Wl,--gc-sections
done
! have gcc || add build scopes.c -- gcc -O2 -flto
! have g++ || add build scopes.cc -- g++ -O2 -flto
if have clang && have ld.lld; then
	add build scopes.c -- clang -O2 -flto -fuse-ld=lld
	add build scopes.cc -- clang++ -O2 -flto=thin -fuse-ld=lld
fi
for linker in gold lld mold; do
	! have ld.$linker || add build scopes.c -- gcc -O2 -fuse-ld=$linker -Wl,--gc-sections
done

checks_end
