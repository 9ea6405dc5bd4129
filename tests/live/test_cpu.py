#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time on the CPU: what spantrace charges to spans against what the kernel counted for the same threads, which the
program reads itself just outside and just inside the begin and the end of its outermost span. It may be pushed off its
CPU between a reading and the probe, so the truth lies between the two, on a machine however loaded."""
import contextlib
import os
import subprocess
import unittest

from harness import LiveTest, Attached, Target, program, trace

CPU = program("cpu")
TICK_NS = 1e9 / os.sysconf("SC_CLK_TCK")
EXACT = ["-m", "cpu=exact"]
# What lies between what the program reads on both sides of its markers.
BRACKETED = ["busy_ns", "run_delay_ns", "vol_switches", "invol_switches", "minor_faults", "major_faults"]
MODES = {"rows": [], "records": ["--stream"]}
USED = ("busy_ns", "runtime", "run_delay_ns", "user", "system", "vol_switches", "invol_switches", "minor_faults",
        "major_faults")


def facts(text):
    """{tid: {"outside": {…}, "inside": {…}, "calls": …}}, times in ns."""
    threads = {}
    for line in text.splitlines():
        what, tid, *numbers = line.split()
        own = threads.setdefault(int(tid), {})
        own[what] = int(numbers[0]) if what == "calls" else dict(zip(USED, map(int, numbers)))
    return threads


def of_thread(t, tid, key):
    return sum(row[key] for row in t.json["paths"] if row["tid"] == tid)


def taken_by_others():
    """What interrupts and the machine beneath have taken of the CPUs so far, in ns: no task counts it, so spantrace has it
    as blocked."""
    with open("/proc/stat") as stat:
        return sum(map(int, stat.readline().split()[6:9])) * TICK_NS


@contextlib.contextmanager
def load(n=3):
    """Others that want the CPUs all the time."""
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(n)]
    try:
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

    def assert_bracketed(self, got, own, key, slack=0):
        self.assertGreaterEqual(got, own["inside"][key] - slack, (key, own))
        self.assertLessEqual(got, own["outside"][key] + slack, (key, own))

    def in_modes(self, check, *args, options=()):
        """CHECK of a trace of the program with its own facts, in each mode."""
        for name, mode in MODES.items():
            with self.subTest(mode=name):
                t = trace(CPU, *args, options=[*mode, *options])
                self.assertEqual(t.status, 0, t.stderr)
                self.assert_lossless(t)
                self.check_rows(t)
                t.facts = facts(t.stdout)
                check(t)


class Sums(CpuTest):
    """Three threads that compute, wait and make system calls, pushed off the CPUs by three others."""

    def check(self, t):
        self.assertEqual(len(t.facts), 3)
        for tid, own in t.facts.items():
            outer = next(row for row in t.rows("cpu:thread") if row["tid"] == tid)
            slack = 0.005 * own["inside"]["runtime"]
            self.assert_bracketed(of_thread(t, tid, "self_cpu_ns"), own, "runtime", slack)
            self.assert_bracketed(outer["cpu_ns"], own, "runtime", slack)
            # What it waited for a CPU: the others' time never is its own.
            for key in BRACKETED:
                self.assert_bracketed(outer[key], own, key)
            # The program goes on until it was pushed off.
            self.assertGreater(outer["run_delay_ns"], 0)
            self.assertGreater(outer["invol_switches"], 0)
            self.assertEqual(of_thread(t, tid, "self_cpu_system_ns"), outer["cpu_system_ns"])
            # Sleeps of 0.7 ms each. Of one that is pushed off before it sleeps a part, or all, is waiting for a CPU.
            waits = next(row for row in t.rows("cpu:thread", "cpu:round", "cpu:wait") if row["tid"] == tid)
            self.assertGreaterEqual(waits["busy_ns"], 0.7e6 * waits["count"])
            self.assertGreater(waits["blocked_ns"], 0)
            # Nothing else blocks.
            self.assertAlmostEqual(outer["blocked_ns"], waits["blocked_ns"],
                                   delta=0.1 * waits["blocked_ns"] + self.taken + 2 * TICK_NS)

    def check_under_load(self, options=()):
        before = taken_by_others()

        def check(t):
            self.taken = taken_by_others() - before
            self.check(t)

        with load():
            self.in_modes(check, "mix", 3, 150, options=options)

    def test_under_load(self):
        self.check_under_load()

    def test_under_load_exact(self):
        self.check_under_load(EXACT)


class Split(CpuTest):
    # Threads that run long enough for many ticks, also where other work takes three of four: of a few, getrusage() makes
    # what it likes, and spantrace less of it.
    def test_sums_are_those_of_getrusage(self):
        def check(t):
            (tid, own), = t.facts.items()
            self.assert_bracketed(of_thread(t, tid, "self_cpu_system_ns"), own, "system", TICK_NS)
            self.assert_bracketed(of_thread(t, tid, "self_cpu_user_ns"), own, "user", TICK_NS)

        self.in_modes(check, "calls", 300)

    def test_short_spans(self):
        """Spans of a thousandth of a tick: no one of them can be told, their sum can."""
        def check(t):
            (tid, own), = t.facts.items()
            self.assert_bracketed(of_thread(t, tid, "self_cpu_system_ns"), own, "system", TICK_NS)

        self.in_modes(check, "short", 60000)

    def test_async(self):
        """Both threads' time is the one span's."""
        def check(t):
            system = sum(own["outside"]["system"] for own in t.facts.values())
            runtime = sum(own["outside"]["runtime"] for own in t.facts.values())
            row = t.rows("cpu:job")[0]
            self.assertEqual(row["count"], 1)
            self.assertAlmostEqual(row["cpu_ns"], runtime, delta=0.01 * runtime)
            self.assertAlmostEqual(row["cpu_system_ns"], system, delta=2 * TICK_NS)

        self.in_modes(check, "async", 1000)

    def test_wall_alone_has_no_split(self):
        t = trace(CPU, "calls", 5, options=["-m", "wall"])
        self.assertNotIn("cpu_system_ns", t.rows("cpu:thread")[0])
        self.assertNotIn("self_cpu_user_ns", t.rows("cpu:thread")[0])


FAULT_NS = 200_000  # of one at most


class Exact(CpuTest):
    # The clock that the program reads around its calls is in its sum, and what comes before the kernel's own hooks.
    def assert_calls(self, got, own):
        self.assertLessEqual(got, 1.05 * own["calls"])
        self.assertGreaterEqual(got, 0.5 * own["calls"])

    def test_calls_are_system_time(self):
        def check(t):
            (_, own), = t.facts.items()
            read, compute = t.rows("cpu:thread", "cpu:read")[0], t.rows("cpu:thread", "cpu:compute")[0]
            self.assert_calls(read["cpu_system_ns"], own)
            # It makes no calls; a page of it that has to come back is the kernel's work all the same.
            faults = compute["minor_faults"] + compute["major_faults"]
            self.assertLessEqual(compute["cpu_system_ns"], faults * FAULT_NS)
            outer = t.rows("cpu:thread")[0]
            self.assertAlmostEqual(outer["cpu_system_ns"], read["cpu_system_ns"], delta=0.05 * own["calls"])

        self.in_modes(check, "calls", 100, options=EXACT)

    def test_short_spans(self):
        def check(t):
            (_, own), = t.facts.items()
            read, compute = t.rows("cpu:thread", "cpu:read")[0], t.rows("cpu:thread", "cpu:compute")[0]
            self.assert_calls(read["cpu_system_ns"], own)
            self.assertLess(compute["cpu_system_ns"], 0.02 * read["cpu_system_ns"])

        self.in_modes(check, "short", 20000, options=EXACT)

    def test_async(self):
        def check(t):
            self.assert_calls(t.rows("cpu:job")[0]["cpu_system_ns"],
                              {"calls": sum(own["calls"] for own in t.facts.values())})

        self.in_modes(check, "async", 200, options=EXACT)

    def test_time_off_the_cpu_is_not_system_time(self):
        """Sleeps are system calls that take long and run little."""
        def check(t):
            waits = t.rows("cpu:thread", "cpu:round", "cpu:wait")
            self.assertEqual(len(waits), 2)
            for row in waits:
                self.assertGreater(row["cpu_system_ns"], 0)
                self.assertLess(row["cpu_system_ns"], 0.1 * row["busy_ns"])

        with load():
            self.in_modes(check, "mix", 2, 150, options=EXACT)

    def test_calls_outside_spans_count_nowhere(self):
        def check(t):
            self.assertEqual(t.rows("cpu:compute")[0]["cpu_system_ns"], 0)

        self.in_modes(check, "others", 100, options=EXACT)

    def test_page_faults(self):
        """System time where the kernel lets programs stand at its functions; else that is said."""
        def check(t):
            (_, own), = t.facts.items()
            system = t.rows("cpu:touch")[0]["cpu_system_ns"]
            if "page faults count as user time" in t.stderr:
                self.assertLess(system, 0.1 * own["calls"])
            else:
                self.assert_calls(system, own)

        self.in_modes(check, "faults", 20, options=EXACT)

    def test_open_in_a_call(self):
        """A span that is open at the end, on a thread that waits in a system call."""
        for name, mode in MODES.items():
            with self.subTest(mode=name), Target(CPU, "late", 100) as target:
                attached = Attached(target.pid, options=[*mode, *EXACT])
                target.go()
                own = facts(target.expect("outside") + target.expect("calls"))[target.pid]
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
                own = facts(target.expect("outside") + target.expect("calls"))[target.pid]
                target.process.kill()
                t = attached.wait()
                row = t.rows("cpu:waits")[0]
                self.assertEqual((row["count"], row["open"]), (0, 1))
                self.assert_calls(row["cpu_system_ns"], own)
                self.check_rows(t)


if __name__ == "__main__":
    unittest.main()
