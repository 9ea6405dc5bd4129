#!/bin/bash
# SPDX-License-Identifier: MIT
# Flame graphs, flame charts and the HTML page in a browser: search, sort, zoom, links, keys, details, themes, window
# width, hostile names, 10,000 frames deep, 50,000 in all, a million spans, as a picture. The checks are in flamegraph.html
# and page.html; this makes the files and starts Chromium, once in each theme. Needs no root.
#
#   SPANTRACE_OUTPUT=DIRECTORY tests/live/test_browser.sh    (default .output)
set -u
cd "$(dirname "$0")/../.." || exit 1
output=${SPANTRACE_OUTPUT:-.output}
generate=$output/programs/profile_gen
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

make_file flamechart tree 20 tree.chart.svg
make_file flamechart,value=cpu odd 30 odd.chart.svg
make_file flamechart async 500 async.chart.svg
make_file flamechart deep 10000 deep.chart.svg
make_file flamechart tree 1 one.chart.svg
make_file flamechart empty 0 empty.chart.svg
for shape in "tree 20 tree" "odd 30 odd" "async 500 async" "tree 1 one" "empty 0 empty" "deep 10000 deep" \
	"tree 50000 large"; do
	read -r name frames file <<<"$shape"
	make_file html "$name" "$frames" "$file.html"
done
"$output/programs/spans_gen" 1000000 4 50 8 7 "$work/million.spans" >"$work/sums" || fail "spans_gen"
"$output/programs/spans_gen" 2000 3 20 6 9 "$work/base.spans" >"$work/sums" || fail "spans_gen"
"$output/programs/spans_gen" 3000 3 20 6 7 "$work/change.spans" >"$work/sums" || fail "spans_gen"
"$output/spantrace" export "$work/million.spans" -o "$work/million.chart.svg" -o "$work/million.html" || fail "export"
"$output/spantrace" diff "$work/base.spans" "$work/change.spans" -o "flamegraph:$work/diff.svg" || fail "diff"

for file in "$work"/*.html; do
	check "$(basename "$file") loads nothing" "! grep -aq 'href\|url(\|@import\|src=' '$file'"
	check "$(basename "$file") has a policy" "grep -aq \"default-src 'none'\" '$file'"
done
check "a million spans stay below 16 MB" "[ $(stat -c %s "$work/million.html") -lt 16000000 ]"
check "their flame chart stays below 10 MB" "[ $(stat -c %s "$work/million.chart.svg") -lt 10000000 ]"
for file in "$work"/*.svg; do
	check "$(basename "$file") is XML" "python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' '$file'"
	check "$(basename "$file") loads nothing" "! grep -q 'href\|url(\|@import\|src=' '$file'"
done
check "50,000 frames stay below 5 MB" "[ $(stat -c %s "$work/big.svg") -lt 5000000 ]"
check "50,000 narrow frames stay below 100 kB" "[ $(stat -c %s "$work/wide.svg") -lt 100000 ]"

# Prints page $1 after its script has run, in theme $2 (0: dark, 1: light), on the files $3.
browse() {
	timeout 300 "$chromium" --headless --no-sandbox --disable-gpu --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$work/profile$2" --allow-file-access-from-files --disable-dev-shm-usage \
		--window-size=1100,800 --blink-settings=preferredColorScheme="$2" ${4:+"$4"} --dump-dom \
		"file://$work/$1?$3" 2>"$work/stderr$2" |
		sed -n '/<pre/,/<\/pre>/p' | sed 's/.*<pre[^>]*>//; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}

# The lines of page $1 in theme $2 on the files $3.
judge() {
	browse "$1" "$2" "$3" --virtual-time-budget=60000 >"$work/lines$2"
	check "$1 ran to its end in theme $2" "grep -qx end '$work/lines$2'"
	passed=$((passed + $(grep -c '^ok ' "$work/lines$2")))
	while read -r line; do
		fail "$1: ${line#FAIL }"
	done < <(grep '^FAIL ' "$work/lines$2")
}

cp tests/live/flamegraph.html tests/live/page.html tests/live/opening.html tests/live/browser.js "$work/"
for theme in 1 0; do
	judge page.html $theme tree.html,odd.html,async.html,million.html,one.html,empty.html,deep.html,large.html
	judge flamegraph.html $theme tree.svg,odd.svg,deep.svg,big.svg,tree.chart.svg,million.chart.svg,diff.svg
done
light=$(grep '^theme ' "$work/lines1")
dark=$(grep '^theme ' "$work/lines0")
check "light theme: dark text on white ($light)" \
	"[ '$light' = 'theme light rgb(255, 255, 255) rgb(27, 31, 36) rgb(213, 217, 222)' ]"
check "dark theme: light text on dark ($dark)" \
	"[ '$dark' = 'theme dark rgb(20, 23, 28) rgb(228, 231, 235) rgb(59, 66, 76)' ]"
# How long it took is told, and judged only where something is wrong: the machine may be busy.
browse opening.html 1 million.html >"$work/opening"
grep '^open' "$work/opening"
check "a million spans open within 20 s" "grep -qx 'good' '$work/opening'"

[ $failed = 0 ] || cat "$work"/stderr? | tail -n 5
echo "$passed passed, $failed failed"
[ $failed = 0 ]
