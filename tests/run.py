#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every test and prints the sum: `run.py OUTPUT [PART]…`, PART being some of unit, asan, fuzz, scripts, live,
lint; all by default.

  unit     OUTPUT/unit/test_X         cmocka programs
  asan     OUTPUT/asan/unit/test_X    the same under the sanitizers
  fuzz     OUTPUT/asan/fuzz/fuzz_X    each with the arguments that tests/fuzz/X.args holds
  scripts  tests/unit/*.sh tests/live/*.sh
  live     tests/live/test_*.py       unittest
  lint     tests/lint.sh

What is left out because a tool is not on the machine is named and counted as skipped. Each test file has a time
limit; its output is shown only when it fails, and its end once more at the very end. As many as there are CPUs run at
a time, but for the live ones, which run alone: they look at the whole machine.

A live test file that fails is run once more, because the rest of the machine is not ours: what passes then is counted
as passed, and named at the end as one to look at, with its first failure. What fails twice has failed.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LIMIT = 900

passed = failed = skipped = 0
at_the_end = []  # [(heading, output)]
saying = threading.Lock()


def say(*args):
    with saying:
        say_alone(*args)


def say_alone(name, good, bad, left_out, seconds, output=""):
    global passed, failed, skipped
    passed, failed, skipped = passed + good, failed + bad, skipped + left_out
    print(f"  {'ok  ' if not bad else 'FAIL'} {name}: {good} passed, {bad} failed"
          f"{f', {left_out} skipped' if left_out else ''}  ({seconds:.1f} s)", flush=True)
    if bad and output:
        print_last(output, 80)
        at_the_end.append((f"FAIL {name}", output))
    elif left_out:
        for line in output.splitlines():
            if "left out" in line or "skipped" in line:
                print("       " + line.strip())


def print_last(output, lines):
    print("\n".join("       " + line for line in output.splitlines()[-lines:]), flush=True)


def execute(command):
    """Exit status, output, seconds."""
    begin = time.time()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                              cwd=ROOT, timeout=LIMIT)
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        status, output = -1, (late.stdout or b"") + f"\nno end after {LIMIT} s".encode()
    return status, output.decode(errors="replace"), time.time() - begin


def run_cmocka(path):
    status, output, seconds = execute([path])
    good = sum(map(int, re.findall(r"\[  PASSED  \] (\d+) test", output)))
    bad = sum(map(int, re.findall(r"\[  FAILED  \] .*?(\d+) test", output)))
    if status and not bad or not good and not bad:
        bad = 1
    say(os.path.relpath(path, ROOT), good, bad, 0, seconds, output)


def cmocka_jobs(folder):
    paths = sorted(path for path in glob.glob(folder + "/test_*") if "." not in os.path.basename(path))
    if not paths:
        say("no cmocka programs were built in " + folder, 0, 1, 0, 0)
    return [(run_cmocka, path) for path in paths]


def fuzz_jobs(output):
    jobs = []
    for path in sorted(glob.glob(HERE + "/fuzz/*.args")):
        name = os.path.basename(path)[:-len(".args")]
        words = open(path).read().replace("OUTPUT", output).split()
        jobs.append((run_status, "fuzz/" + name, [f"{output}/asan/fuzz/{name}", *words]))
    return jobs


def script_jobs(folder):
    return [(run_closing_line, os.path.relpath(path, ROOT), ["bash", path])
            for path in sorted(glob.glob(f"{HERE}/{folder}/*.sh"))]


def run_side_by_side(jobs):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(*job) for job in jobs]:
            done.result()


def run_status(name, command):
    """A test whose exit status says it all."""
    status, output, seconds = execute(command)
    say(name, int(not status), int(bool(status)), 0, seconds, output)


def run_closing_line(name, command):
    """A test that ends with `N passed, N failed, N skipped`."""
    status, output, seconds = execute(command)
    line = re.findall(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", output)
    good, bad, left_out = (int(n or 0) for n in line[-1]) if line else (0, 0, 0)
    if status and not bad or not good and not bad and not left_out:
        bad = 1
    say(name, good, bad, left_out, seconds, output)


def run_live(path):
    name = os.path.relpath(path, ROOT)
    first = try_live(path)
    if not first[1]:
        say(name, *first)
        return
    print(f"  once more: {name}: {first[1]} failed  ({first[3]:.1f} s)", flush=True)
    print_last(first[4], 80)
    second = try_live(path)
    if not second[1]:
        at_the_end.append((f"passed at its second run: {name}", first[4]))
    say(name, *second)


def try_live(path):
    """Passed, failed, skipped, seconds, output."""
    status, output, seconds = execute([sys.executable, "-W", "ignore", "-m", "unittest", "discover", "-v", "-s",
                                       os.path.dirname(path), "-p", os.path.basename(path)])
    ran = re.search(r"Ran (\d+) tests?", output)
    bad = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", output)))
    left_out = sum(map(int, re.findall(r"skipped=(\d+)", output)))
    total = int(ran.group(1)) if ran else 0
    if (status and not bad) or not total:
        bad = bad or 1
    return max(total - bad - left_out, 0), bad, left_out, seconds, output


def main():
    output = os.path.join(ROOT, sys.argv[1])
    parts = sys.argv[2:] or ["unit", "asan", "fuzz", "scripts", "live", "lint"]
    os.environ["SPANTRACE_OUTPUT"] = output
    os.environ["LC_ALL"] = "C.UTF-8"
    begin = time.time()
    jobs = []
    # The long ones first, so that none of them is left alone at the end.
    if "fuzz" in parts:
        jobs += fuzz_jobs(output)
    if "lint" in parts:
        jobs.append((run_closing_line, "tests/lint.sh", ["bash", HERE + "/lint.sh", "all"]))
    if "scripts" in parts:
        jobs += script_jobs("unit")
    if "unit" in parts:
        jobs += cmocka_jobs(output + "/unit")
    if "asan" in parts:
        jobs += cmocka_jobs(output + "/asan/unit")
    run_side_by_side(jobs)
    if "scripts" in parts:
        for job in script_jobs("live"):
            job[0](*job[1:])
    if "live" in parts:
        if os.geteuid() != 0:
            say("live tests need root: run `sudo make check`", 0, 1, 0, 0)
        else:
            for path in sorted(glob.glob(HERE + "/live/test_*.py")):
                run_live(path)
    for heading, text in at_the_end:
        print(heading)
        print_last(text, 25)
    print(f"in {time.time() - begin:.0f} s")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


main()
