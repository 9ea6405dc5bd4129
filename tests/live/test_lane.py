#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What only the batched lane can get wrong (tests/programs/batched.c): buffers that are not full when something happens."""
import os
import signal
import subprocess
import tempfile
import time
import unittest

from harness import Attached, LiveTest, OUTPUT, ROOT, Target, program, run, trace

LANE = program("batched")
TSC = os.path.join(OUTPUT, "batched", "tsc")

LIBRARY = """
#include <spantrace.h>
void work(void);
void work(void)
{
	SPAN_SCOPE(lane, library);
	SPAN_EVENT(lane, tock);
}
"""


class Ends(LiveTest):
    def test_kill(self):
        t = trace(LANE, "kill", 1003)
        self.assert_counts(t, {"lane:open": 0, "lane:open;lane:span": 1003})
        self.assertEqual(t.sum("open", "lane:open"), 1)
        self.assertEqual(t.status, 128 + signal.SIGKILL)
        self.assert_lossless(t)

    def test_exit(self):
        t = trace(LANE, "exit", 1003)
        self.assert_counts(t, {"lane:open": 0, "lane:open;lane:span": 1003})
        self.assert_lossless(t)

    def test_exec(self):
        t = trace(LANE, "exec", 1003)
        self.assert_counts(t, {"lane:open": 0, "lane:open;lane:span": 1010})
        self.assertEqual(t.sum("open", "lane:open"), 2)
        self.assert_lossless(t)

    def test_fork(self):
        t = trace(LANE, "fork", 1003)
        # The child's stack is empty, as a traced child's is.
        self.assert_counts(t, {"lane:open": 1, "lane:open;lane:span": 2006, "lane:child": 1003})
        self.assert_lossless(t)

    def test_fork_that_is_not_followed(self):
        t = trace(LANE, "fork", 1003, options=["--no-follow"])
        self.assert_counts(t, {"lane:open": 1, "lane:open;lane:span": 2006})
        self.assert_lossless(t)

    def test_detach_from_threads_that_run_or_wait(self):
        for mode in ("spin", "idle"):
            with self.subTest(mode=mode), Target(LANE, mode, 1003) as target:
                target.expect("ready")
                tracer = Attached(target.pid)
                target.go()
                target.expect("done")
                t = tracer.stop()
                self.assertEqual(t.count("lane:span"), 1003)
                self.assert_lossless(t)
                target.end()
                self.assertEqual(target.process.returncode, 0)

    def test_attach_and_detach_in_the_middle(self):
        with Target(LANE, "make") as target:
            target.expect("ready")
            traces = []
            for _ in range(2):
                tracer = Attached(target.pid)
                time.sleep(0.2)
                traces.append(tracer.stop())
            tracer = Attached(target.pid)
            out = target.end()
            traces.append(tracer.wait())
        made = int(out.split()[-1])
        self.assertEqual(target.process.returncode, 0)
        # Each span at most once, and of the stretches that were traced each.
        counts = [t.count("lane:span") for t in traces]
        self.assertTrue(all(counts), counts)
        self.assertLessEqual(sum(counts), made)
        for t in traces:
            self.assertLessEqual(t.losses["orphan_exit"], 1)
            self.assert_lossless(t, **({"orphan_exit": 1} if t.losses["orphan_exit"] else {}))
            self.assertLessEqual(t.sum("busy_ns", "lane:span"), t.json["duration_ns"])


