#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What spantrace costs: `make bench`, as root.

    tests/bench/bench.py [--quick] [--strict] [--markdown] [--readme] [--only PART] OUTPUT      OUTPUT is the build tree

Part "probes", here: every cost is a ratio to what the kernel itself takes for the same probe hits,
measured in the same run: an empty BPF program on the same sites of the same process. The tracers take
turns, round by round, and each number is the least of all rounds, so that other work on the machine
falls out. Part "scale", in scale.py: many threads, processes and paths, and what the loader takes for
them. Part "recordings", in recordings.py: exports, reports and diffs, beside measureme's own tools; it
needs no root. Part "allocations", in allocations.py: what a malloc costs. Part "peers", in peers.py:
other tracers on one loop.

Exit status: 0 measured, whatever the verdicts; with --strict 1 when a budget is not met; 2 failed.
"""
import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time

from allocations import print_allocations
from figures import BenchError, Least, Table, cpu_model
from peers import bench_peers
from recordings import bench_recordings
from scale import bench_scale
from tracers import Bpftrace, Empty, Loop, Spantrace, WholeMachine

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORKS = ["thread", "labels", "event", "async", "nested", "recursive"]
PARTS = ["probes", "recordings", "allocations", "scale", "peers"]
ATTACH_SITES = [10, 1000, 10000]
# Calls the spans of the work "labels" by their path.
NAMING = """provider bench
span labelled
	start labelled__enter
	end labelled__exit
	name "labelled " string(arg1)
