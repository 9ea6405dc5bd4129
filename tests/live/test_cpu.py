#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time on the CPU: what spantrace charges to spans against what the kernel counted for the same threads, which the
program reads itself at the begin and the end of its outermost span."""
import contextlib
import os
import subprocess
import time
import unittest

from harness import LiveTest, Attached, Target, program, trace

CPU = program("cpu")
TICK_NS = 1e9 / os.sysconf("SC_CLK_TCK")
EXACT = ["-m", "cpu=exact"]
MODES = {"rows": [], "records": ["--stream"]}


def facts(text):
    """{tid: {"runtime": …, "run_delay": …, "user": …, "system": …, "calls": …}}, in ns."""
    threads = {}
    for line in text.splitlines():
        words = line.split()
        if words[0] == "thread":
            threads[int(words[1])] = dict(zip(("runtime", "run_delay", "user", "system"), map(int, words[2:])))
        elif words[0] == "calls":
            threads[int(words[1])]["calls"] = int(words[2])
    return threads


def of_thread(t, tid, key):
    return sum(row[key] for row in t.json["paths"] if row["tid"] == tid)


@contextlib.contextmanager
def load(n=3):
    """Others that want the CPUs all the time."""
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(n)]
    try:
        time.sleep(0.2)
        yield
    finally:
        for process in others:
            process.kill()
            process.wait()


class CpuTest(LiveTest):
    def check_rows(self, t):
        """What holds in each row, whatever was measured."""
        for row in t.json["paths"]:
            self.assertEqual(row["cpu_user_ns"] + row["cpu_system_ns"], row["cpu_ns"], row)
            self.assertEqual(row["self_cpu_user_ns"] + row["self_cpu_system_ns"], row["self_cpu_ns"], row)
            self.assertEqual(row["cpu_ns"] + row["run_delay_ns"] + row["blocked_ns"], row["busy_ns"], row)
            self.assertLessEqual(row["self_cpu_ns"], row["cpu_ns"], row)

    def traced(self, *args, options=()):
        """{mode: trace} of the program, with its own facts."""
        for name, mode in MODES.items():
            with self.subTest(mode=name):
                t = trace(CPU, *args, options=[*mode, *options])
                self.assertEqual(t.status, 0, t.stderr)
                self.assert_lossless(t)
                self.check_rows(t)
                t.facts = facts(t.stdout)
                yield t


class Sums(CpuTest):
    """Three threads that compute, wait and make system calls, pushed off the CPUs by three others."""

    def check(self, t):
        self.assertEqual(len(t.facts), 3)
        for tid, own in t.facts.items():
            runtime = of_thread(t, tid, "self_cpu_ns")
            self.assertAlmostEqual(runtime, own["runtime"], delta=0.005 * own["runtime"])
            outer = next(row for row in t.rows("cpu:thread") if row["tid"] == tid)
            self.assertAlmostEqual(outer["cpu_ns"], own["runtime"], delta=0.005 * own["runtime"])
            # What it waited for a CPU: the others' time never is its own.
            self.assertAlmostEqual(outer["run_delay_ns"], own["run_delay"], delta=0.005 * own["run_delay"] + 1e6)
            self.assertGreater(outer["run_delay_ns"], 0)
            self.assertGreater(outer["invol_switches"], 0)
            # Sleeps of 0.7 ms each, and a part of them only may have passed while it could have run.
            waits = next(row for row in t.rows("cpu:thread", "cpu:round", "cpu:wait") if row["tid"] == tid)
            self.assertGreaterEqual(waits["blocked_ns"] + waits["cpu_ns"], 0.7e6 * waits["count"])
            self.assertAlmostEqual(outer["blocked_ns"], waits["blocked_ns"], delta=0.1 * waits["blocked_ns"] + 5e6)
            self.assertAlmostEqual(of_thread(t, tid, "self_cpu_system_ns"), outer["cpu_system_ns"],
                                   delta=0.005 * own["runtime"])

    def test_under_load(self):
        with load():
            for t in self.traced("mix", 3, 1500):
                self.check(t)

    def test_under_load_exact(self):
        with load():
            for t in self.traced("mix", 3, 1500, options=EXACT):
                self.check(t)


class Split(CpuTest):
    # Threads that run long enough for many ticks: of a few, getrusage() makes what it likes, and spantrace less of it.
    def test_sums_are_those_of_getrusage(self):
        for t in self.traced("calls", 200):
            (tid, own), = t.facts.items()
            self.assertAlmostEqual(of_thread(t, tid, "self_cpu_system_ns"), own["system"], delta=TICK_NS)
            self.assertAlmostEqual(of_thread(t, tid, "self_cpu_user_ns"), own["user"], delta=TICK_NS)

    def test_short_spans(self):
        """Spans of a thousandth of a tick: no one of them can be told, their sum can."""
        for t in self.traced("short", 60000):
            (tid, own), = t.facts.items()
            self.assertAlmostEqual(of_thread(t, tid, "self_cpu_system_ns"), own["system"], delta=TICK_NS)

    def test_async(self):
        """Both threads' time is the one span's."""
        for t in self.traced("async", 300):
            system = sum(own["system"] for own in t.facts.values())
            runtime = sum(own["runtime"] for own in t.facts.values())
            row = t.rows("cpu:job")[0]
            self.assertEqual(row["count"], 1)
            self.assertAlmostEqual(row["cpu_ns"], runtime, delta=0.01 * runtime)
            self.assertAlmostEqual(row["cpu_system_ns"], system, delta=2 * TICK_NS)

    def test_wall_alone_has_no_split(self):
        t = trace(CPU, "calls", 5, options=["-m", "wall"])
        self.assertNotIn("cpu_system_ns", t.rows("cpu:thread")[0])
        self.assertNotIn("self_cpu_user_ns", t.rows("cpu:thread")[0])


class Exact(CpuTest):
    # The clock that the program reads around its calls is in its sum, and what comes before the kernel's own hooks.
    def assert_calls(self, got, own):
        self.assertLessEqual(got, 1.05 * own["calls"])
        self.assertGreaterEqual(got, 0.5 * own["calls"])

    def test_calls_are_system_time(self):
        for t in self.traced("calls", 100, options=EXACT):
            (tid, own), = t.facts.items()
            read, compute = t.rows("cpu:thread", "cpu:read")[0], t.rows("cpu:thread", "cpu:compute")[0]
            self.assert_calls(read["cpu_system_ns"], own)
            self.assertEqual(compute["cpu_system_ns"], 0)
            outer = t.rows("cpu:thread")[0]
            self.assertAlmostEqual(outer["cpu_system_ns"], read["cpu_system_ns"], delta=0.05 * own["calls"])

    def test_short_spans(self):
        for t in self.traced("short", 20000, options=EXACT):
            (tid, own), = t.facts.items()
            read, compute = t.rows("cpu:thread", "cpu:read")[0], t.rows("cpu:thread", "cpu:compute")[0]
            self.assert_calls(read["cpu_system_ns"], own)
            self.assertLess(compute["cpu_system_ns"], 0.02 * read["cpu_system_ns"])

    def test_async(self):
        for t in self.traced("async", 200, options=EXACT):
            self.assert_calls(t.rows("cpu:job")[0]["cpu_system_ns"],
                              {"calls": sum(own["calls"] for own in t.facts.values())})

    def test_time_off_the_cpu_is_not_system_time(self):
        """Sleeps are system calls that take long and run little."""
        with load():
            for t in self.traced("mix", 2, 1000, options=EXACT):
                waits = t.rows("cpu:thread", "cpu:round", "cpu:wait")
                self.assertEqual(len(waits), 2)
                for row in waits:
                    self.assertGreater(row["cpu_system_ns"], 0)
                    self.assertLess(row["cpu_system_ns"], 0.1 * row["busy_ns"])

    def test_calls_outside_spans_count_nowhere(self):
        for t in self.traced("others", 100, options=EXACT):
            self.assertEqual(t.rows("cpu:compute")[0]["cpu_system_ns"], 0)

    def test_page_faults(self):
        """System time where the kernel lets programs stand at its functions; else that is said."""
        for t in self.traced("faults", 20, options=EXACT):
            (_, own), = t.facts.items()
            system = t.rows("cpu:touch")[0]["cpu_system_ns"]
            if "page faults count as user time" in t.stderr:
                self.assertLess(system, 0.1 * own["calls"])
            else:
                self.assert_calls(system, own)

    def test_open_in_a_call(self):
        """A span that is open at the end, on a thread that waits in a system call."""
        for name, mode in MODES.items():
            with self.subTest(mode=name), Target(CPU, "late", 100) as target:
                attached = Attached(target.pid, options=[*mode, *EXACT])
                target.go()
                own = facts(target.expect("thread") + target.expect("calls"))[target.pid]
                t = attached.stop()
                row = t.rows("cpu:waits")[0]
                self.assertEqual((row["count"], row["open"]), (0, 1))
                self.assert_calls(row["cpu_system_ns"], own)
                self.check_rows(t)

    def test_killed_in_a_call(self):
        for name, mode in MODES.items():
            with self.subTest(mode=name), Target(CPU, "late", 100) as target:
                attached = Attached(target.pid, options=[*mode, *EXACT])
                target.go()
                own = facts(target.expect("thread") + target.expect("calls"))[target.pid]
                target.process.kill()
                t = attached.wait()
                row = t.rows("cpu:waits")[0]
                self.assertEqual((row["count"], row["open"]), (0, 1))
                self.assert_calls(row["cpu_system_ns"], own)
                self.check_rows(t)


if __name__ == "__main__":
    unittest.main()
