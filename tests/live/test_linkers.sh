#!/bin/bash
# SPDX-License-Identifier: MIT
# What user/elfnote.c reads in files from each compiler and linker here, against three witnesses:
# readelf reads the same notes (addresses, semaphores, arguments), the bytes at the file offsets are
# nops, and nm knows the symbols that operands name. Needs no root. Compilers and linkers that are
# not installed are named.
#
#   tests/live/test_linkers.sh [FILE...]      FILEs besides those it makes
#   ELFDUMP=PROGRAM tests/live/...            uses that program in place of .output/programs/elfdump
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
hex='\(0x[0-9a-f]*\)'
operand='-*[0-9]*@\([A-Za-z_]*\)(%rip)'
disp_at_end='\*1\([+-][0-9]*\)$'
tried=0 failed=0 symbols_checked=0 left_out= needs=

fail() {
	echo "FAIL: $1"
	failed=$((failed + 1))
}

elfdump=${ELFDUMP:-${SPANTRACE_OUTPUT:-.output}/programs/elfdump}
if [ ! -x "$elfdump" ]; then
	echo "$elfdump is not built: make test-programs"
	exit 1
fi

# Sites as readelf sees them, one a line: PROVIDER NAME ADDRESS SEMAPHORE ARGUMENTS
witness() {
	readelf -n "$1" 2>/dev/null | awk '
		$1 == "Provider:" { provider = substr($0, index($0, ":") + 2) }
		$1 == "Name:" { name = substr($0, index($0, ":") + 2) }
		$1 == "Location:" { gsub(",", ""); address = $2; semaphore = $6 }
		$1 == "Arguments:" {
			args = substr($0, index($0, ":") + 2)
			line = provider " " name " " address " " semaphore " " args
			sub(/ +$/, "", line)
			print line
		}' | sort
}

# The byte or instruction at each site's file offset is a nop, and its semaphore's two bytes are 0.
check_offsets() {
	local file=$1 nop=90 size=1 offset semaphore bytes

	if readelf -h "$file" | grep -q AArch64; then
		nop=1f2003d5 size=4
	fi
	while read -r offset semaphore; do
		bytes=$(od -An -tx1 -v -j "$((offset))" -N $size "$file" | tr -d ' ')
		[ "$bytes" = $nop ] || fail "$2: $bytes at offset $offset is no nop"
		[ "$semaphore" = 0x0 ] && continue
		bytes=$(od -An -tx1 -v -j "$((semaphore))" -N 2 "$file" | tr -d ' ')
		[ "$bytes" = 0000 ] || fail "$2: $bytes at offset $semaphore is no semaphore"
	done < <(sed -n "/ | refused: /d
		s/.* | offset $hex | semaphore $hex .*/\1 \2/p" "$3")
}

# Operands that name a symbol with %rip: address of the site + displacement is the symbol's address.
check_symbols() {
	local file=$1 checked=0 address symbol disp want

	while read -r address symbol disp; do
		want=$( (nm "$file"; nm -D "$file") 2>/dev/null |
			awk -v s="$symbol" '$3 == s { print $1; exit }')
		[ $((address + disp)) -eq $((0x${want:-0})) ] ||
			fail "$2: $symbol is at 0x$want, not at $address + $disp"
		checked=$((checked + 1))
	done < <(sed -n "s/^[^ ]* [^ ]* $hex 0x[0-9a-f]* $operand | .*=mem .*$disp_at_end/\1 \2 \3/p" "$3")
	symbols_checked=$((symbols_checked + checked))
}

# compare FILE NAME [SITES]: what both read is the same, and is that many sites where SITES is a
# number; with "names" the program's own names are all there, and with "dropped" sites may be
# refused for what the linker took.
compare() {
	local file=$1 name=$2 sites=${3:-any} refused found

	tried=$((tried + 1))
	"$elfdump" -v "$file" >"$work/verbose" 2>"$work/err"
	sed 's/ | .*//; s/ *$//' "$work/verbose" | sort >"$work/got"
	witness "$file" >"$work/want"
	if ! grep -q "$file: .* sites, " "$work/err"; then
		fail "$name: $(head -1 "$work/err")"
		return
	fi
	if ! diff "$work/want" "$work/got" >"$work/diff"; then
		fail "$name: readelf (<) and elfnote (>) differ"
		head -5 "$work/diff"
		return
	fi
	case $sites in
	any) ;;
	names | dropped)
		found=$(cut -d' ' -f2 "$work/got" | sort -u | grep -vxF unused | tr '\n' ' ')
		[ "$found" = "$names" ] || fail "$name: \"$found\" are not all names" ;;
	*)
		found=$(wc -l <"$work/got")
		[ "$found" -eq "$sites" ] || fail "$name: $found sites, not $sites" ;;
	esac
	refused=$(grep -m1 -o '^[^|]*| .*refused: .*' "$work/verbose")
	if [ "$sites" = dropped ]; then
		refused=$(grep ' | refused: ' "$work/verbose" | grep -v -e 'its code was left out' \
			-e 'its address is not in' -e 'its semaphore is not in writable')
	fi
	[ -z "$refused" ] || fail "$name: refused $refused"
	check_offsets "$file" "$name" "$work/verbose"
	check_symbols "$file" "$name" "$work/verbose"
	[ "${unread_allowed:-0}" = any ] || ! grep -q '=(' "$work/verbose" ||
		fail "$name: unread argument $(grep -m1 -o '=(.*' "$work/verbose")"
}