"""


class Plan:
    """How long each thing is measured."""

    def __init__(self, quick):
        self.rounds = 3 if quick else 8
        self.run_ms = 100 if quick else 250
        self.memory_spans = 5000000 if quick else 100000000
        self.loader_rounds = 1 if quick else 3
        self.loader_ms = 1000 if quick else 2000
        self.attach_rounds = 1 if quick else 2
        self.recorded_spans = 1000000 if quick else 10000000
        self.recorded_rounds = 2 if quick else 3
        self.peers_spans = 200000 if quick else 1000000
        self.peers_rounds = 2 if quick else 3


def one_round(least, plan, output, loop, scratch, with_bpftrace):
    """Every tracer once on the same process."""
    def measure(tracer, work, threads=1):
        least.add((tracer, work, threads), loop.run(work, plan.run_ms, threads)[1])

    two = len(loop.cpus) > 1
    for work in ["none", "thread", "labels", "async"]:
        measure("nobody", work)
    with Empty(output, loop) as empty:
        for work in WORKS:
            measure("empty", work)
        if two:
            measure("empty", "thread", 2)
    lost = 0
    with Spantrace(output, loop, scratch) as spantrace:
        for work in WORKS:
            measure("spantrace", work)
        if two:
            measure("spantrace", "thread", 2)
    lost += spantrace.lost
    with Spantrace(output, loop, scratch, "--stream") as spantrace:
        for work in ["thread", "async"]:
            measure("streamed", work)
    lost += spantrace.lost
    with Spantrace(output, loop, scratch, "-m", "wall") as spantrace:
        measure("wall", "thread")
    lost += spantrace.lost
    # What is not left out is one span in a thousand million: what it costs to leave one out.
    with Spantrace(output, loop, scratch, "--sample", "0.000000001") as spantrace:
        for work in ["thread", "async", "nested"]:
            measure("unsampled", work)
    with Spantrace(output, loop, scratch, "--max-overhead", "100%") as spantrace:
        measure("metered", "thread")
    lost += spantrace.lost
    with Spantrace(output, loop, scratch, "--by", "path") as spantrace:
        measure("by", "labels")
    lost += spantrace.lost
    rules = os.path.join(scratch, "naming.rules")
    with open(rules, "w", encoding="utf-8") as file:
        file.write(NAMING)
    with Spantrace(output, loop, scratch, "--rules", rules) as spantrace:
        measure("named", "labels")
    lost += spantrace.lost
    if with_bpftrace:
        with Bpftrace(loop, scratch):
            measure("bpftrace", "thread")
    return lost, empty.method


def print_hits(table, least):
    table.head("ns a span, min", "spantrace", "empty", "ratio", "budget", "")
    rows = [
        ("thread span, streamed", "streamed", "thread", 1, 1.20),
        ("thread span, added up in the kernel", "spantrace", "thread", 1, 1.15),
        ("  wall only (-m wall)", "wall", "thread", 1, None),
        ("  unsampled (--sample)", "unsampled", "thread", 1, None),
        ("  hits counted (--max-overhead)", "metered", "thread", 1, None),
        ("  ten nested in each other", "spantrace", "nested", 1, 1.20),
        ("  … unsampled", "unsampled", "nested", 1, None),
        ("  ten of the same, recursive", "spantrace", "recursive", 1, None),
        ("  two threads, the loader beside them", "spantrace", "thread", 2, None),
        ("  two labels that nobody asks for", "spantrace", "labels", 1, None),
        ("  two labels, a string asked for (--by)", "by", "labels", 1, None),
        ("  called by a string of theirs", "named", "labels", 1, None),
        ("async span: new, enter, exit, close", "spantrace", "async", 1, 1.40),
        ("  streamed", "streamed", "async", 1, None),
        ("  unsampled", "unsampled", "async", 1, None),
        ("event: one hit", "spantrace", "event", 1, None),
    ]
    for text, tracer, work, threads, budget in rows:
        table.ratio(text, least.get(tracer, work, threads), least.get("empty", work, threads),
                    budget)

    table.head("ns a span, min", "spantrace", "bpftrace", "ratio", "budget", "")
    if least.get("bpftrace", "thread", 1) is None:
        print("left out: bpftrace is not installed")
    for text, tracer in [("thread span, streamed", "streamed"),
                         ("thread span, added up in the kernel", "spantrace")]:
        table.ratio(text, least.get(tracer, "thread", 1), least.get("bpftrace", "thread", 1), 0.75)

    table.head("ns a span, min", "2 threads", "1 thread", "ratio", "budget", "")
    table.ratio("thread span, added up in the kernel", least.get("spantrace", "thread", 2),
                least.get("spantrace", "thread", 1), 1.10)

    table.head("nobody attached", "a span", "", "", "budget", "")
    base = least.get("nobody", "none", 1)
    for text, work in [("thread span", "thread"), ("thread span with two labels", "labels"),
                       ("async span", "async")]:
        table.value(text, max(0.0, least.get("nobody", work, 1) - base), "ns", 1)


def lane_rounds(plan, output, scratch, cpu):
    """The batched lane: the same loop built for it, beside the two looks at the clock that a program which keeps its
    own times has for a span."""
    least, lost = Least(), 0
    for _ in range(plan.rounds):
        for clock in ["", "_tsc"]:
            with Loop(os.path.join(output, "bench", "bench_lane" + clock), [cpu]) as loop:
                least.add(("clock",), loop.run("clock", plan.run_ms)[1])
                base = loop.run("none", plan.run_ms)[1]
                least.add(("nobody",), max(0.0, loop.run("thread", plan.run_ms)[1] - base))
                for mode in [[], ["--stream"]]:
                    with Spantrace(output, loop, scratch, *mode) as spantrace:
                        for work in ["thread", "pair", "nested", "event"]:
                            least.add((clock, work, *mode), loop.run(work, plan.run_ms)[1])
                    lost += spantrace.lost
    return least, lost


def print_lane(table, plan, output, scratch, cpu):
    least, lost = lane_rounds(plan, output, scratch, cpu)
    table.head("batched lane, ns a span, min", "spantrace", "2 clocks", "ratio", "budget", "")
    rows = [
        ("added up in the kernel", "thread", [], 1.50),
        ("  two kinds in turn", "pair", [], None),
        ("  ten nested in each other", "nested", [], None),
        ("  event", "event", [], None),
        ("single spans (--stream)", "thread", ["--stream"], 1.50),
        ("  two kinds in turn", "pair", ["--stream"], None),
        ("  ten nested in each other", "nested", ["--stream"], None),
        ("  event", "event", ["--stream"], None),
    ]
    for clock, note in [("", ""), ("_tsc", ", SPANTRACE_TSC")]:
        for text, work, mode, budget in rows:
            table.ratio(text + (note if budget else ""), least.get(clock, work, *mode), least.get("clock"), budget)
    table.value("nobody attached", least.get("nobody"), "ns", 1)
    print(f"records lost in the rounds, single spans of a core that does nothing else: {lost}")


def measure_loader(plan, output, loop, scratch, options):
    """What spantrace itself takes while one core does nothing but hits, in ns a record: unlike its
    share of a core, that does not fall when other work slows the target down."""
    cost, peak, anonymous, records, lost = Least(), 0, 0, 0, 0
    for _ in range(plan.loader_rounds):
        with Spantrace(output, loop, scratch, *options) as spantrace:
            for work in ["thread", "event"]:
                before = spantrace.cpu_s()
                spans, _ = loop.run(work, plan.loader_ms)
                cost.add((work,), (spantrace.cpu_s() - before) * 1e9 / spans)
                records += spans
            anonymous = max(anonymous, spantrace.anonymous_kib())
        peak = max(peak, spantrace.peak_kib)
        lost += spantrace.lost
    return cost, peak, anonymous, records, lost


def print_loader(table, least, plan, output, loop, scratch):
    for heading, tracer, options, budget in [("loader, streamed", "streamed", ["--stream"], 0.25),
                                             ("loader, added up in the kernel", "spantrace", [], 0.02)]:
        cost, peak, anonymous, records, lost = measure_loader(plan, output, loop, scratch, options)
        table.head(heading, "", "", "", "budget", "")
        for text, work in [("CPU at {:.2f} M spans/s from one core", "thread"),
                           ("CPU at {:.2f} M events/s", "event")]:
            rate = 1e9 / least.get(tracer if work == "thread" else "spantrace", work, 1)
            table.value(text.format(rate / 1e6), cost.get(work) * rate / 1e9, "core", budget, digits=3)
        table.value(f"records lost of {records / 1e6:.1f} M", lost, "", 0, digits=0)
        table.value("memory beyond the rings", anonymous / 1024, "MiB", digits=1)
        table.value("peak RSS, rings and report included", peak / 1024, "MiB", digits=1)


def print_bystander(table, plan, output, scratch, cpus):
    """A program without spans, while all of the machine is traced."""
    least = Least()
    program = os.path.join(scratch, "bystander")
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-DSPANTRACE_DISABLE",
                    "-I" + os.path.join(ROOT, "usdt"), os.path.join(ROOT, "tests/bench/bench_loop.c"), "-lpthread",
                    "-o", program], check=True)
    with Loop(program, cpus[:1]) as loop:
        for _ in range(plan.rounds):
            least.add("alone", loop.run("switch", plan.run_ms)[1])
            with WholeMachine(output, scratch):
                least.add("beside", loop.run("switch", plan.run_ms)[1])
    table.head("no spans in the program, min", "beside -a", "alone", "ratio", "budget", "")
    # Some hundredths are what the same program differs by from run to run.
    table.ratio("4 system calls and 2 switches", least.values["beside"], least.values["alone"], 1.02)


def build_sites(scratch, sites):
    """bench_loop with SITES more markers, two to a span. Returns its path."""
    header = os.path.join(scratch, f"sites{sites}.h")
    program = os.path.join(scratch, f"sites{sites}")
    with open(header, "w", encoding="utf-8") as file:
        for i in range(sites // 2):
            file.write(f"SPAN_ENTER(many, s{i});\nSPAN_EXIT(many, s{i});\n")
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu11", "-O1", "-D_GNU_SOURCE",
                    "-I" + os.path.join(ROOT, "usdt"), f'-DBENCH_SITES="{header}"',
                    os.path.join(ROOT, "tests/bench/bench_loop.c"), "-lpthread", "-o", program],
                   check=True)
    return program


def print_attach(table, plan, output, scratch, cpus, method):
    table.head("attach and detach", "spantrace", "empty", "", "budget", "")
    sizes = ATTACH_SITES
    if method != "uprobe_multi":
        # Perf events take a sixth of a second each.
        sizes = sizes[:1]
        print("left out: 1000 and 10000 sites, for want of uprobe_multi links (kernel 6.6)")
    for sites in sizes:
        least = Least()
        with Loop(build_sites(scratch, sites), cpus[:1]) as loop:
            for _ in range(plan.attach_rounds):
                with Empty(output, loop) as empty:
                    pass
                with Spantrace(output, loop, scratch) as spantrace:
                    time.sleep(0.3)
                if spantrace.result["duration_ns"] < 100e6 or spantrace.result["refused"]:
                    raise BenchError(f"{sites} sites: spantrace did not attach all of them in time")
                for name, tracer in [("empty", empty), ("spantrace", spantrace)]:
                    least.add((name, "attach"), tracer.attach_s)
                    least.add((name, "detach"), tracer.detach_s)
        for text, what in [("{} sites: start to first span", "attach"),
                           ("{} sites: Ctrl-C to end", "detach")]:
            table.value(text.format(sites), least.get("spantrace", what), "s",
                        1 if sites == sizes[-1] else None, least.get("empty", what))


def bench_probes(table, plan, output, scratch):
    # The last CPUs: the first one has most of the interrupts.
    cpus = sorted(os.sched_getaffinity(0), reverse=True)[:2]
    with_bpftrace = shutil.which("bpftrace") is not None
    least, lost = Least(), 0

    with Loop(os.path.join(output, "bench", "bench_loop"), cpus) as loop:
        for i in range(plan.rounds):
            if sys.stderr.isatty():
                print(f"\rround {i + 1} of {plan.rounds}", end="", file=sys.stderr, flush=True)
            more, method = one_round(least, plan, output, loop, scratch, with_bpftrace)
            lost += more
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        print(f"{method}; target on CPU {cpus[0]}, {plan.rounds} rounds")
        print_hits(table, least)
        print(f"\nrecords lost in the rounds: {lost}")
        if len(cpus) < 2:
            print("left out: two threads, for want of a second CPU")
        print_loader(table, least, plan, output, loop, scratch)
    print_bystander(table, plan, output, scratch, cpus)
    print_lane(table, plan, output, scratch, cpus[0])
    print_attach(table, plan, output, scratch, cpus, method)


def write_readme(tables):
    """Puts each table between its two comments in the README."""
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name, table in tables.items():
        before, found, rest = text.partition(f"<!-- bench: {name} -->\n")
        _, end, after = rest.partition(f"<!-- end: {name} -->")
        if not found or not end:
            raise BenchError(f"{path} has no place for {name}")
        text = f"{before}{found}\nKernel {platform.release()}, {cpu_model()}, {os.cpu_count()} CPUs:\n\n{table}\n\n{end}{after}"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def bench(plan, parts, output, scratch, markdown, readme):
    """Measures and prints. Returns how many budgets were not met."""
    table, begin, peers = Table(), time.monotonic(), None

    print(f"kernel {platform.release()}, {cpu_model()}, {os.cpu_count()} CPUs")
    if "probes" in parts:
        bench_probes(table, plan, output, scratch)
    if "recordings" in parts:
        bench_recordings(table, plan.recorded_spans, plan.recorded_rounds, output, scratch)
    if "allocations" in parts:
        print_allocations(output, max(os.sched_getaffinity(0)), plan.rounds < 8)
    # Behind what tells peaks by wait4(), which has those of this process in it.
    if "scale" in parts:
        bench_scale(table, plan.memory_spans, output, scratch)
    if "peers" in parts:
        peers = bench_peers(output, scratch, plan.peers_spans, plan.peers_rounds)
    tables = {"budgets": table.markdown() if table.judged else None, "peers": peers}
    tables = {name: text for name, text in tables.items() if text}
    if markdown:
        print("\n" + "\n\n".join(tables.values()))
    if readme:
        write_readme(tables)
    print(f"\n{time.monotonic() - begin:.0f} s; "
          + (f"{table.over} over budget" if table.over else "every budget met"))
    return table.over


def main():
    parser = argparse.ArgumentParser(description="What spantrace costs, as ratios.")
    parser.add_argument("--quick", action="store_true", help="a fifth of the time, less exact")
    parser.add_argument("--strict", action="store_true", help="fail when a budget is not met")
    parser.add_argument("--markdown", action="store_true", help="the budgets and the peers once more, as the README has them")
    parser.add_argument("--readme", action="store_true", help="put them into the README")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("output", help="the build tree, .output")
    args = parser.parse_args()
    parts = [args.only] if args.only else PARTS
    if args.readme and (args.quick or args.only not in (None, "peers")):
        print("bench.py: the README holds all of the budgets, measured in full: leave out --quick and --only",
              file=sys.stderr)
        return 2
    if set(parts) != {"recordings"} and os.geteuid() != 0:
        print("bench.py: probes need root: sudo make bench", file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="spantrace-bench-") as scratch:
            over = bench(Plan(args.quick), parts, os.path.abspath(args.output), scratch, args.markdown, args.readme)
    except (BenchError, OSError, subprocess.SubprocessError) as error:
        print(f"bench.py: {error}", file=sys.stderr)
        return 2
    return 1 if args.strict and over else 0


if __name__ == "__main__":
    sys.exit(main())