class Inside(LiveTest):
    def test_allocations(self):
        t = trace(LANE, "alloc", 500, options=["-m", "wall,alloc"])
        self.assertEqual(t.sum("alloc_objects", "lane:outer"), 500)
        self.assertEqual(t.sum("alloc_bytes", "lane:outer"), 50000)
        self.assertEqual(t.sum("alloc_objects", "lane:outer", "lane:inner"), 500)
        self.assertEqual(t.sum("alloc_bytes", "lane:outer", "lane:inner"), 500000)
        event, = t.events("lane:value")
        self.assertEqual((event["count"], event["sum"]), (500, 500 * 499 // 2))
        self.assert_lossless(t)

    def test_time_off_the_cpu(self):
        t = trace(LANE, "sleep", 50)
        asleep, awake = t.rows("lane:asleep")[0], t.rows("lane:awake")[0]
        self.assertEqual((asleep["count"], awake["count"]), (50, 50))
        self.assertGreaterEqual(asleep["vol_switches"], 50)
        self.assertGreaterEqual(asleep["busy_ns"] - asleep["cpu_ns"], 50 * 900000)
        self.assertGreaterEqual(awake["cpu_ns"], 50 * 90000)
        # Of the sleeps nothing may stand with what was awake: it never blocks.
        self.assertLess(awake["blocked_ns"], 50 * 500000)
        self.assertLess(awake["vol_switches"], 50)

    def test_handlers_that_interrupt(self):
        t = trace(LANE, "signals", 300000)
        handled = int(t.stdout.split()[-1])
        total = {}
        for row in t.json["paths"]:
            total[row["path"][-1]] = total.get(row["path"][-1], 0) + row["count"]
        self.assertEqual(total["lane:span"], 300000)
        self.assertEqual(total["lane:handler"] + t.losses["batch_lost"] / 2, handled)
        self.assert_lossless(t, **({"batch_lost": t.losses["batch_lost"]} if t.losses["batch_lost"] else {}))

    def test_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            source, library = os.path.join(folder, "library.c"), os.path.join(folder, "library.so")
            with open(source, "w") as out:
                out.write(LIBRARY)
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-DSPANTRACE_BATCHED", "-I", os.path.join(ROOT, "usdt"),
                            source, "-o", library], check=True)
            with Target(LANE, "library", 300, library) as target:
                target.expect("ready")
                tracer = Attached(target.pid)
                target.go()
                for _ in range(2):
                    target.expect("ready")
                    target.go()
                target.end()
                t = tracer.wait()
        self.assert_counts(t, {"lane:outer": 900, "lane:outer;lane:library": 900})
        for name in ("lane:tick", "lane:tock"):
            self.assertEqual(sum(e["count"] for e in t.events(name)), 900)
        self.assert_lossless(t)

    def test_program_that_comes_later(self):
        """When the trace begins there is a shell, which has no markers; the program is its child. By its second run its
        file is known."""
        command = ["sh", "-c", f"{LANE} sleep 300; {LANE} exit 1003; exit 3"]
        t = trace(*command, options=["--batched"])
        self.assertEqual(t.status, 3)
        self.assertEqual(t.count("lane:open", "lane:span"), 1003)
        self.assertEqual(t.sum("open", "lane:open"), 1)
        # Of the first run, which was in a span as its probes came.
        self.assertLessEqual(t.losses["orphan_exit"], 1)
        self.assert_lossless(t, **({"orphan_exit": 1} if t.losses["orphan_exit"] else {}))
        self.assertIn("begin it anew, with --batched", run("--", *command).stderr)

    def test_tsc(self):
        with Target(TSC, "idle", 100003) as target:
            target.expect("ready")
            tracer = Attached(target.pid)
            target.go()
            target.expect("done")
            t = tracer.stop()
        self.assertEqual(t.count("lane:span"), 100003)
        self.assert_lossless(t)
        t = trace(TSC, "sleep", 50)
        asleep = t.rows("lane:asleep")[0]
        self.assertEqual(asleep["count"], 50)
        # A sleep never takes less than it was asked for: two clocks agree to a hundredth.
        self.assertGreaterEqual(asleep["min_ns"], 990000)
        self.assertLess(asleep["wall_ns"], t.json["duration_ns"])
        self.assert_lossless(t)

    def test_program_that_lies(self):
        t = trace(LANE, "lies", 5000)
        self.assertEqual(t.status, 0)
        self.assertGreater(t.losses["batch_damaged"], 0)
        self.assertGreater(t.losses["batch_lost"], 0)
        for row in t.json["paths"]:
            self.assertLessEqual(row["busy_ns"], t.json["duration_ns"] * max(1, row["count"] + row["open"]))


if __name__ == "__main__":
    unittest.main()
