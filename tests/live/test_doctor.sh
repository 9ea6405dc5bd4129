#!/bin/bash
# SPDX-License-Identifier: MIT
# `spantrace doctor` on this machine: as root it can trace, as nobody it cannot and says what to do;
# in a PID or user namespace it says which; its JSON agrees with its text; it is quick.
#
#   tests/live/test_doctor.sh        needs root; SPANTRACE=PROGRAM: not .output/spantrace
set -u
cd "$(dirname "$0")/../.." || exit 1
spantrace=${SPANTRACE:-.output/spantrace}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tests=0 failed=0

[ "$(id -u)" = 0 ] || { echo "test_doctor: needs root: run it with sudo"; exit 1; }
[ -x "$spantrace" ] || { echo "test_doctor: no $spantrace: run make first"; exit 1; }
# A copy that nobody can reach, wherever the tree stands.
chmod 755 "$work" && cp "$spantrace" "$work/spantrace" && chmod 755 "$work/spantrace" || exit 1

# check NAME COMMAND…: the command succeeds.
check() {
	tests=$((tests + 1))
	if "${@:2}"; then
		echo "ok: $1"
	else
		echo "FAIL: $1"
		failed=$((failed + 1))
	fi
}

# run NAME COMMAND…: its stdout in NAME.out, its stderr in NAME.err, its status in $status.
run() {
	"${@:2}" >"$work/$1.out" 2>"$work/$1.err"
	status=$?
}

# says NAME STATE FACT [TEXT]: a line for FACT in that state, with TEXT in it.
says() {
	grep -E "^$2 +$3 " "$work/$1.out" | grep -qF -- "${4:-}"
}

# verdict NAME TEXT: the last line begins so.
verdict() {
	[[ $(tail -n 1 "$work/$1.out") == "$2"* ]]
}

# agree.py JSON TEXT METHOD: the two reports say the same, and name METHOD.
cat >"$work/agree.py" <<'PY'
import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
text = open(sys.argv[2], encoding="utf-8").read().splitlines()
assert report["schema"] == 1 and report["version"], report
assert report["traces_by"] == sys.argv[3], report["traces_by"]
assert report["verdict"] == text[-1], (report["verdict"], text[-1])
facts = [tuple(line.split(None, 2)) for line in text[:-2]]
assert facts == [(f["state"], f["name"], f["text"]) for f in report["facts"]]
PY

nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups "$work/spantrace")

# --- root -----------------------------------------------------------------------------------------

# Versions are for tests: the program itself asks the kernel.
if [ "$(printf '%s\n' 6.6 "$(uname -r)" | sort -V | head -n 1)" = 6.6 ]; then
	by=uprobe_multi words=uprobe_multi state=ok
else
	by=uprobe_perf words="perf-event uprobes" state=warning
fi

start=$(date +%s%N)
run root "$work/spantrace" doctor
took=$((($(date +%s%N) - start) / 1000000))
check "root: exit status 0" [ "$status" = 0 ]
check "root: nothing on stderr" [ ! -s "$work/root.err" ]
check "root: uprobe_multi is $state" says root $state uprobe_multi
check "root: BTF is ok" says root ok kernel_btf
check "root: nothing is missing" [ "$(grep -c ^missing "$work/root.out")" = 0 ]
check "root: names the running kernel" says root ok kernel "$(uname -r)"
check "root: the verdict" verdict root "spantrace can trace here, by $words"
check "root: it took $took ms, at most 1000" [ "$took" -le 1000 ]

run root_json "$work/spantrace" doctor --json
check "root, JSON: exit status 0" [ "$status" = 0 ]
check "root, JSON: parses and agrees with the text" \
	python3 "$work/agree.py" "$work/root_json.out" "$work/root.out" "$by"

# --- who must not ---------------------------------------------------------------------------------

run nobody "${nobody[@]}" doctor
check "nobody: exit status 1" [ "$status" = 1 ]
check "nobody: nothing on stderr" [ ! -s "$work/nobody.err" ]
check "nobody: capabilities are missing, and what to do" \
	says nobody missing capabilities "run it with sudo, or give it CAP_BPF, CAP_PERFMON"
check "nobody: what only BPF can tell is not called absent" \
	says nobody warning uprobe_multi "not known"
check "nobody: the verdict" verdict nobody "spantrace cannot trace here: not root: run it with sudo"
run nobody_json "${nobody[@]}" doctor --json
check "nobody, JSON: exit status 1" [ "$status" = 1 ]
check "nobody, JSON: parses and agrees with the text" \
	python3 "$work/agree.py" "$work/nobody_json.out" "$work/nobody.out" nothing

run part setpriv --bounding-set -perfmon,-sys_admin --inh-caps -all "$work/spantrace" doctor
check "root without CAP_PERFMON: exit status 1" [ "$status" = 1 ]
check "root without CAP_PERFMON: it is named" \
	says part missing capabilities "root without CAP_PERFMON:"

# The two capabilities that it asks for are enough for uprobe_multi. Perf-event uprobes want a third
# in newer and updated kernels: then it says so.
run caps setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps +bpf,+perfmon \
	--ambient-caps +bpf,+perfmon "$work/spantrace" doctor
if [ "$by" = uprobe_perf ] && [ "$status" = 1 ]; then
	check "nobody with CAP_BPF and CAP_PERFMON: the verdict says what else" \
		verdict caps "spantrace cannot trace here: perf-event uprobes need CAP_SYS_ADMIN"
else
	check "nobody with CAP_BPF and CAP_PERFMON: exit status 0" [ "$status" = 0 ]
fi
check "nobody with CAP_BPF and CAP_PERFMON: a warning about other processes" \
	says caps warning other_processes "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"

# --- where it cannot work -------------------------------------------------------------------------

run pid_ns unshare --pid --fork "$work/spantrace" doctor
check "PID namespace without its /proc: exit status 1" [ "$status" = 1 ]
check "PID namespace without its /proc: it is named, and what to do" \
	says pid_ns missing pid_namespace "mount -t proc"
run own_proc unshare --pid --fork --mount-proc "$work/spantrace" doctor
check "PID namespace: exit status 0" [ "$status" = 0 ]
check "PID namespace: it is named" says own_proc ok pid_namespace "a container's"
if unshare --user --map-root-user true 2>/dev/null; then
	run user_ns unshare --user --map-root-user "$work/spantrace" doctor
	check "user namespace: exit status 1" [ "$status" = 1 ]
	check "user namespace: it is named" \
		says user_ns missing user_namespace "root of the machine"
else
	echo "left out: the kernel gives this process no user namespace (in a chroot it never does)"
fi

# --- usage ----------------------------------------------------------------------------------------

run help "$work/spantrace" doctor --help
check "--help: exit status 0" [ "$status" = 0 ]
check "--help: the usage" grep -q '^usage: spantrace doctor' "$work/help.out"
run option "$work/spantrace" doctor --no-such
check "an unknown option: exit status 2" [ "$status" = 2 ]
check "an unknown option: it is named" grep -qF -- '"--no-such"' "$work/option.err"
run word "$work/spantrace" doctor word
check "one word too many: exit status 2" [ "$status" = 2 ]
check "a full disk: exit status 1" bash -c '"$0" doctor >/dev/full 2>/dev/null; [ $? = 1 ]' \
	"$work/spantrace"

echo "$((tests - failed)) passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
