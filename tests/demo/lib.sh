# SPDX-License-Identifier: MIT
# What the demos share; sourced by them at the root of the project. Needs sh, coreutils, grep and sed only.

output=${OUTPUT:-.output}
spantrace=$output/spantrace
results=$output/demo

say() {
	printf '%s\n' "$*"
}

# hint COMMAND WHAT…: one line of what to try next.
hint() {
	printf '  %-62s %s\n' "$@"
}

step() {
	printf '\n== %s\n' "$*"
}

fail() {
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# need_build FILE…: what the demo runs is there, and so is root.
need_build() {
	for file in "$@"; do
		[ -x "$file" ] || fail "$file is not built: run make first"
	done
	[ "$(id -u)" = 0 ] || fail "tracing needs root: run this with sudo"
	mkdir -p "$results"
}

# quote WORD…: as it would be typed. Words here hold no quotes.
quote() {
	for word in "$@"; do
		case $word in
		'&' | '&&') printf ' %s' "$word" ;;
		*[!A-Za-z0-9_./:,=@%+-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
}

# show WORD…: a command line, above what it prints.
show() {
	printf '\n+%s\n' "$(quote "$@")"
}

# trace ARG…: shows and runs spantrace.
trace() {
	show sudo "$spantrace" "$@"
	"$spantrace" "$@" || fail "that failed ($?); \`sudo $spantrace doctor\` says what this machine lacks"
}

# count_spans JSON FRAME[, FRAME]…: spans finished with exactly that path, over all threads.
count_spans() {
	total=0
	for count in $(sed -n "s/.*\"path\": \[$2\],.*\"count\": \([0-9]*\),.*/\1/p" "$1"); do
		total=$((total + count))
	done
	echo "$total"
}

# The files that a trace left are there.
need_results() {
	for file in "$@"; do
		[ -s "$file" ] || fail "spantrace left no $file"
	done
}

is_running() {
	kill -0 "$1" 2>/dev/null
}
