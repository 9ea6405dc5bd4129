#!/bin/bash
# SPDX-License-Identifier: MIT
# JSON and folded stacks read back with Python's own parser: every key where the README says it is, the
# right types, names unbroken, weights that add up. Needs no root.
#
#   PROFILE_GEN=PROGRAM tests/live/test_json.sh    (default .output/programs/profile_gen)
set -u
cd "$(dirname "$0")/../.." || exit 1
generate=${PROFILE_GEN:-.output/programs/profile_gen}
if ! [ -x "$generate" ]; then
	echo "no $generate: make test-programs"
	echo "0 passed, 1 failed"
	exit 1
fi
exec python3 - "$generate" <<'END'
import json
import re
import subprocess
import sys

passed = failed = 0


def check(name, good):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAIL", name)


def make(form, shape, frames):
    return subprocess.run([sys.argv[1], form, shape, str(frames)], check=True, stdout=subprocess.PIPE).stdout


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a key stands twice: " + " ".join(keys))
    return dict(pairs)


TOP = ["schema", "version", "target", "duration_ns", "clock", "kernel", "paths", "events", "losses", "refused"]
PATH = ["pid", "tid", "comm", "path", "labels", "count", "abandoned", "open", "wall_ns", "busy_ns", "idle_ns",
        "self_ns", "cpu_ns", "self_cpu_ns", "run_delay_ns", "blocked_ns", "vol_switches", "invol_switches",
        "minor_faults", "major_faults", "min_ns", "max_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns"]

for shape, frames in (("empty", 0), ("tree", 1), ("tree", 2000), ("deep", 1000), ("wide", 1000), ("odd", 60)):
    name = f"{shape} {frames}"
    raw = make("json", shape, frames)
    data = json.loads(raw, object_pairs_hook=unique)
    check(f"{name}: keys", list(data) == TOP and data["schema"] == 1)
    check(f"{name}: rows", len(data["paths"]) == frames)
    check(f"{name}: a line for each", raw.count(b'\n\t\t{"pid"') == frames)
    check(f"{name}: row keys", all(list(row) == PATH for row in data["paths"]))
    check(f"{name}: integers", all(type(row[key]) is int for row in data["paths"] for key in PATH
                                   if key not in ("comm", "path", "labels")))
    check(f"{name}: in order", all(row["min_ns"] <= row["p50_ns"] <= row["p90_ns"] <= row["p99_ns"]
                                   <= row["p999_ns"] <= row["max_ns"] for row in data["paths"]))
    check(f"{name}: same again", raw == make("json", shape, frames))
    if shape == "deep":
        check("deep: longest path", max(len(row["path"]) for row in data["paths"]) == frames)

    lines = make("folded,empty_samples=0", shape, frames).decode().split("\n")
    check(f"{name}: folded ends in a line end", lines.pop() == "")
    parsed = [re.fullmatch(r"([^\x00-\x1f\x7f]+) ([1-9][0-9]*)", line) for line in lines]
    check(f"{name}: folded lines", all(parsed))
    check(f"{name}: folded weights add up",
          sum(int(line[2]) for line in parsed) == sum(row["self_ns"] for row in data["paths"]))
    check(f"{name}: folded stacks are told once", len({line[1] for line in parsed}) == len(parsed))
    # What a reader of differential profiles would take for a second weight.
    check(f"{name}: folded has one weight", not any(re.search(r" [0-9.]+$", line[1]) for line in parsed))

names = {frame for row in json.loads(make("json", "odd", 60))["paths"] for frame in row["path"]}
for odd in ("app:<script>alert(1)</script>", "app:a;b;c", "app:quotes \" ' and & in it", "app:two\nlines\tand a tab",
            "app:bad \ufffd\ufffd utf-8 \ufffd\ufffd", "app:esc \x1b[31m red", "app:日本語の名前", "app:back\\slash",
            "app:", "app:naïve µs 🔥", "app:" + "x" * 10000):
    check("odd name " + repr(odd[:40]), odd in names)

print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
END
