# SPDX-License-Identifier: MIT
"""Part "peers" of `make bench`: what other tracers take for the same span loop, in one run, beside spantrace.

The loop is a root span and one nested in it, on one CPU, and all of it counts: what a tracer does now and then is in the
mean. The tracers take turns, round by round, and each counts with its least, so that other work on the machine falls out.
Those that need nothing but markers in the program stand apart from those that are built into it. One that cannot run here
is a line that says why. What they need is installed first (tests/install-deps.sh peers).
"""
import os
import shutil
import subprocess
import sys

from figures import BenchError
from peer_tracers import BUILT_IN, BY_PROBES, SPANS_A_ROUND, Bench, LeftOut
from tracers import peak_kib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VARIANTS = {
    "markers": [],
    "batched": ["-DSPANTRACE_BATCHED"],
    "none": ["-DSPANTRACE_DISABLE"],
    "uftrace": ["-DSPANTRACE_DISABLE", "-pg"],
    "lttng": ["-DSPANTRACE_DISABLE", "-DLTTNG", "-llttng-ust", "-ldl"],
}
COLUMNS = ["a span", "times ours", "times batched", "bytes a span", "tracer", "in the target", "lost"]


class Programs:
    """The loop in all its forms; why[] where one does not build."""

    def __init__(self, output, scratch):
        self.scratch, self.paths, self.why = scratch, {}, {}
        for variant, flags in VARIANTS.items():
            self.build(variant, flags)
        self.build_rust(os.path.join(output, "bench", "peers"))

    def get(self, variant):
        return self.paths.get(variant)

    def note(self, variant, path, built):
        """An error of a compiler or of cargo, in one line."""
        if built.returncode == 0:
            self.paths[variant] = path
            return
        lines = [line for line in built.stderr.splitlines() if "error" in line] or built.stderr.splitlines()
        self.why[variant] = lines[0].strip() if lines else f"status {built.returncode}"

    def build(self, variant, flags):
        path = os.path.join(self.scratch, "loop-" + variant)
        folder = os.path.join(HERE, "peers")
        self.note(variant, path, subprocess.run(
            [os.environ.get("CC", "cc"), "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "usdt"), "-I", folder,
             os.path.join(folder, "loop.c"), "-o", path, *flags], capture_output=True, text=True, check=False))

    def build_rust(self, target):
        if not shutil.which("cargo"):
            self.why["rust"] = "cargo is not installed"
            return
        self.note("rust", os.path.join(target, "release", "peers-loop"), subprocess.run(
            ["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", target,
             "--manifest-path", os.path.join(HERE, "peers", "Cargo.toml")], capture_output=True, text=True, check=False))


class Nobody:
    """The loop without spans: what its memory is, to be taken off."""

    def __init__(self, start, *arguments):
        self.start, self.arguments = start, arguments

    def run(self, bench):
        with getattr(bench, self.start)(*self.arguments) as target:
            ns, peak = target.order("go"), peak_kib(target.pid)
            target.end()
            return bench.measured(ns, 0, 0, 0, peak)


def best_of(runs):
    """The quickest, with the peaks of all."""
    best = min(runs, key=lambda run: run.ns)
    best.tracer_kib = max(run.tracer_kib for run in runs)
    best.target_kib = max(run.target_kib for run in runs)
    best.kept = min(run.kept for run in runs)
    return best


def take_turns(tracers, bench, rounds):
    """Results by tracer; a reason where there is none."""
    runs, why = {tracer: [] for tracer in tracers}, {}
    for i in range(rounds):
        for tracer in tracers:
            if tracer in why:
                continue
            if sys.stderr.isatty():
                print(f"\r\033[Kround {i + 1} of {rounds}: {getattr(tracer, 'name', 'nobody')}", end="", file=sys.stderr)
            try:
                runs[tracer].append(tracer.run(bench))
            except (LeftOut, BenchError, OSError, subprocess.SubprocessError) as error:
                why[tracer] = str(error)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return {tracer: best_of(runs[tracer]) for tracer in tracers if tracer not in why}, why


def mib(kib):
    return f"{kib / 1024:.1f} MiB"


def cells(run, ours, batched, base_kib):
    lost = 1 - run.kept / run.done
    return [
        f"{run.ns:.0f} ns",
        f"{run.ns / ours.ns:.2f}" if ours else "",
        f"{run.ns / batched.ns:.2f}" if batched else "",
        f"{run.written / run.done:.1f}" if run.written / run.done >= 0.05 else "0",
        mib(run.tracer_kib) if run.tracer_kib else "–",
        mib(max(0, run.target_kib - base_kib)),
        "0" if run.kept == run.done else f"{lost * 100:.2g} %" if lost >= 1e-4 else f"{run.done - run.kept}",
    ]


def table_of(found, why, base, base_rust):
    """[(heading, [(name, cells or None, reason)])]."""
    ours, batched = found.get(BY_PROBES[0]), found.get(BUILT_IN[0])
    parts = []
    for heading, tracers in ("needs markers only", BY_PROBES), ("built into the program", BUILT_IN):
        rows = []
        for tracer in tracers:
            if tracer in why:
                rows.append((tracer.name, None, why[tracer]))
                continue
            rust = hasattr(tracer, "word")
            rows.append((tracer.name, cells(found[tracer], ours, batched, base_rust if rust else base), None))
        parts.append((heading, rows))
    return parts


def print_plain(parts, spans):
    print(f"\n{f'peers: {spans / 1e6:g} M spans, a root and one in it':<40}"
          + "".join(f"{column:>15}" for column in COLUMNS))
    for heading, rows in parts:
        print(heading)
        for name, values, reason in rows:
            print(f"  {name:<38}" + (f" left out: {reason}" if reason else "".join(f"{value:>15}" for value in values)))


def markdown(parts):
    lines = ["| |" + "|".join(f" {column} " for column in COLUMNS) + "|", "|---|" + "---:|" * len(COLUMNS)]
    for heading, rows in parts:
        lines.append(f"| *{heading}* |" + " |" * len(COLUMNS))
        for name, values, reason in rows:
            lines.append(f"| {name} | " + (f"left out: {reason} |" + " |" * (len(COLUMNS) - 1) if reason
                                          else " | ".join(values) + " |"))
    return "\n".join(lines)


def bench_peers(output, scratch, spans, rounds):
    """Measures and prints; returns the table in Markdown."""
    installed = subprocess.run([os.path.join(ROOT, "tests/install-deps.sh"), "peers"], capture_output=True, text=True,
                               check=False)
    if installed.returncode:
        print("peers: not all of them can be installed: " + installed.stderr.strip())
    bench = Bench(output, scratch, Programs(output, scratch), max(os.sched_getaffinity(0)), spans // SPANS_A_ROUND)
    nobody, nobody_rust = Nobody("loop", "none"), Nobody("library", "none", scratch)
    found, why = take_turns([nobody, nobody_rust, *BY_PROBES, *BUILT_IN], bench, rounds)

    def base(tracer):
        return found[tracer].target_kib if tracer in found else 0

    parts = table_of(found, why, base(nobody), base(nobody_rust))
    print_plain(parts, spans)
    if nobody in found:
        print(f"The loop without spans takes {found[nobody].ns:.1f} ns for each, and has {mib(base(nobody))};"
              f" in Rust {mib(base(nobody_rust))}.")
    return markdown(parts)