# build NAME COMMAND…: makes $work/NAME from the program; false, and said, if a tool is missing.
build() {
	local name=$1 tool

	shift
	for tool in "$1" $needs; do
		command -v "$tool" >/dev/null || { left_out="$left_out $name($tool)"; return 1; }
	done
	if ! "$@" -o "$work/$name" tests/programs/linkers.c -idirafter "$sdt" \
		>"$work/log" 2>&1; then
		fail "$name: does not build: $(grep -m1 -E 'error|cannot|unknown' "$work/log")"
		return 1
	fi
}

# variant NAME CHECK COMMAND…: build and compare, without and with semaphores.
variant() {
	local name=$1 check=$2

	shift 2
	build "$name" "$@" && compare "$work/$name" "$name" "$check"
	build "$name-sema" "$@" -DSEMAPHORES && compare "$work/$name-sema" "$name-sema" "$check"
}

names="constants end global indexed loop mixed start twice "
sdt=$(echo '#include <sys/sdt.h>' | gcc -E -M -xc - | tr ' ' '\n' | grep '/sys/sdt\.h$')
sdt=${sdt%/sys/sdt.h}
[ -n "$sdt" ] || { echo "FAIL: no <sys/sdt.h>: install systemtap-sdt-dev"; exit 1; }

for cc in gcc clang; do
	for level in 0 1 2 3 s; do
		variant $cc-O$level names $cc -O$level
	done
	variant $cc-no-pie names $cc -O2 -no-pie -fno-pie
	variant $cc-static names $cc -O2 -static
	variant $cc-static-pie names $cc -O2 -static-pie -fPIE
	variant $cc-shared names $cc -O2 -shared -fPIC
	variant $cc-lto names $cc -O2 -flto -fuse-ld=$([ $cc = gcc ] && echo bfd || echo lld)
	variant $cc-no-separate-code names $cc -O2 -Wl,-z,noseparate-code
	variant $cc-now names $cc -O2 -Wl,-z,now,-z,relro,--hash-style=gnu
	unread_allowed=any variant $cc-stripped names $cc -O2 -s
	variant $cc-debug names $cc -O2 -g3 -gz
	for ld in bfd gold lld mold; do
		needs=$([ $ld = mold ] && echo mold || echo ld.$ld)
		variant $cc-$ld names $cc -O2 -fuse-ld=$ld
		variant $cc-$ld-no-pie names $cc -O2 -fuse-ld=$ld -no-pie -fno-pie
		variant $cc-$ld-shared names $cc -O2 -fuse-ld=$ld -shared -fPIC
		variant $cc-$ld-static names $cc -O2 -fuse-ld=$ld -static
		# gold refuses to drop code that a note describes: "defined in a discarded section".
		variant $cc-$ld-gc dropped $cc -O2 -fuse-ld=$ld -ffunction-sections \
			-Wl,--gc-sections $([ $ld = gold ] && echo -DALL_USED)
		needs=
	done
