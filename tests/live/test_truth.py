# SPDX-License-Identifier: MIT
"""Counts, parents, threads and times against what the programs themselves say they did."""
import os
import signal
import subprocess
import time
import unittest

from harness import Attached, LiveTest, Target, program, trace


def truth(text):
    """The facts a program of usdt/ prints: {(kind, path): numbers}."""
    facts = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[0] in ("truth", "abandoned", "open", "event", "time", "cpu"):
            facts[words[0], words[1]] = [int(word) for word in words[2:]]
    return facts


class Examples(LiveTest):
    def check(self, t, facts, tolerance=0.05):
        self.assertTrue(facts)
        spans = {path: numbers[0] for (kind, path), numbers in facts.items() if kind == "truth"}
        mine = {path: count for path, count in self.counts(t).items() if not path.startswith("libstdcxx")}
        self.assertEqual(mine, spans)
        for (kind, path), numbers in facts.items():
            frames = path.split(";")
            if kind == "abandoned":
                self.assertEqual(t.sum("abandoned", *frames), numbers[0], path)
            elif kind == "open":
                self.assertEqual(t.sum("open", *frames), numbers[0], path)
            elif kind == "event":
                events = t.events(frames[-1])
                self.assertEqual(sum(e["count"] for e in events), numbers[0], path)
                if any("sum" in e for e in events):
                    self.assertEqual(sum(e["sum"] for e in events), numbers[1], path)
        self.assert_lossless(t)

    def counts(self, t):
        counts = {}
        for row in t.json["paths"]:
            key = ";".join(row["path"])
            counts[key] = counts.get(key, 0) + row["count"]
        return counts

    def test_nested(self):
        t = trace(program("usdt/nested"))
        self.check(t, truth(t.stdout))

    def test_async(self):
        t = trace(program("usdt/async"))
        self.check(t, truth(t.stdout))

    def test_scopes_in_cpp(self):
        t = trace(program("usdt/scopes"), options=["-x", "libstdcxx:*"])
        self.check(t, truth(t.stdout))

    def test_threads(self):
        t = trace(program("usdt/threads"), "--threads", "4", "--spans", "500")
        self.check(t, truth(t.stdout))
        outer = [row for row in t.json["paths"] if len(row["path"]) == 1]
        self.assertEqual(len({row["tid"] for row in outer}), len(outer))

    def test_attached_while_it_runs(self):
        with Target(program("usdt/threads"), "--wait", "1", "--threads", "3", "--spans", "200") as target:
            target.expect("ready")
            tracer = Attached(target.pid)
            target.go()
            out = target.end()
            t = tracer.wait()
        self.check(t, truth(out))

    def test_a_million_spans(self):
        t = trace(program("usdt/threads"), "--threads", "4", "--spans", "250000", timeout=300)
        facts = truth(t.stdout)
        emitted = sum(numbers[0] for (kind, _), numbers in facts.items() if kind == "truth")
        delivered = sum(row["count"] for row in t.json["paths"])
        self.assertGreaterEqual(emitted, 1000000)
        lost = t.losses["ring_full"]
        self.assertEqual(delivered + lost, emitted)
        self.assertEqual({name for name, count in t.losses.items() if count}, {"ring_full"} if lost else set())


class Losses(LiveTest):
    def test_what_finds_no_room_is_counted(self):
        """spantrace is stopped while the program makes more spans than the ring holds."""
        with Target(program("usdt/threads"), "--wait", "1", "--threads", "2", "--spans", "20000") as target:
            target.expect("ready")
            tracer = Attached(target.pid, options=["--stream", "--ring-size", "64K"])
            tracer.process.send_signal(signal.SIGSTOP)
            target.go()
            facts = truth(target.end())
            tracer.process.send_signal(signal.SIGCONT)
            t = tracer.wait()
        emitted = sum(numbers[0] for (kind, _), numbers in facts.items() if kind == "truth")
        events = sum(numbers[0] for (kind, _), numbers in facts.items() if kind == "event")
        delivered = sum(row["count"] for row in t.json["paths"]) + sum(e["count"] for e in t.json["events"])
        self.assertGreater(t.losses["ring_full"], 1000)
        self.assertEqual(delivered + t.losses["ring_full"], emitted + events)
        self.assertEqual({name for name, count in t.losses.items() if count}, {"ring_full"})
        # Parents are right all the same: each path that is there is one of the program's.
        known = {path for (kind, path) in facts if kind == "truth"}
        self.assertLessEqual(t.paths(), known)


class Times(LiveTest):
    def test_times_of_long_spans(self):
        t = trace(program("rules"), "sleeps", "20")
        measured = [int(line.split()[1]) for line in t.stdout.splitlines() if line.startswith("span")]
        self.assertEqual(len(measured), 20)
        self.assertEqual(t.count("rules:sleep"), 20)
        row = t.rows("rules:sleep")[0]
        self.assertAlmostEqual(row["wall_ns"], sum(measured), delta=0.05 * sum(measured))
        self.assertAlmostEqual(row["min_ns"], min(measured), delta=0.05 * min(measured))
        self.assertAlmostEqual(row["max_ns"], max(measured), delta=0.05 * max(measured))

    def test_cpu_time_under_load(self):
        """50 ms of computing and 50 ms of sleep, while three others keep every core busy."""
        load = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(3)]
        try:
            time.sleep(0.2)
            t = trace(program("rules"), "cpu", "10")
        finally:
            for process in load:
                process.kill()
                process.wait()
        spans = [tuple(map(int, line.split()[1:])) for line in t.stdout.splitlines() if line.startswith("span")]
        self.assertEqual(len(spans), 10)
        row = t.rows("rules:half")[0]
        self.assertEqual(row["count"], 10)
        self.assertAlmostEqual(row["cpu_ns"], 10 * 50e6, delta=10 * 0.5e6)
        self.assertGreaterEqual(row["min_ns"], 100e6)
        self.assertEqual(row["run_delay_ns"] + row["blocked_ns"] + row["cpu_ns"], row["busy_ns"])
        self.assertGreater(row["run_delay_ns"], 0)
        self.assertGreaterEqual(row["blocked_ns"], 10 * 50e6)
        self.assertGreaterEqual(row["vol_switches"], 10)


if __name__ == "__main__":
    unittest.main()
