#!/bin/bash
# SPDX-License-Identifier: MIT
# Checks usdt/spantrace.h without tracing: it compiles clean in every language mode, optimisation and way
# of linking; leaves the markers and notes that each program in tests/programs/header/ lists in its own
# comment; and, under gdb, fires them in the listed order with the listed values, at equal stack pointers.
#
#   test_header.sh              runs everything
#   test_header.sh KIND ARG...  runs one check in $WORK, prints `ok ...` or `FAIL ...`
. "$(dirname "$0")/../programs/header/checks.sh"

# Each site of a file: ADDRESS PROVIDER:NAME SEMAPHORE SIZE...
sites() {
	readelf -nW "$1" 2>/dev/null | awk '
		/Provider:/ { provider = $NF }
		$1 == "Name:" { name = $2 }
		$1 == "Location:" { sub(/,/, "", $2); address = $2; semaphore = $6 }
		$1 == "Arguments:" {
			sizes = ""
			for (i = 2; i <= NF; i++)
				if ($i ~ /^-?[0-9]+@/)
					sizes = sizes " " substr($i, 1, index($i, "@") - 1)
			print address, provider ":" name, semaphore sizes
		}'
}

# Each note of .note.spantrace: ADDRESS PROVIDER:NAME LINE FILE KEY..., spaces in FILE as +
notes() {
	readelf -nW "$1" 2>/dev/null | awk '
		function byte(text) {
			return index(digits, substr(text, 1, 1)) * 16 + index(digits, substr(text, 2, 1)) - 17
		}
		BEGIN { digits = "0123456789abcdef" }
		$1 == "spantrace" {
			sub(/.*description data: /, "")
			address = ""
			for (i = 8; i >= 1; i--)
				address = address $i
			line = byte($9) + 256 * byte($10)
			count = 1
			split("", text)
			for (i = 13; i <= NF; i++)
				if ($i == "00")
					count++
				else
					text[count] = text[count] sprintf("%c", byte($i))
			gsub(/ /, "+", text[3])
			out = "0x" address " " text[1] ":" text[2] " " line " " text[3]
			for (i = 4; text[i] != ""; i++)
				out = out " " text[i]
			print out
		}'
}

# Joins the two by the rule of include/note.h: MARKER SIZE... [semaphore] [keys KEY...], once each.
# SOURCE is where the notes must say that the markers stand.
markers() {
	local binary=$1
	{
		sites "$binary" | sed 's/^/site /'
		notes "$binary" | sed 's/^/note /'
	} | sort -s -k2,2 | awk '
		$1 == "site" {
			if ($3 ~ /^own:/ || last[$3] != "")
				flush($3)
			last[$3] = $3
			semaphore[$3] = $4 ~ /[^0x]/
			for (i = 5; i <= NF; i++)
				last[$3] = last[$3] " " $i
			next
		}
		$1 == "note" {
			if (last[$3] == "") {
				print "note without a site: " $0
				next
			}
			if (semaphore[$3])
				last[$3] = last[$3] " semaphore"
			if (NF > 5)
				last[$3] = last[$3] " keys"
			for (i = 6; i <= NF; i++)
				last[$3] = last[$3] " " $i
			print last[$3]
			last[$3] = ""
		}
		function flush(name) {
			if (last[name] != "" && name !~ /^own:/)
				print "site without a note: " last[name]
		}
		END {
			for (name in last)
				if (name ~ /^own:/)
					print last[name]
				else
					flush(name)
		}' | sort -u
}

# Each note must name the source, and a line of it that names the marker.
lines_are_right() {
	local binary=$1 source=$2
	notes "$binary" | awk -v source="$source" '
		BEGIN {
			while ((getline text < source) > 0)
				lines[++count] = text
			want = source
			gsub(/ /, "+", want)
		}
		$4 == want {
			name = $2
			sub(/.*:/, "", name)
			sub(/__(enter|exit|new|close)$/, "", name)
			if (index(lines[$3], name) == 0) {
				print "note of " $2 " says line " $3 ": " lines[$3]
				bad = 1
			}
			right++
		}
		END {
			if (!right)
				print "no note names " want
			exit bad || !right
		}'
}

# --- one check ---------------------------------------------------------------------------------------

same() {
	local what=$1 want=$2 have=$3
	[[ $want == "$have" ]] && return
	echo "$what (< expected, > found):"
	diff <(echo "$want") <(echo "$have") || true
	return 1
}

check_binary() {
	local binary=$1
	shift
	same markers "$(expected markers "$@" | sort -u)" "$(markers "$binary")" &&
		lines_are_right "$binary" "$1"
}

