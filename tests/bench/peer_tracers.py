# SPDX-License-Identifier: MIT
"""Other tracers on the span loop of peers/loop.c, each as its own manual would have it, with what it takes.

A tracer is a class whose run() traces ROUNDS rounds, of two spans each, once. It says how many spans it kept, from what it
wrote, so that none is quick by looking away. Memory is the peak of resident memory (VmHWM) of each process while it lives.
"""
import glob
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time

from figures import BenchError
from tracers import SETTLE_S, STOP_S, peak_kib, wait_end, wait_tracing

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "live"))
from service import fields  # noqa: E402 (what the live tests read profiles with)

SPANS_A_ROUND = 2
TRACEFS = "/sys/kernel/tracing"
EVENTS = "spantrace_bench"  # perf's uprobe events
MARKERS = ["root__enter", "nested__enter", "nested__exit", "root__exit"]


class LeftOut(Exception):
    """A tracer cannot run here; says why."""


class Measured:
    """One run: ns of the loop, spans kept of those done, bytes written, peaks in KiB."""

    def __init__(self, ns, done, kept, written, tracer_kib, target_kib):
        self.ns, self.done, self.kept, self.written = ns, done, kept, written
        self.tracer_kib, self.target_kib = tracer_kib, target_kib


def size_of(path):
    """Bytes of a file, or of all files in a folder."""
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


