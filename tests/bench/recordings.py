# SPDX-License-Identifier: MIT
"""What reading a recording costs: every export, `report` and `diff` of the same spans, beside measureme's own tools.

spans_gen makes the recording, `spantrace export` the .mm_profdata that the tools read. The tools are not in the
registry, their library is: tests/bench/measureme does their work with it, and is built here. The commands take turns
and count with the least wall time of all rounds; beside it stands CPU time, of which spantrace's two threads take more
than a clock shows, and which other work on the machine spoils less. What they found is compared, so that no number is
that of a command which left spans out.
"""
import json
import os
import re
import shutil
import subprocess
import time

from figures import BenchError, Least

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMES_AS_FAST = 5
PEAK_MIB = 256
BYTES_A_SPAN = 24
THREADS, PATHS, DEPTH = 4, 1000, 8
# What of theirs does the most similar work: totals by name, totals by stack, or a record for every span. The same work is
# that of folded (stack_collapse) and chrome (crox); the others do more than the tool beside them, and are judged all the same.
TOTALS = ["summary", "json"]
STACKS = ["folded", "flamegraph", "pprof"]
SAME = ["folded", "chrome"]
PEERS = """summarize adds up by name, with neither percentiles nor paths; stack_collapse writes folded stacks;
crox writes Chrome's JSON, in whole microseconds, without CPU time. ~ before a tool: it does less than what stands there."""


def beside(output_format):
    """The tool that a format is measured against."""
    if output_format in TOTALS:
        return "summarize"
    return "stack_collapse" if output_format in STACKS else "crox"


class Commands:
    """Runs commands, each for its least wall and CPU time and its greatest memory."""

    def __init__(self):
        self.wall = Least()
        self.cpu = Least()
        self.peak_mib = {}

    def run(self, name, command, stdout=subprocess.DEVNULL):
        begin = time.monotonic()
        with subprocess.Popen(command, stdout=stdout) as process:
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.monotonic() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise BenchError(f"{' '.join(command)}: status {process.returncode}")
        self.wall.add((name,), wall)
        self.cpu.add((name,), usage.ru_utime + usage.ru_stime)
        self.peak_mib[name] = max(self.peak_mib.get(name, 0), usage.ru_maxrss / 1024)


def words_of_help(spantrace, heading, *topic):
    """The first words of the lines below HEADING in a help text."""
    text = subprocess.run([spantrace, "help", *topic], check=True, capture_output=True, text=True).stdout
    part = re.search(rf"^{heading}.*\n((?:  .*\n)+)", text, re.MULTILINE)
    return [line.split()[0] for line in part.group(1).splitlines()] if part else []


def build_theirs(output):
    """Path of measureme-tools, or None with the reason said."""
    target = os.path.join(output, "bench", "measureme")
    if not shutil.which("cargo"):
        print("left out: measureme's tools, for want of cargo")
        return None
    built = subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "--target-dir", target,
                            "--manifest-path", os.path.join(ROOT, "tests/bench/measureme/Cargo.toml")],
                           capture_output=True, text=True, check=False)
    if built.returncode != 0:
        print("left out: measureme's tools, which do not build: " + built.stderr.strip().split("\n", 1)[0])
        return None
    return os.path.join(target, "release", "measureme-tools")


class Files:
    """The recordings, and the same spans in measureme's format."""

    def __init__(self, output, scratch, spans):
        self.spans = spans
        self.scratch = scratch
        self.spantrace = os.path.join(output, "spantrace")
        self.gen = os.path.join(output, "programs", "spans_gen")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def make(self, commands):
        asked = self.spans
        for side, seed in [("change", 2), ("base", 1)]:
            with open(self.path("made.json"), "wb") as out:
                commands.run("spans_gen", [self.gen, *map(str, [asked, THREADS, PATHS, DEPTH, seed]),
                                           self.path(side + ".spans")], out)
            with open(self.path("made.json"), encoding="utf-8") as file:
                # It ends with a whole stack, so there are a few more.
                self.spans = json.load(file)["spans"]

    def make_theirs(self):
        for side in ["base", "change"]:
            subprocess.run([self.spantrace, "export", "-q", self.path(side + ".spans"),
                            "-o", "mm_profdata:" + self.path(side + ".mm_profdata")], check=True)


def measure_ours(files, commands, formats, subcommands, from_theirs):
    base, change = files.path("base.spans"), files.path("change.spans")
    for name in formats:
        commands.run(name, [files.spantrace, "export", "-q", base, "-o", f"{name}:{files.path('ours.' + name)}"])
    if "report" in subcommands:
        commands.run("report", [files.spantrace, "report", base])
    if "diff" in subcommands:
        commands.run("diff", [files.spantrace, "diff", base, change])
    if from_theirs:
        commands.run("report mm_profdata", [files.spantrace, "report", files.path("base.mm_profdata")])
        commands.run("from mm_profdata", [files.spantrace, "export", "-q", files.path("base.mm_profdata"),
                                          "-o", "folded:" + files.path("again.folded")])