# build SOURCE COMPILER FLAGS...: compiles clean, runs, has its markers; strip leaves them
check_build() {
	local source=$PROGRAMS/$1 before
	compile "$2" "${@:3}" "$source" -o "$OUT" || return
	case " $* " in
	*" -shared "*) ;;
	*) "$OUT" || { echo "ran with status $?"; return 1; } ;;
	esac
	check_binary "$OUT" "$source" || return
	before=$(sites "$OUT"; notes "$OUT")
	strip -s "$OUT"
	same 'after strip' "$before" "$(sites "$OUT"; notes "$OUT")"
}

# units C-COMPILER FLAGS...: two files and a shared library
check_units() {
	local compiler=$1 semaphores
	shift
	compile "$compiler" "$@" -fPIC -shared "$PROGRAMS/units_library.c" -o "$OUT.so" || return
	compile "$compiler" "$@" "$PROGRAMS/units_main.c" "$PROGRAMS/units_other.c" "$OUT.so" -o "$OUT" ||
		return
	"$OUT" || { echo "ran with status $?"; return 1; }
	check_binary "$OUT.so" "$PROGRAMS/units_library.c" || return
	check_binary "$OUT" "$PROGRAMS/units_main.c" || return
	for binary in "$OUT" "$OUT.so"; do
		semaphores=$(sites "$binary" | awk '$2 == "app:shared__enter" { print $3 }' | sort -u | wc -l)
		same "semaphores of app:shared__enter in $binary" 1 "$semaphores" || return
	done
	same 'semaphores that other binaries can see' '' "$(nm -D "$OUT.so" | grep semaphore || true)"
}

# odd_path COMPILER: a path holds what assembler templates give a meaning to
check_odd_path() {
	local directory="$OUT.100% {a|b}"
	mkdir -p "$directory"
	cp "$PROGRAMS/plain.c" "$directory"
	compile "$1" "$directory/plain.c" -o "$OUT" || return
	same markers "$(expected markers "$PROGRAMS/plain.c" | sort -u)" \
		"$(markers "$OUT")" &&
		lines_are_right "$OUT" "$directory/plain.c"
}

# disabled COMPILER FLAGS...: nothing is left
check_disabled() {
	compile "$1" "${@:2}" "$PROGRAMS/disabled.c" -o "$OUT" || return
	"$OUT" || { echo "evaluated $? arguments"; return 1; }
	same sections '' "$(readelf -SW "$OUT" | grep -E 'stapsdt|spantrace|probes' || true)"
}

# refused CASE COMPILER...: does not compile, and says why
check_refused() {
	local want
	want=$(expected refused "$PROGRAMS/refused.c" | sed -n "s/^$1 //p")
	if "${@:2}" -DCASE="$1" -I"$ROOT/usdt" -c "$PROGRAMS/refused.c" -o "$OUT.o" 2>"$OUT.err"; then
		echo 'it compiles'
		return 1
	fi
	grep -qE "$want" "$OUT.err" || { echo "no '$want' in:"; cat "$OUT.err"; return 1; }
}

# A gdb script that prints each marker as it fires, its arguments' values and the stack pointer.
gdb_script() {
	echo 'set pagination off'
	echo 'set confirm off'
	echo 'set debuginfod enabled off'
	expected markers "$1" | awk '{
		sizes = 0
		keys = 0
		split("", size)
		for (i = 2; i <= NF && $i ~ /^-?8$/; i++)
			size[++sizes] = $i
		for (i = 2; i <= NF; i++)
			if ($i == "keys")
				keys = NF - i
		print "break -probe-stap " $1
		print "commands"
		print "silent"
		printf "printf \"@ %%lx %s\", $sp\n", $1
		for (i = 1; i <= sizes; i++) {
			value = "$_probe_arg" (i - 1)
			if (size[i] == "-8")
				printf "printf \" %%lld\", (long long)%s\n", value
			else if (i > sizes - keys)
				printf "printf \" \\\"%%s\\\"\", (char *)%s\n", value
			else
				printf "printf \" %%llu\", (unsigned long long)%s\n", value
		}
		print "printf \"\\n\""
		print "continue"
		print "end"
	}'
	echo run
}

# trace SOURCE COMPILER FLAGS...: the listed order and values, enter and exit at one stack pointer
check_trace() {
	local source=$PROGRAMS/$1
	compile "$2" "${@:3}" "$source" -o "$OUT" || return
	gdb_script "$source" >"$OUT.gdb"
	gdb -nx -batch -x "$OUT.gdb" "$OUT" >"$OUT.trace" 2>&1 </dev/null || { cat "$OUT.trace"; return 1; }
	same trace "$(expected trace "$source")" "$(sed -n 's/^@ [0-9a-f]* //p' "$OUT.trace")" || return
	awk '$1 == "@" && $3 ~ /__enter$/ { stack[++depth] = $2; name[depth] = $3 }
		$1 == "@" && $3 ~ /__exit$/ {
			if (stack[depth] != $2) {
				print $3 " at stack pointer " $2 ", its enter at " stack[depth]
				bad = 1
			}
			depth--
		}
		END { exit bad }' "$OUT.trace"
}

