# SPDX-License-Identifier: MIT
"""What `make bench` starts: the target, and the tracers that look at it one after the other.

A tracer is a context: inside it the probes stand and record. On the way out it compares what it
counted with what the target did, so that no number here is that of a tracer which looked away.
"""
import json
import os
import re
import signal
import subprocess
import time

from figures import BenchError

# From the first probe that stands to the moment the tracer records: more probes follow, and a gate.
SETTLE_S = 0.4
STOP_S = 60

# The spans or events of each kind of work.
MARKERS = {
    "thread": ["bench:span"],
    "labels": ["bench:labelled"],
    "event": ["bench:tick"],
    "clock": [],
    "pair": ["bench:left", "bench:right"],
    "async": ["bench:job"],
    "nested": [f"bench:n{i}" for i in range(10)],
    "recursive": ["bench:recursive"],
}


class Loop:
    """The target, bench_loop: does spans when told and says what one took."""

    def __init__(self, program, cpus):
        self.program = program
        self.cpus = cpus
        self.process = subprocess.Popen([program, *map(str, cpus)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.done = {}  # spans by work since forget()
        self.waited = 0  # those of wait(), which a tracer may see or not

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(STOP_S)

    def _order(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if not words:
            raise BenchError(f"{self.program} ended at the order: {text}")
        return words

    def run(self, work, ms, threads=1):
        """Does WORK for MS; returns how many spans it made, and ns a span."""
        _, spans, ns = self._order(f"run {work} {ms} {threads}")
        self.done[work] = self.done.get(work, 0) + int(spans)
        return int(spans), float(ns)

    def wait(self):
        """Until probes stand on the sites of "thread"."""
        answer, spans = self._order("wait")
        self.waited += int(spans)
        if answer != "ready":
            raise BenchError("no probe stands after 10 s")

    def forget(self):
        self.done = {}
        self.waited = 0


def stop(process):
    """Ends PROCESS as Ctrl-C does; returns the seconds it took, and the KiB it had at most."""
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return time.monotonic() - begin, usage.ru_maxrss


def peak_kib(pid):
    """The most that PID has had; 0 when it has ended, and when it is about to. (What wait4() says counts in what the parent
    had before the exec.)"""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            found = re.search(r"^VmHWM:\s*(\d+)", file.read(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def wait_end(process):
    """Until PROCESS has ended; returns the peak of its memory until then."""
    peak, end = 0, time.monotonic() + 10 * STOP_S
    while process.poll() is None:
        peak = max(peak, peak_kib(process.pid))
        if time.monotonic() > end:
            process.kill()
            raise BenchError(f"{process.args[0]} does not end")
        time.sleep(0.002)
    return peak


def wait_tracing(process, log):
    """Until spantrace -v, whose stderr is the file LOG, says that all probes stand."""
    end = time.monotonic() + STOP_S
    while process.poll() is None and time.monotonic() < end:
        with open(log, encoding="utf-8") as file:
            if "tracing" in file.read():
                return
        time.sleep(0.01)
    raise BenchError("spantrace does not trace")


class Empty:
    """bench_empty on every marker of the target."""

    def __init__(self, output, loop):
        self.command = [os.path.join(output, "bench", "bench_empty"), loop.program]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        words = self.process.stdout.readline().split()
        if not words:
            raise BenchError("bench_empty did not attach; is this root?")
        self.sites, self.method, self.attach_s = int(words[1]), words[2], int(words[3]) / 1e9
        return self

    def __exit__(self, *_):
        begin = time.monotonic()
        self.process.stdin.close()
        self.process.wait(STOP_S)
        self.detach_s = time.monotonic() - begin


class Spantrace:
    """spantrace on the target; `result` is its JSON once it has ended."""

    def __init__(self, output, loop, scratch, *options):
        self.loop = loop
        self.path = os.path.join(scratch, "trace.json")
        self.command = [os.path.join(output, "spantrace"), "-q", "-p", str(loop.pid),
                        "-o", "json:" + self.path, *options]

    def __enter__(self):
        self.loop.forget()
        self.began = time.monotonic()
        self.process = subprocess.Popen(self.command)
        try:
            self.loop.wait()
            time.sleep(SETTLE_S)
        except BaseException:
            stop(self.process)
            raise
        return self

    def __exit__(self, kind, *_):
        self.stopped = time.monotonic()
        self.detach_s, self.peak_kib = stop(self.process)
        if self.process.returncode != 0:
            raise BenchError(f"spantrace failed with status {self.process.returncode}")
        with open(self.path, encoding="utf-8") as file:
            self.result = json.load(file)
        # Its trace ends when it is told to stop, which tells when it began.
        self.attach_s = self.stopped - self.result["duration_ns"] / 1e9 - self.began
        if kind is None:
            self.check()

    def check(self):
        """Everything the target did is in the result or among the losses, and nothing else is."""
        seen = {}
        for row in self.result["paths"]:
            name = row["path"][-1].split(" ")[0]  # without what an argument calls it
            seen[name] = seen.get(name, 0) + row["count"]
        for row in self.result["events"]:
            seen[row["name"]] = seen.get(row["name"], 0) + row["count"]
        # An exit of the wait, between the two probes' coming, has no enter and is no loss.
        self.lost = sum(n for cause, n in self.result["losses"].items() if cause != "orphan_exit")
        missing = 0
        for work, markers in MARKERS.items():
            done = self.loop.done.get(work, 0)
            counted = sum(seen.get(marker, 0) for marker in markers)
            spare = self.loop.waited if work == "thread" else 0
            if counted > done + spare:
                raise BenchError(f"{work}: spantrace counted {counted} of {done} spans")
            missing += max(0, done - counted)
        if missing > self.lost:
            raise BenchError(f"spantrace lost {missing} spans and admits {self.lost}: "
                             f"{self.result['losses']}")

    def cpu_s(self):
        """CPU time of all its threads so far, by the clock that clock_getcpuclockid(3) names."""
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def anonymous_kib(self):
        """Its memory without files and rings."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1])
        raise BenchError("this kernel does not tell RssAnon")


class WholeMachine:
    """spantrace -a, with default metrics and no probes on any file of others."""

    def __init__(self, output, scratch):
        self.log = os.path.join(scratch, "machine.log")
        self.command = [os.path.join(output, "spantrace"), "-v", "-a", "-P", "bench", "-o", "json:/dev/null"]

    def __enter__(self):
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        try:
            wait_tracing(self.process, self.log)
        except BaseException:
            stop(self.process)
            raise
        return self

    def __exit__(self, *_):
        stop(self.process)


class Bpftrace:
    """The usual script for how long something took, on the same two sites."""

    SCRIPT = ("usdt:{0}:bench:span__enter {{ @s[tid] = nsecs; }} "
              "usdt:{0}:bench:span__exit /@s[tid]/ "
              "{{ @h = hist(nsecs - @s[tid]); delete(@s[tid]); }}")

    def __init__(self, loop, scratch):
        self.loop = loop
        self.path = os.path.join(scratch, "bpftrace.json")
        self.command = ["bpftrace", "-f", "json", "-o", self.path, "-e",
                        self.SCRIPT.format(loop.program)]

    def __enter__(self):
        self.loop.forget()
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        try:
            self.loop.wait()
            time.sleep(SETTLE_S)
        except BaseException:
            stop(self.process)
            raise
        return self

    def __exit__(self, kind, *_):
        stop(self.process)
        if kind is None:
            self.check()

    def check(self):
        counted = 0
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                message = json.loads(line) if line.strip() else {}
                if message.get("type") == "hist":
                    counted += sum(bucket["count"] for bucket in message["data"]["@h"])
        if counted < self.loop.done["thread"]:
            raise BenchError(f"bpftrace counted {counted} of {self.loop.done['thread']} spans")