def measure_theirs(files, commands, tools):
    base, change = files.path("base.mm_profdata"), files.path("change.mm_profdata")
    with open(files.path("summarize.txt"), "wb") as out:
        commands.run("theirs summarize", [tools, "summarize", base], out)
    commands.run("theirs diff", [tools, "diff", base, change])
    commands.run("theirs stack_collapse", [tools, "stack_collapse", base, files.path("theirs.folded")])
    commands.run("theirs crox", [tools, "crox", base, files.path("theirs.crox")])


def folded_ns(path, thread_frames):
    """Sum of all stacks; those of a root frame alone, time outside spans, left out."""
    total = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, ns = line.rsplit(" ", 1)
            total += int(ns) if thread_frames in stack else 0
    return total


def compare(files, with_theirs):
    """Every span is in the totals, and their stacks hold the time that ours hold."""
    with open(files.path("ours.json"), encoding="utf-8") as file:
        counted = sum(row["count"] for row in json.load(file)["paths"])
    if counted != files.spans:
        raise BenchError(f"the export to json counted {counted} of {files.spans} spans")
    if not with_theirs:
        return
    with open(files.path("summarize.txt"), encoding="utf-8") as file:
        theirs = sum(int(line.rsplit(" ", 1)[1]) for line in file if not line.startswith("Total"))
    if theirs != files.spans:
        raise BenchError(f"summarize counted {theirs} of {files.spans} spans")
    ours, theirs = (folded_ns(files.path(name), ";") for name in ["ours.folded", "theirs.folded"])
    if ours != theirs:
        raise BenchError(f"folded stacks hold {ours} ns, stack_collapse's {theirs} ns")


def print_rates(table, files, commands, formats, with_theirs):
    def of_cpu(name, other):
        ours = commands.cpu.get(name)
        return f"{other}; CPU {files.spans / ours / 1e6:.1f} M, {commands.cpu.get(other) / ours:.1f}"

    def rate(name, other, budget=TIMES_AS_FAST, text=None):
        ours = commands.wall.get(name)
        if ours is None:
            return
        if not with_theirs:
            table.times(text or name, files.spans / ours)
            return
        theirs = "theirs " + other
        less = "~" if name in formats and name not in SAME else ""
        table.times(text or name, files.spans / ours, files.spans / commands.wall.get(theirs), budget,
                    less + of_cpu(name, theirs).removeprefix("theirs "))

    table.head(f"{files.spans / 1e6:g} M spans: spans/s, wall", "spantrace", "measureme", "times", "budget")
    for name in formats:
        rate(name, beside(name), text="export to " + name)
    rate("report", "summarize")
    rate("diff", "diff", text="diff, both sides")
    if with_theirs:
        rate("from mm_profdata", "stack_collapse", text="measureme's file to folded")
        rate("report mm_profdata", "summarize", None, "report on measureme's file")
    table.times("spans_gen, writing the recording", files.spans / commands.wall.get("spans_gen"))
    if with_theirs:
        print(PEERS)


def print_sizes(table, files, commands):
    ours = {name: mib for name, mib in commands.peak_mib.items() if not name.startswith("theirs ")}
    theirs = [mib for name, mib in commands.peak_mib.items() if name.startswith("theirs ")]
    most = max(ours, key=ours.get)
    table.value(f"peak RSS of the largest: {most}", ours[most], "MiB", PEAK_MIB, max(theirs, default=None), digits=0)
    table.value("recording, a span", os.path.getsize(files.path("base.spans")) / files.spans, "B", BYTES_A_SPAN,
                os.path.getsize(files.path("base.mm_profdata")) / files.spans if theirs else None, digits=1)


def bench_recordings(table, spans, rounds, output, scratch):
    files, commands = Files(output, scratch, spans), Commands()
    formats = words_of_help(files.spantrace, "formats of -o", "export")
    subcommands = words_of_help(files.spantrace, "commands")
    tools = build_theirs(output) if "mm_profdata" in formats else None
    for name in ["report", "diff"]:
        if name not in subcommands:
            print(f"left out: {name}, which this build does not have")

    files.make(commands)
    if tools:
        files.make_theirs()
    for _ in range(rounds):
        measure_ours(files, commands, formats, subcommands, tools is not None)
        if tools:
            measure_theirs(files, commands, tools)
    compare(files, tools is not None)
    print_rates(table, files, commands, formats, tools is not None)
    print_sizes(table, files, commands)
