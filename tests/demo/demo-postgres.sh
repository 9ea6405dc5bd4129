#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo with an unmodified PostgreSQL: distributions build it with its markers in. Makes a cluster of its own in a
# temporary directory, on a unix socket only; the services and data of this machine are not touched. As root, after
# make; takes some ten seconds and leaves its results in .output/demo/.
set -eu
cd "$(dirname "$0")/../.."
. tests/demo/lib.sh

dir=
bench=
unset PGDATA PGHOST PGPORT PGUSER PGDATABASE PGOPTIONS PGSERVICE PGPASSWORD PGSSLMODE

# as_owner CMD…: as the user who owns the cluster, since PostgreSQL does not run as root.
as_owner() (
	cd "$dir"
	if command -v setpriv >/dev/null; then
		exec setpriv --reuid "$owner" --regid "$(id -g "$owner")" --clear-groups -- "$@"
	elif command -v runuser >/dev/null; then
		exec runuser -u "$owner" -- "$@"
	else
		exec su -s /bin/sh -c 'exec "$0" "$@"' -- "$owner" "$@"
	fi
)

cleanup() {
	status=$?
	trap - EXIT
	if [ -n "$bench" ]; then
		kill "$bench" 2>/dev/null || :
		wait "$bench" 2>/dev/null || :
	fi
	if [ -n "$dir" ]; then
		if [ $status = 1 ] && [ -s "$dir/log" ]; then
			say "the end of the server's log:" >&2
			tail -5 "$dir/log" >&2
		fi
		if [ -e "$dir/data/postmaster.pid" ]; then
			as_owner "$bin/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1 || :
		fi
		rm -rf "$dir"
	fi
	exit $status
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

need_build "$spantrace"

# The newest one. What stands in Debian's /usr/bin is a wrapper that wants a cluster of the system's.
bin=
for candidate in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) /usr/pgsql-*/bin /usr/bin; do
	if [ -x "$candidate/postgres" ] && [ -x "$candidate/initdb" ] && [ -x "$candidate/pgbench" ]; then
		bin=$candidate
		break
	fi
done
[ -n "$bin" ] || fail "no PostgreSQL server with initdb and pgbench here: apt-get install postgresql"
"$spantrace" list "$bin/postgres" | grep -q 'postgresql:query' ||
	fail "$bin/postgres was built without its markers (--enable-dtrace)"
owner=postgres
id -u $owner >/dev/null 2>&1 || owner=nobody
rm -f "$results"/postgres*

step "1. A PostgreSQL of its own"
say "$("$bin/postgres" --version), as the distribution built it"
# Not in TMPDIR: the path of a unix socket has 107 bytes at most.
dir=$(mktemp -d /tmp/spantrace-demo.XXXXXX)
chmod 711 "$dir"
mkdir "$dir/data"
: >"$dir/log"
chown "$owner" "$dir" "$dir/data" "$dir/log"
as_owner "$bin/initdb" -D "$dir/data" -U demo -A trust -E UTF8 --no-locale -N >"$dir/setup" 2>&1 ||
	fail "initdb failed: $(tail -3 "$dir/setup")"
cat >>"$dir/data/postgresql.conf" <<-END
	listen_addresses = ''
	unix_socket_directories = '$dir'
	shared_buffers = 32MB
	fsync = off
END
as_owner "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w start >/dev/null || fail "the server did not start"
postmaster=$(head -n 1 "$dir/data/postmaster.pid")
as_owner "$bin/pgbench" -h "$dir" -U demo -i -q postgres >"$dir/setup" 2>&1 ||
	fail "pgbench -i failed: $(tail -3 "$dir/setup")"

step "2. Its queries, from outside"
say "-p names the postmaster: the processes that it forks for each connection are traced with it."
say "-x leaves out the light-weight locks: more than a hundred markers in each transaction."
set -- "$bin/pgbench" -h "$dir" -U demo -n -M simple -c 2 -T 3 postgres
show sleep 1 '&&' "$@" '&'
{
	sleep 1
	as_owner "$@"
} >"$dir/pgbench" 2>&1 &
bench=$!
trace -p "$postmaster" -d 6s -x 'postgresql:lwlock__*' \
	-o - -o "flamegraph:$results/postgres.svg" -o "json:$results/postgres.json"
wait "$bench" || fail "pgbench failed: $(tail -3 "$dir/pgbench")"
bench=
need_results "$results/postgres.svg" "$results/postgres.json"
queries=$(count_spans "$results/postgres.json" '"postgresql:query"')
counted=$(count_spans "$results/postgres.json" '"postgresql:query", "postgresql:transaction"')
processed=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$dir/pgbench")
say
say "$queries queries. pgbench made $processed transactions by its own count; spantrace counted $counted, with those"
say "that pgbench begins with. A transaction begins in one query and ends in another: it has a wall time of its own."
[ "$queries" -gt 0 ] || fail "there are no spans of PostgreSQL"

step "What next"
say "The flame graph: open $results/postgres.svg in a web browser. Click on a frame to zoom in, Ctrl-F finds."
say
hint "$spantrace list $bin/postgres" "all that it can show"
hint "sudo $spantrace -p PID -d 10s" "a server of yours: PID stands in the first line of its postmaster.pid"
hint "README.md" "all the rest"
