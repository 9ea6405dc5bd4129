#!/bin/bash
# SPDX-License-Identifier: MIT
# usdt/spantrace.h with SPANTRACE_BATCHED, untraced: clean under the warnings of tests/unit/test_header.sh in every language
# mode, optimisation and way of linking, and every marker of the programs in tests/programs/header/ is found by `spantrace
# list` as theirs say: those without an id or labels are batched, the others are not. Needs no root.
#
#   test_batched_header.sh               runs everything
#   test_batched_header.sh build ARG...  runs one check in $WORK, prints `ok …` or `FAIL …`
set -euo pipefail
export LC_ALL=C

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SPANTRACE=${SPANTRACE_OUTPUT:-$ROOT/.output}/spantrace
PROGRAMS=$ROOT/tests/programs/header
WARNINGS=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align
	-Wundef -Wunused -Werror)
C_WARNINGS=(-Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wnested-externs
	-Wredundant-decls -Wbad-function-cast)
CXX_WARNINGS=(-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual)

compile() {
	local flags=("${WARNINGS[@]}")
	case $1 in
	*++) flags+=("${CXX_WARNINGS[@]}") ;;
	*) flags+=("${C_WARNINGS[@]}") ;;
	esac
	[[ $1 == g++ ]] && flags+=(-Wuseless-cast)
	"$1" "${flags[@]}" -DSPANTRACE_BATCHED -I"$ROOT/usdt" "${@:2}"
}

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
	compile "$@" "${sources[@]}" -o "$OUT" || return
	[[ " $* " == *" -shared "* ]] || "$OUT" || { echo "ran with status $?"; return 1; }
	mapfile -t names < <(awk '
		$1 == "*" && $2 == "markers:" { on = 1; next }
		$1 == "*" && NF > 1 && on { print $2; next }
		{ on = 0 }' "${sources[@]}" | sort -u)
	diff <(printf '%s\n' "${names[@]}") <(found "$OUT" | cut -d' ' -f1 | sort -u) || return
	if found "$OUT" | grep refused; then
		return 1
	fi
	same_lane "${sources[@]}"
}

# A name that no use of has labels or an id is batched at every site.
same_lane() {
	local batched
	batched=$(awk '
		$1 == "*" && $2 == "markers:" { on = 1; next }
		$1 == "*" && NF > 1 && on {
			name = $2
			sub(/__(enter|exit|new|close)$/, "", name)
			if (!(NF == 2 || (NF == 5 && $3 == "-8" && $5 == "value")))
				other[name] = 1
			marker[$2] = name
			next
		}
		{ on = 0 }
		END {
			for (m in marker)
				if (!(marker[m] in other))
					print m, "batched"
		}' "$@" | sort)
	[[ -n $batched ]] || return 0
	diff <(echo "$batched") <(found "$OUT" | grep -Ff <(cut -d' ' -f1 <<<"$batched" | sed 's/$/ /'))
}

if (($#)); then
	OUT=$(mktemp -p "$WORK" "$1.XXXXXX")
	if output=$("check_$1" "${@:2}" 2>&1); then
		echo "ok $*"
	else
		printf 'FAIL %s\n%s\n' "$*" "$output"
	fi
	exit 0
fi

WORK=$(mktemp -d)
export WORK
trap 'rm -rf "$WORK"' EXIT
jobs=$WORK/jobs
left_out=()

have() {
	command -v "$1" >/dev/null && return
	left_out+=("$1")
	return 1
}

add() {
	printf 'build %s\n' "$*" >>"$jobs"
}

for c in gcc clang; do
	have $c || continue
	for std in c99 c11 c2x gnu11; do
		add plain.c -- $c -std=$std -O2
	done
	for o in -O0 -O1 -Os -O3; do
		add scopes.c -- $c -std=c11 $o
		add labels.c -- $c -std=c11 $o
	done
	add plain.c -- $c -O2 -DSPANTRACE_TSC
	add scopes.c -- $c -O2 -g -fPIC -fno-plt -shared -Wl,-z,text
	add scopes.c -- $c -O0 -fPIE -pie
	add scopes.c -- $c -O2 -static
	add plain.c -- $c -O1 -g -fsanitize=address,undefined
	add scopes.c -- $c -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
	add plain.c -- $c -O2 -masm=intel
done
for c in g++ clang++; do
	have $c || continue
	for std in c++11 c++17 c++2b; do
		add scopes.cc -- $c -std=$std -O2
	done
	for o in -O0 -O1 -O3; do
		add scopes.cc -- $c -std=c++17 $o
	done
	add labels.cc -- $c -std=c++17 -O2
	add scopes.cc -- $c -O2 -fPIC -fno-plt -shared -Wl,-z,text
	add scopes.cc -- $c -O2 -DSPANTRACE_TSC -ffunction-sections -Wl,--gc-sections
done
! have gcc || add scopes.c -- gcc -O2 -flto
! have g++ || add scopes.cc -- g++ -O2 -flto
if have clang && have ld.lld; then
	add scopes.c -- clang -O2 -flto -fuse-ld=lld
	add scopes.cc -- clang++ -O2 -flto=thin -fuse-ld=lld
fi
for linker in gold lld mold; do
	! have ld.$linker || add scopes.c -- gcc -O2 -fuse-ld=$linker -Wl,--gc-sections
done

xargs -P "$(nproc)" -I{} bash -c "$(printf '%q' "${BASH_SOURCE[0]}") {}" <"$jobs" >"$WORK/results"
grep -v '^ok ' "$WORK/results" || true
passed=$(grep -c '^ok ' "$WORK/results" || true)
failed=$(($(wc -l <"$jobs") - passed))
if ((${#left_out[@]})); then
	echo "not installed, left out: ${left_out[*]}"
fi
echo "$passed passed, $failed failed, 0 skipped"
((failed == 0))