done
[ $symbols_checked -gt 0 ] || fail "no argument names a symbol, so none was checked"
variant musl names musl-gcc -O2
variant musl-static names musl-gcc -O2 -static
variant arm64 names aarch64-linux-gnu-gcc -O2
variant arm64-O0 names aarch64-linux-gnu-gcc -O0
variant arm64-shared names aarch64-linux-gnu-gcc -O2 -shared -fPIC

# Source lines and label keys, as the comments in the program say them.
labelled() {
	local name=$1

	shift
	for tool in "$1" $needs; do
		command -v "$tool" >/dev/null || { left_out="$left_out $name($tool)"; return; }
	done
	tried=$((tried + 1))
	if ! "$@" -Iusdt -o "$work/$name" tests/programs/labelled.c -idirafter "$sdt" \
		>"$work/log" 2>&1; then
		fail "$name: does not build: $(head -1 "$work/log")"
		return
	fi
	sed -n '=; s|.*/\* note: \(.*\) \*/.*|\1|p' tests/programs/labelled.c |
		awk '/^[0-9]+$/ { line = $1; next }
			{ name = $1; $1 = ""; print name, "labelled.c:" line $0 }' |
		sort >"$work/want"
	"$elfdump" -v "$work/$name" 2>/dev/null | awk -F ' [|] ' '{
		split($1, site, " ")
		sub(".*/", "", $5)
		line = site[2] " " $5
		for (i = 6; i <= NF; i++) {
			sub("=.*", "", $i)
			line = line " " $i
		}
		print line
	}' | sort >"$work/got"
	if ! diff "$work/want" "$work/got" >"$work/diff"; then
		fail "$name: the program (<) and elfnote (>) differ"
		head -5 "$work/diff"
	fi
}

for cc in gcc clang; do
	labelled $cc-labelled-O0 $cc -O0
	labelled $cc-labelled $cc -O2
	labelled $cc-labelled-shared $cc -O2 -shared -fPIC
	labelled $cc-labelled-stripped $cc -O2 -s
	for ld in gold lld mold; do
		needs=$([ $ld = mold ] && echo mold || echo ld.$ld)
		labelled $cc-labelled-$ld $cc -O2 -fuse-ld=$ld
		labelled $cc-labelled-$ld-gc $cc -O2 -fuse-ld=$ld -ffunction-sections \
			-Wl,--gc-sections
		needs=
	done
done
labelled musl-labelled musl-gcc -O2
labelled arm64-labelled aarch64-linux-gnu-gcc -O2

# llvm-strip takes every section that is not loaded, and so leaves no note to read. A stripped
# program's own symbols are gone with any of them, and with them the arguments that are named so.
unread_allowed=any
for strip in strip=names eu-strip=names llvm-strip=0; do
	tool=${strip%=*}
	command -v "$tool" >/dev/null || { left_out="$left_out $tool"; continue; }
	cp "$work/gcc-O2-sema" "$work/$tool"
	$tool "$work/$tool" && compare "$work/$tool" "$tool" "${strip#*=}"
done

# What distributions ship. Their floating-point arguments are unread by design.
for file in /usr/lib/postgresql/15/bin/postgres=71 /usr/bin/python3.11=8 \
	/usr/lib/x86_64-linux-gnu/libstdc++.so.6=3 \
	/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so=531 "${@/%/=any}"; do
	[ -e "${file%=*}" ] || { left_out="$left_out ${file%=*}"; continue; }
	compare "${file%=*}" "$(basename "${file%=*}")" "${file##*=}"
done

[ -z "$left_out" ] || echo "left out, not installed:$left_out"
echo "$((tried - failed)) passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
