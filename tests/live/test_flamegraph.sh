#!/bin/bash
# SPDX-License-Identifier: MIT
# The flame graph in a browser: search, zoom, links, keys, details, themes, window width, hostile names,
# 10,000 frames deep, 50,000 in all, as a picture. The checks are in flamegraph.html; this makes the
# files and starts Chromium, once in each theme. Needs no root.
#
#   PROFILE_GEN=PROGRAM tests/live/test_flamegraph.sh    (default .output/programs/profile_gen)
set -u
cd "$(dirname "$0")/../.." || exit 1
generate=${PROFILE_GEN:-.output/programs/profile_gen}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
passed=0 failed=0

if [ -z "$chromium" ]; then
	echo "left out: no chromium here"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
fi
if ! [ -x "$generate" ]; then
	echo "no $generate: make test-programs"
	echo "0 passed, 1 failed"
	exit 1
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

ok() {
	passed=$((passed + 1))
}
fail() {
	echo "FAIL $1"
	failed=$((failed + 1))
}
check() {
	if eval "$2"; then ok; else fail "$1"; fi
}

make_file() {
	"$generate" "$1" "$2" "$3" >"$work/$4" || fail "profile_gen $1 $2 $3"
}
make_file flamegraph tree 20 tree.svg
make_file flamegraph odd 30 odd.svg
make_file flamegraph deep 10000 deep.svg
make_file flamegraph tree 50000 big.svg
make_file flamegraph tree 1 one.svg
make_file flamegraph empty 0 empty.svg
make_file flamegraph wide 50000 wide.svg
make_file flamegraph,threads_collapsed=1,module_path=0,value=cpu,title=T odd 30 options.svg

for file in "$work"/*.svg; do
	check "$(basename "$file") is XML" "python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' '$file'"
	check "$(basename "$file") loads nothing" "! grep -q 'href\|url(\|@import\|src=' '$file'"
done
check "50,000 frames stay below 5 MB" "[ $(stat -c %s "$work/big.svg") -lt 5000000 ]"
check "50,000 narrow frames stay below 100 kB" "[ $(stat -c %s "$work/wide.svg") -lt 100000 ]"

# Prints the page after its script has run, in theme $1 (0: dark, 1: light).
browse() {
	cp tests/live/flamegraph.html "$work/" || return 1
	timeout 300 "$chromium" --headless --no-sandbox --disable-gpu --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$work/profile$1" --allow-file-access-from-files --disable-dev-shm-usage \
		--window-size=1100,800 --blink-settings=preferredColorScheme="$1" \
		--virtual-time-budget=60000 --dump-dom \
		"file://$work/flamegraph.html?tree.svg,odd.svg,deep.svg,big.svg" 2>"$work/stderr$1"
}

for theme in 1 0; do
	browse $theme >"$work/page$theme"
	sed -n '/<pre/,/<\/pre>/p' "$work/page$theme" | sed 's/.*<pre[^>]*>//; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' \
		>"$work/lines$theme"
	check "the page ran to its end in theme $theme" "grep -qx end '$work/lines$theme'"
	passed=$((passed + $(grep -c '^ok ' "$work/lines$theme")))
	while read -r line; do
		fail "${line#FAIL }"
	done < <(grep '^FAIL ' "$work/lines$theme")
done
light=$(grep '^theme ' "$work/lines1")
dark=$(grep '^theme ' "$work/lines0")
check "light theme: dark text on white ($light)" \
	"[ '$light' = 'theme light rgb(255, 255, 255) rgb(27, 31, 36) rgb(213, 217, 222)' ]"
check "dark theme: light text on dark ($dark)" \
	"[ '$dark' = 'theme dark rgb(20, 23, 28) rgb(228, 231, 235) rgb(59, 66, 76)' ]"

[ $failed = 0 ] || cat "$work"/stderr? | tail -n 5
echo "$passed passed, $failed failed"
[ $failed = 0 ]
