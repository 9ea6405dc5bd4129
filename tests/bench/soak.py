#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A service for as long as you like: spans at a steady rate from processes that come and go, with the memory and the CPU
that spantrace takes, and a sum at the end that must be exact. As root:

    tests/bench/soak.py [--seconds 600] [--rate 100000] [--processes 20] [--life 2000] [--every 10] [OPTION…]

OPTION goes to spantrace: `--stream`, `-m all`. Fails where a span is missing, or where memory has grown.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUTPUT = os.path.join(ROOT, os.environ.get("SPANTRACE_OUTPUT", ".output"))
WORDS = ("request", "query", "job")


class Soak:
    """spantrace -a, and the program that it watches; tell(second, metrics) is called now and then."""

    def __init__(self, seconds, rate, processes, life_ms, options=()):
        self.work = [f"{OUTPUT}/programs/soak", *map(str, (seconds, rate, processes, life_ms))]
        self.options = options

    def metrics(self):
        text = urllib.request.urlopen(self.url + "/metrics", timeout=60).read().decode()
        return {name: float(value) for name, value in re.findall(r"^(spantrace_\S+) (\S+)$", text, re.M)}

    def spans(self, metrics):
        return {word: int(metrics.get('spantrace_span_duration_seconds_count{provider="soak",span="%s"}' % word, 0))
                for word in WORDS}

    def lost(self, metrics):
        return {name: int(value) for name, value in metrics.items()
                if name.startswith("spantrace_lost_total") and value and "mappings_lost" not in name}

    def wait(self, condition, what, timeout=120):
        end = time.time() + timeout
        while not condition():
            if time.time() > end or self.tracer.poll() is not None:
                raise AssertionError(f"{what}: {open(self.log.name).read()[-2000:]}")
            time.sleep(0.2)

    def run(self, tell, every):
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as self.log:
            self.tracer = subprocess.Popen(
                [f"{OUTPUT}/spantrace", "-a", "-P", "soak", "--listen", "127.0.0.1:0", "--log-level", "info",
                 "-o", f"pprof:{folder}/", "--interval", "1s", *self.options], stderr=self.log)
            try:
                return self.watch(tell, every)
            finally:
                self.tracer.kill()
                self.tracer.wait()

    def watch(self, tell, every):
        self.wait(lambda: "tracing " in open(self.log.name).read(), "no trace")
        self.url = re.search(r"listening on (\S+)/metrics", open(self.log.name).read())[1]
        # Once, so that the probes stand: the program is known by its file.
        subprocess.run([self.work[0], "0", "0", "1", "1"], stdout=subprocess.DEVNULL, check=True)
        self.wait(lambda: "/soak: " in open(self.log.name).read(), "no probes")
        begin = time.time()
        work = subprocess.Popen(self.work, stdout=subprocess.PIPE, text=True)
        while work.poll() is None:
            time.sleep(every)
            tell(time.time() - begin, self.metrics())
        words = work.stdout.read().split()
        truth = dict(zip(words[::2], map(int, words[1::2])))
        self.wait(lambda: self.spans(self.metrics()) == {word: truth[word] for word in WORDS},
                  f"not all spans came: {self.spans(self.metrics())} of {truth}, lost {self.lost(self.metrics())}")
        # All have ended: nothing is to be left of them.
        self.wait(lambda: self.metrics()["spantrace_threads"] == 0, "threads are left")
        last = self.metrics()
        self.tracer.terminate()
        if self.tracer.wait(120):
            raise AssertionError(f"it ended with {self.tracer.returncode}")
        return truth, last


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in ("seconds", 600), ("rate", 100000), ("processes", 20), ("life", 2000), ("every", 10):
        parser.add_argument("--" + name, type=float, default=default)
    args, options = parser.parse_known_args()
    soak = Soak(args.seconds, int(args.rate), int(args.processes), int(args.life), options)
    seen = []

    def tell(second, metrics):
        memory, cpu = metrics["spantrace_resident_memory_bytes"] / 2**20, metrics["spantrace_cpu_seconds_total"]
        spans = sum(soak.spans(metrics).values())
        before = seen[-1] if seen else (0, 0, cpu, 0)
        seen.append((second, memory, cpu, spans))
        print(f"{second:6.0f} s {spans:12,} spans {(spans - before[3]) / (second - before[0]):9,.0f}/s"
              f"  {memory:6.1f} MiB  {(cpu - before[2]) / (second - before[0]) * 100:5.1f} % of a core"
              f"  {metrics['spantrace_threads']:6.0f} threads  lost {sum(soak.lost(metrics).values())}", flush=True)

    truth, last = soak.run(tell, args.every)
    print(f"{truth['processes']:,} processes, {sum(truth[word] for word in WORDS):,} spans, all there;"
          f" lost {sum(soak.lost(last).values())}")
    half = [memory for second, memory, _, _ in seen if second >= args.seconds / 2]
    first = [memory for second, memory, _, _ in seen if args.seconds / 10 <= second < args.seconds / 2]
    print(f"memory: at most {max(first):.1f} MiB in the first half, {max(half):.1f} MiB in the second")
    return int(max(half) > max(first) * 1.1 + 2 or bool(soak.lost(last)))


if __name__ == "__main__":
    sys.exit(main())
