#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo: traces the example server usdt/server.c, once from its first instruction and once while it runs. As root,
# after make; takes some ten seconds and leaves its results in .output/demo/.
set -eu
cd "$(dirname "$0")/../.."
. tests/demo/lib.sh

server=$output/usdt/server
requests=3000
pid=

cleanup() {
	status=$?
	trap - EXIT
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	fi
	exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

need_build "$spantrace" "$server"
rm -f "$results"/server*

step "1. A program from its first instruction to its end"
say "The server in usdt/server.c names its spans in the source: SPAN_SCOPE(server, lookup), for one."
say "Each is a nop until spantrace looks. The lines before the table are the server's own counts."
trace -o - -o "json:$results/server-start.json" -- "$server" --requests $requests
need_results "$results/server-start.json"
counted=$(count_spans "$results/server-start.json" '"server:request"')
say
say "The server served $requests requests; spantrace counted $counted."
[ "$counted" = $requests ] || fail "those two should be equal"

step "2. A program that runs already, for five seconds"
say "Nothing is restarted, and the server does not notice."
show "$server" --seconds 60 '&'
"$server" --seconds 60 >"$results/server.log" 2>&1 &
pid=$!
sleep 1
is_running $pid || fail "the server ended early: see $results/server.log"
trace -p $pid -d 5s -o - -o "flamegraph:$results/server.svg" -o "json:$results/server.json"
need_results "$results/server.svg" "$results/server.json"
counted=$(count_spans "$results/server.json" '"server:request"')
say
say "$counted requests in five seconds. wall is how long async spans lived, busy the time that spans were worked on,"
say "self that without the spans inside, cpu the part of busy on a CPU: the rest was waiting, as in server:wait."
[ "$counted" -gt 0 ] || fail "there are no spans of the server"
is_running $pid || fail "the server ended while it was traced: see $results/server.log"
kill "$pid"
wait "$pid" || fail "the server ended with status $?: see $results/server.log"
pid=

step "What next"
say "The flame graph: open $results/server.svg in a web browser. Click on a frame to zoom in, Ctrl-F finds."
say "The numbers for other programs: $results/server.json"
say
hint "$spantrace list $server" "what a program can show: markers, spans and events"
hint "sudo make demo-postgres" "an unmodified PostgreSQL"
hint "#include <spantrace.h>" "your own program: see usdt/server.c, and the top of usdt/spantrace.h"
hint "README.md" "all the rest"
