# SPDX-License-Identifier: MIT
"""Part "scale" of `make bench`: many threads, processes and paths at one time, a hundred million spans, and how many
records a second the loader takes. tests/live/test_scale.py and test_rows.py have the same with exact counts."""
import json
import os
import re
import subprocess
import time

from figures import BenchError
from tracers import wait_end

# What `many` does, and how many spans that is.
PATHS = sum(18**level for level in range(1, 5))
MANY = [
    ("10,000 threads at once", ["crowd", "10000", "10"], 200000),
    ("1,000 processes at once", ["processes", "1000", "100"], 200000),
    (f"{PATHS:,} paths", ["paths", "4", "2"], 2 * PATHS),
]
MEMORY_PATHS = sum(18**level for level in range(1, 4))
# Threads and paths of bench_reader; the first is what spans_gen makes for the part "recordings".
READERS = [(4, 1000, 10), (1, 10, None), (16, 1000, None)]


def run_many(output, scratch, work, options):
    """spantrace on `many`: seconds, the peak of spantrace in MiB, its result."""
    path = os.path.join(scratch, "many.json")
    begin = time.monotonic()
    process = subprocess.Popen([os.path.join(output, "spantrace"), "-q", "-o", "json:" + path, *options, "--",
                                os.path.join(output, "programs", "many"), *work], stdout=subprocess.DEVNULL)
    peak = wait_end(process)
    seconds = time.monotonic() - begin
    if process.returncode:
        raise BenchError(f"many {' '.join(work)}: status {process.returncode}")
    with open(path, encoding="utf-8") as file:
        return seconds, peak / 1024, json.load(file)


def print_many(table, output, scratch):
    table.head("many at one time", "traced", "untraced", "", "", "")
    for text, work, spans in MANY:
        begin = time.monotonic()
        subprocess.run([os.path.join(output, "programs", "many"), *work], check=True, stdout=subprocess.DEVNULL)
        alone = time.monotonic() - begin
        for way, options in ("added up", []), ("streamed", ["--stream"]):
            seconds, peak, result = run_many(output, scratch, work, options)
            counted = sum(row["count"] for row in result["paths"])
            if counted != spans:
                raise BenchError(f"{text}: {counted} of {spans} spans; lost {result['losses']}")
            table.value(f"{text}, {way}", seconds, "s", beside=alone)
            table.value("  peak RSS, rings and report included", peak, "MiB", digits=1)


def anonymous_peak(process):
    """Until PROCESS has ended: the most KiB that it had without files and rings."""
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                found = re.search(r"^RssAnon:\s*(\d+)", file.read(), re.MULTILINE)
        except OSError:
            break
        peak = max(peak, int(found[1]) if found else 0)
        time.sleep(0.01)
    process.wait()
    return peak


def print_memory(table, spans, output, scratch):
    times = -(-spans // MEMORY_PATHS)
    path = os.path.join(scratch, "memory.json")
    process = subprocess.Popen([os.path.join(output, "spantrace"), "-q", "--stream", "-o", "json:" + path, "--",
                                os.path.join(output, "programs", "many"), "paths", "3", str(times)],
                               stdout=subprocess.DEVNULL)
    peak = anonymous_peak(process)
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    counted = sum(row["count"] for row in result["paths"])
    if process.returncode or counted + sum(result["losses"].values()) != times * MEMORY_PATHS:
        raise BenchError(f"{counted} of {times * MEMORY_PATHS} spans; lost {result['losses']}")
    table.head("loader, streamed", "", "", "", "budget", "")
    table.value(f"memory, {times * MEMORY_PATHS / 1e6:.0f} M spans of {MEMORY_PATHS:,} paths", peak / 1024, "MiB", 64, digits=1)


def print_reader(table, output):
    table.head("reader, one core of CPU time", "", "", "", "budget", "")
    for threads, paths, budget in READERS:
        done = subprocess.run([os.path.join(output, "bench", "bench_reader"), str(threads), str(paths)], check=True,
                              capture_output=True, text=True)
        table.rate(f"{threads} threads, {paths:,} paths each", float(done.stdout), "records/s", budget)


def bench_scale(table, memory_spans, output, scratch):
    print_reader(table, output)
    print_many(table, output, scratch)
    print_memory(table, memory_spans, output, scratch)
