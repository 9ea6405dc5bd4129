#!/bin/bash
# SPDX-License-Identifier: MIT
# What can be seen without running: `lint.sh all` checks format, clang-tidy and the house's own rules; `lint.sh tidy`
# clang-tidy alone. Each check is one line; the last is `N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0

check() { # NAME, then what is wrong on stdin: nothing is good
	local wrong
	wrong=$(cat)
	if [ -z "$wrong" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'FAIL %s\n%s\n' "$1" "$wrong"
	fi
}

left_out() {
	skipped=$((skipped + 1))
	echo "left out: $1"
}

sources() {
	git ls-files -co --exclude-standard -- "$@" | while read -r f; do [ -e "$f" ] && echo "$f"; done
}

tidy() {
	if ! command -v clang-tidy >/dev/null; then
		left_out "clang-tidy is not installed"
		return
	fi
	check "clang-tidy" < <(sources 'user/*.c' 'exporters/*.c' |
		xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p . 2>/dev/null | grep -E 'warning:|error:' | sort -u)
}

if [ "${1:-all}" = all ]; then
	if command -v clang-format >/dev/null; then
		check "clang-format: run \`make format\`" < <(sources '*.c' '*.h' '*.cc' |
			grep -v -e '^usdt/spantrace.h$' -e '^tests/golden/' | xargs clang-format --dry-run 2>&1 |
			grep 'warning:' | sed 's/:.*//' | sort | uniq -c)
	else
		left_out "clang-format is not installed"
	fi
	check "an SPDX line first" < <(sources '*.c' '*.h' '*.cc' '*.sh' '*.py' '*.js' '*.css' '*.mk' Makefile |
		while read -r f; do head -4 "$f" | grep -q 'SPDX-License-Identifier: ' || echo "$f"; done)
	# The header ships as one file.
	check "files of 600 lines at most" < <(sources '*.c' '*.h' '*.cc' '*.py' '*.sh' | grep -v -e '^tests/golden/' -e '^usdt/spantrace.h$' |
		xargs wc -l | awk '$2 != "total" && $1 > 600 { print $2 ": " $1 " lines" }')
	check "no promises" < <(sources 'user/*' 'bpf/*' 'usdt/*' 'include/*' 'exporters/*' |
		xargs grep -nE 'TODO|FIXME|\bXXX\b' /dev/null)
	# No kernel, no processes, no loader: a trace in, bytes out.
	check "exporters are pure" < <(sources 'exporters/*.[ch]' |
		xargs grep -nE '"/proc|<bpf/|\.\./user/' /dev/null | grep -vF 'user/util/')
fi
tidy
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