# listed COMPILER: other tools find every marker
check_listed() {
	local want
	compile "$1" -O2 "$PROGRAMS/labels.c" -o "$OUT" || return
	want=$(expected markers "$PROGRAMS/labels.c" | awk '{ print $1 }' | sort)
	if command -v bpftrace >/dev/null; then
		same 'bpftrace -l' "$want" \
			"$(bpftrace -l "usdt:$OUT:*" | sed "s|^usdt:$OUT:||" | sort -u)" || return
	fi
	same 'gdb info probes' "$want" "$(gdb -nx -batch -ex 'info probes stap app' "$OUT" 2>/dev/null |
		awk '$1 == "stap" { print $2 ":" $3 }' | sort -u)"
}

checks_begin "$@"

# Shrink-wrapping sets up a frame on some paths of a function only: an exception's exit then has another
# stack pointer than the enter.
one_frame() {
	case $1 in
	g*) echo -O2 -fno-shrink-wrap ;;
	*) echo -O2 -mllvm -enable-shrink-wrap=false ;;
	esac
}

c_checks() {
	local c=$1 std o
	for std in c99 c11 c17 c2x gnu11; do
		add build plain.c "$c" -std=$std -O2
		add build labels.c "$c" -std=$std -O2
	done
	add build scopes.c "$c" -std=c99 -O2
	for o in -O0 -O1 -Os -O3; do
		add build scopes.c "$c" -std=c11 $o
		add build labels.c "$c" -std=c11 $o
	done
	add build scopes.c "$c" -O2 -g -fPIC -fno-plt -shared -Wl,-z,text
	add build labels.c "$c" -O2 -fPIC -fno-plt -shared -Wl,-z,text
	add build scopes.c "$c" -O0 -fPIE -pie
	add build labels.c "$c" -O2 -static
	add build labels.c "$c" -O1 -g -fsanitize=address,undefined
	add build scopes.c "$c" -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
	add build scopes.c "$c" -O2 -fcf-protection=full -fexceptions -fnon-call-exceptions
	add build own_probes.c "$c" -O2
	add build own_probes.c "$c" -O2 -DOWN_SEMAPHORES
	add units "$c" -O0
	add units "$c" -O2
	add odd_path "$c"
	add disabled "$c" -std=c99 -O2
	add listed "$c"
	for o in 1 2 3 4 5; do
		add refused $o "$c"
	done
	add trace plain.c "$c" -O2
	for o in -O0 "$(one_frame "$c")"; do
		add trace scopes.c "$c" "$o"
		add trace labels.c "$c" "$o"
	done
}

cxx_checks() {
	local c=$1 std o
	for std in c++11 c++14 c++17 c++20 c++2b; do
		add build labels.cc "$c" -std=$std -O2
	done
	add build scopes.cc "$c" -std=c++11 -O2
	for o in -O0 -O1 -Os -O3; do
		add build scopes.cc "$c" -std=c++17 $o
	done
	add build labels.cc "$c" -std=c++17 -O0
	add build scopes.cc "$c" -O2 -fPIC -fno-plt -shared -Wl,-z,text
	add build labels.cc "$c" -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
	add build labels.cc "$c" -O1 -g -fsanitize=address,undefined
	add disabled "$c" -x c++ -std=c++11 -O2
	for o in 1 2 3 4 5; do
		add refused $o "$c" -x c++
	done
	for o in -O0 "$(one_frame "$c")"; do
		add trace scopes.cc "$c" "$o"
		add trace labels.cc "$c" "$o"
	done
}

! have gcc || c_checks gcc
! have clang || c_checks clang
! have g++ || cxx_checks g++
! have clang++ || cxx_checks clang++
if have gcc; then
	add build scopes.c gcc -O2 -flto
	add units gcc -O2 -flto
fi
! have g++ || add build labels.cc g++ -O2 -flto
if have clang && have ld.lld; then
	add build scopes.c clang -O2 -flto -fuse-ld=lld
	add units clang -O2 -flto=thin -fuse-ld=lld
	add build labels.cc clang++ -O2 -flto=thin -fuse-ld=lld
fi
for linker in gold lld mold; do
	! have ld.$linker || add build labels.c gcc -O2 -fuse-ld=$linker -Wl,--gc-sections
done

checks_end