class Program:
    """The loop, or what runs it, with its orders."""

    def __init__(self, command, env=None, stderr=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, stderr=stderr,
                                        env=dict(os.environ, **env) if env else None)
        self.pid = self.process.pid

    def order(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().split()
        if not line:
            raise BenchError(f"{self.process.args[0]} ended at the order: {word}")
        return int(line[1])

    def end(self):
        """Its peak, in KiB."""
        self.process.stdin.close()
        peak = wait_end(self.process)
        if self.process.returncode:
            raise BenchError(f"{self.process.args[0]}: status {self.process.returncode}")
        return peak

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Bench:
    """What all tracers need to know."""

    def __init__(self, output, scratch, programs, cpu, rounds):
        self.spantrace = os.path.join(output, "spantrace")
        self.scratch, self.programs, self.cpu, self.rounds = scratch, programs, cpu, rounds

    def path(self, name):
        return os.path.join(self.scratch, name)

    def folder(self, name):
        """An empty one."""
        path = self.path(name)
        subprocess.run(["rm", "-rf", path], check=True)
        os.mkdir(path)
        return path

    def loop(self, variant, before=(), **kwargs):
        program = self.programs.get(variant)
        if not program:
            raise LeftOut(f"the loop for it does not build: {self.programs.why[variant]}")
        return Program([*before, program, str(self.cpu), str(self.rounds)], **kwargs)

    def library(self, name, folder):
        program = self.programs.get("rust")
        if not program:
            raise LeftOut(self.programs.why["rust"])
        return Program([program, name, str(self.cpu), str(self.rounds), folder])

    def measured(self, ns, kept, written, tracer_kib, target_kib, waited=0):
        """KEPT may hold those WAITED rounds that came before the loop."""
        done = SPANS_A_ROUND * self.rounds
        if kept > done + SPANS_A_ROUND * waited:
            raise BenchError(f"{kept} spans kept of {done}")
        return Measured(ns / done, done, min(kept, done), written, tracer_kib, target_kib)


class Attached:
    """A tracer that is a process of its own and ends on Ctrl-C."""

    name = ""
    variant = "markers"

    def command(self, bench, pid):
        raise NotImplementedError

    def begin(self, tracer, target):
        """Until probes stand; returns the rounds that this took. They stand one after the other, so it is the slowness of
        the loop that tells, and some time more."""
        waited = target.order("wait")
        time.sleep(SETTLE_S)
        return waited

    def run(self, bench):
        with bench.loop(self.variant) as target:
            log_path = bench.path("tracer.log")
            with open(log_path, "w", encoding="utf-8") as log:
                tracer = subprocess.Popen(self.command(bench, target.pid), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                waited = self.begin(tracer, target)
                ns = target.order("go")
                tracer_kib = peak_kib(tracer.pid)
                tracer.send_signal(signal.SIGINT)
                tracer_kib = max(tracer_kib, wait_end(tracer))
            except BenchError as error:
                raise BenchError(f"{error}: {last_line(log_path)}") from error
            finally:
                if tracer.poll() is None:
                    tracer.kill()
                    tracer.wait()
            target_kib = peak_kib(target.pid)
            target.end()
        kept, written = self.result(bench, log_path)
        return bench.measured(ns, kept, written, tracer_kib, target_kib, waited)

    def result(self, bench, log_path):
        """Spans kept, bytes written."""
        raise NotImplementedError


def last_line(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().strip().splitlines()
    return lines[-1] if lines else "it said nothing"


class Spantrace(Attached):
    def __init__(self, name, variant, outputs):
        self.name, self.variant, self.outputs = name, variant, outputs

    def command(self, bench, pid):
        outputs = [word for output in self.outputs for word in ("-o", f"{output}:{bench.path('ours.' + output)}")]
        return [bench.spantrace, "-v", "-p", str(pid), *outputs]

    def begin(self, tracer, target):
        """It says when all stand."""
        wait_tracing(tracer, f"/proc/{tracer.pid}/fd/2")
        return 0

    def result(self, bench, log_path):
        with open(bench.path("ours.json"), encoding="utf-8") as file:
            kept = sum(row["count"] for row in json.load(file)["paths"])
        wanted = "recording" if "recording" in self.outputs else "json"
        return kept, size_of(bench.path("ours." + wanted))


class BpftraceLatency(Attached):
    """Its usual script for how long something took, for two spans: added up in the kernel."""

    name = "bpftrace, latency script"

    def script(self, program):
        return "".join(f"usdt:{program}:peers:{span}__enter {{ @{span}[tid] = nsecs; }} "
                       f"usdt:{program}:peers:{span}__exit /@{span}[tid]/ {{ @h = hist(nsecs - @{span}[tid]); "
                       f"delete(@{span}[tid]); }} " for span in ("root", "nested"))

    def command(self, bench, pid):
        return ["bpftrace", "-f", "json", "-o", bench.path("bpftrace.out"), "-e", self.script(bench.programs.get("markers"))]

    def result(self, bench, log_path):
        kept = 0
        with open(bench.path("bpftrace.out"), encoding="utf-8") as file:
            for line in file:
                message = json.loads(line) if line.strip() else {}
                if message.get("type") == "hist":
                    kept += sum(bucket["count"] for bucket in message["data"]["@h"])
        return kept, size_of(bench.path("bpftrace.out"))


class BpftraceEvents(BpftraceLatency):
    """A line for each hit, to a file."""

    name = "bpftrace, a line for each hit"

    def script(self, program):
        return "".join(f'usdt:{program}:peers:{marker} {{ printf("%d %llu {marker}\\n", tid, nsecs); }} '
                       for marker in MARKERS)

    def command(self, bench, pid):
        return ["bpftrace", "-o", bench.path("bpftrace.out"), "-e", self.script(bench.programs.get("markers"))]

    def result(self, bench, log_path):
        path = bench.path("bpftrace.out")
        with open(path, "rb") as file:
            return sum(b"__exit" in line for line in file), size_of(path)


class Perf(Attached):
    """perf record of uprobe events, which `perf probe` would make: here they are written by hand, for it would want the
    program in its cache of build-ids."""

    name = "perf record, uprobe events"

    def run(self, bench):
        if subprocess.run(["perf", "version"], capture_output=True, check=False).returncode:
            raise LeftOut("perf does not run: package linux-perf")
        mounted = os.path.exists(TRACEFS + "/uprobe_events")
        if not mounted and subprocess.run(["mount", "-t", "tracefs", "nodev", TRACEFS], capture_output=True,
                                          check=False).returncode:
            raise LeftOut(f"tracefs cannot be mounted at {TRACEFS}")
        try:
            self.define(bench)
            return super().run(bench)
        finally:
            self.undefine()
            if not mounted:
                subprocess.run(["umount", TRACEFS], check=False)

    @staticmethod
    def write(line):
        """Appended: to seek to its end is not allowed there."""
        fd = os.open(TRACEFS + "/uprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(fd, line.encode() + b"\n")
        finally:
            os.close(fd)

    def define(self, bench):
        program = bench.programs.get("markers")
        listed = subprocess.run([bench.spantrace, "list", "--json", program], check=True, capture_output=True, text=True)
        offsets = {site["marker"]: site["offset"] for site in json.loads(listed.stdout)["files"][0]["sites"]}
        try:
            for marker in MARKERS:
                self.write(f"p:{EVENTS}/{marker} {program}:{offsets['peers:' + marker]:#x}")
        except OSError as error:
            raise LeftOut(f"this kernel takes no uprobe events: {error.strerror}") from error

    def undefine(self):
        for marker in MARKERS:
            try:
                self.write(f"-:{EVENTS}/{marker}")
            except OSError:
                pass  # it was not there

    def command(self, bench, pid):
        return ["perf", "record", "-e", EVENTS + ":*", "-p", str(pid), "-o", bench.path("perf.data")]

    def result(self, bench, log_path):
        with open(log_path, encoding="utf-8") as file:
            said = file.read()
        samples = re.search(r"\((\d+) samples\)", said)
        if not samples:
            raise BenchError(f"perf does not say how many samples it wrote: {said}")
        return int(samples[1]) // 2, size_of(bench.path("perf.data"))


class Uftrace:
    """Calls of functions that are built with -pg; it starts the program itself."""

    name = "uftrace record"

    def run(self, bench):
        data = bench.path("uftrace.data")
        try:
            program = bench.loop("uftrace", ["uftrace", "record", "--no-libcall", "-d", data])
        except FileNotFoundError as error:
            raise LeftOut("package uftrace") from error
        with program:
            ns = program.order("go")
            with open(f"/proc/{program.pid}/task/{program.pid}/children", encoding="utf-8") as file:
                target = int(file.read().split()[0])
            target_kib = peak_kib(target)
            tracer_kib = max(peak_kib(program.pid), program.end())
        report = subprocess.run(["uftrace", "report", "--no-pager", "--no-event", "-d", data], check=True,
                                capture_output=True, text=True).stdout
        kept = sum(int(calls) for calls in re.findall(r"(\d+) +(?:root|nested)$", report, re.MULTILINE))
        return bench.measured(ns, kept, sum(map(size_of, glob.glob(data + "/*.dat"))), tracer_kib, target_kib)


class Lttng:
    """LTTng-UST to a local session: its daemons are started and ended here."""

    name = "LTTng-UST"

    @staticmethod
    def lttng(bench, *words):
        done = subprocess.run(["lttng", "--no-sessiond", *words], capture_output=True, text=True, check=False,
                              env=dict(os.environ, LTTNG_HOME=bench.scratch))
        if done.returncode:
            raise BenchError(f"lttng {words[0]}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def run(self, bench):
        ready = bench.path("sessiond.pid")
        if os.path.exists(ready):
            os.unlink(ready)
        try:
            daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel", "--pidfile", ready], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, env=dict(os.environ, LTTNG_HOME=bench.scratch))
        except FileNotFoundError as error:
            raise LeftOut("package lttng-tools") from error
        try:
            end = time.monotonic() + STOP_S
            while not os.path.exists(ready):
                if daemon.poll() is not None or time.monotonic() > end:
                    raise LeftOut(f"lttng-sessiond does not start: {daemon.stderr.read().strip()}")
                time.sleep(0.02)
            return self.record(bench, daemon.pid)
        finally:
            daemon.terminate()
            daemon.wait()
            daemon.stderr.close()

    def record(self, bench, daemon):
        out = bench.folder("lttng")
        self.lttng(bench, "create", "peers", "--output", out)
        self.lttng(bench, "enable-event", "-u", "peers:*")
        self.lttng(bench, "start")
        # It registers before its main(), and waits there until it is allowed to trace.
        with bench.loop("lttng", env={"LTTNG_UST_REGISTER_TIMEOUT": "-1"}) as target:
            ns = target.order("go")
            with open(f"/proc/{daemon}/task/{daemon}/children", encoding="utf-8") as file:
                daemons = [daemon, *map(int, file.read().split())]
            self.lttng(bench, "stop")
            tracer_kib, target_kib = sum(map(peak_kib, daemons)), peak_kib(target.pid)
            target.end()
        lost = sum(map(int, re.findall(r"Discarded events: (\d+)", self.lttng(bench, "list", "peers"))))
        self.lttng(bench, "destroy", "peers")
        return bench.measured(ns, SPANS_A_ROUND * bench.rounds - (lost + 1) // 2, size_of(out), tracer_kib, target_kib)


def pprof_samples(path):
    with gzip.open(path) as file:
        return sum(key == 2 for key, _ in fields(file.read()))


class Library:
    """A Rust library in the program itself."""

    def __init__(self, name, word, count):
        self.name, self.word, self.count = name, word, count

    def run(self, bench):
        folder = bench.folder("library")
        with bench.library(self.word, folder) as target:
            ns = target.order("go")
            peak = peak_kib(target.pid)
            peak = max(peak, target.end())
        return bench.measured(ns, self.count(bench, folder), size_of(folder), 0, peak)


def flame_spans(_, folder):
    """A line at each enter and each exit."""
    with open(os.path.join(folder, "tracing.folded"), "rb") as file:
        return sum(1 for _ in file) // 2


def prof_spans(bench, folder):
    """A sample for each span; one that is open when its thread looks has several."""
    samples = sum(map(pprof_samples, glob.glob(folder + "/wall_*.pb.gz")))
    return min(samples, SPANS_A_ROUND * bench.rounds)


def measureme_spans(bench, folder):
    done = subprocess.run([bench.spantrace, "export", "-q", os.path.join(folder, "loop.mm_profdata"), "-o", "json:-"],
                          check=True, capture_output=True, text=True)
    return sum(row["count"] for row in json.loads(done.stdout)["paths"])


BY_PROBES = [
    Spantrace("spantrace, each span recorded", "markers", ["recording", "json"]),
    Spantrace("spantrace, added up in the kernel", "markers", ["json"]),
    BpftraceLatency(),
    BpftraceEvents(),
    Perf(),
]
BUILT_IN = [
    Spantrace("spantrace batched, each span recorded", "batched", ["recording", "json"]),
    Spantrace("spantrace batched, added up", "batched", ["json"]),
    Uftrace(),
    Lttng(),
    Library("measureme", "measureme", measureme_spans),
    Library("tracing-flame", "flame", flame_spans),
    Library("tracing-prof, wall", "prof-wall", prof_spans),
    Library("tracing-prof, wall and CPU", "prof-cpu", prof_spans),
]
