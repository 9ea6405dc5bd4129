# SPDX-License-Identifier: MIT
"""The rules a user sees, each on a program made for it (tests/programs/rules.c, throws.cc)."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from harness import Attached, LiveTest, SPANTRACE, Target, Trace, program, run, trace

RULES = program("rules")


class Rules(LiveTest):
    def test_recursion_nests(self):
        t = trace(RULES, "recursion", 100)
        self.assert_counts(t, {";".join(["rules:recurse"] * depth): 100 for depth in range(1, 6)})
        self.assert_lossless(t)
        self.assertEqual(sum(row["abandoned"] for row in t.json["paths"]), 0)
        outer, inner = t.rows(*["rules:recurse"])[0], t.rows(*["rules:recurse"] * 2)[0]
        self.assertEqual(outer["self_ns"], outer["busy_ns"] - inner["busy_ns"])

    def test_longjmp_ended_by_next_enter(self):
        t = trace(RULES, "longjmp", 100)
        # The last pair has no next enter: it is open when the thread ends.
        self.assert_counts(t, {"rules:lost": 99, "rules:lost;rules:inner": 99})
        for path in (["rules:lost"], ["rules:lost", "rules:inner"]):
            self.assertEqual(t.sum("abandoned", *path), 99)
            self.assertEqual(t.sum("open", *path), 1)
        self.assert_lossless(t)

    def test_longjmp_ended_by_outer_exit(self):
        t = trace(RULES, "longjmp-outer", 100)
        self.assert_counts(t, {"rules:outer": 100, "rules:outer;rules:lost": 100,
                               "rules:outer;rules:lost;rules:inner": 100})
        self.assertEqual(t.sum("abandoned", "rules:outer"), 0)
        self.assertEqual(t.sum("abandoned", "rules:outer", "rules:lost"), 100)
        self.assertEqual(t.sum("abandoned", "rules:outer", "rules:lost", "rules:inner"), 100)
        self.assert_lossless(t)

    def test_exception(self):
        t = trace(program("throws"), 100)
        self.assertEqual(t.count("throws:turn"), 100)
        self.assertEqual(t.count("throws:turn", "throws:lost"), 100)
        self.assertEqual(t.sum("abandoned", "throws:turn", "throws:lost"), 100)
        self.assertEqual(t.count("throws:turn", "throws:scope"), 100)
        self.assertEqual(t.sum("abandoned", "throws:turn", "throws:scope"), 0)
        self.assert_lossless(t)

    def test_exit_without_enter(self):
        t = trace(RULES, "orphan", 100)
        self.assert_counts(t, {"rules:good": 100})
        self.assertEqual(t.sum("abandoned", "rules:good"), 0)
        self.assert_lossless(t, orphan_exit=200)

    def test_too_deep_keeps_the_balance(self):
        t = trace(RULES, "deep", 300)
        # 256 of the first 300, all of the later 10, and the span between them stands by itself.
        by_depth = {len(row["path"]): row["count"] for row in t.json["paths"] if row["path"][0] == "rules:deep"}
        self.assertEqual(by_depth, {depth: 2 if depth <= 10 else 1 for depth in range(1, 257)})
        self.assertEqual(t.count("rules:after"), 1)
        self.assert_lossless(t, too_deep=44)

    def test_deep_enough(self):
        t = trace(RULES, "deep", 200)
        self.assertEqual(t.count(*["rules:deep"] * 200), 1)
        self.assert_lossless(t)

    def test_late_attach(self):
        with Target(RULES, "late", 100) as target:
            target.expect("ready")
            tracer = Attached(target.pid)
            target.go()
            target.expect("done")
            target.end()
            t = tracer.wait()
        self.assert_counts(t, {"rules:labelled": 100})
        self.assert_lossless(t, orphan_exit=1)

    def test_thread_end(self):
        t = trace(RULES, "thread-end", 50)
        self.assertEqual(t.count("rules:whole"), 50)
        self.assertEqual(t.sum("open", "rules:open"), 50)
        self.assertEqual(t.count("rules:open"), 0)
        self.assertEqual(len({row["tid"] for row in t.rows("rules:whole")}), 50)
        self.assert_lossless(t)

    def test_fork_starts_with_an_empty_stack(self):
        t = trace(RULES, "fork", 20)
        self.assert_counts(t, {"rules:parent": 20, "rules:child": 20})
        parents = {row["pid"] for row in t.rows("rules:parent")}
        children = {row["pid"] for row in t.rows("rules:child")}
        self.assertEqual((len(parents), len(children)), (1, 20))
        self.assertFalse(parents & children)
        self.assert_lossless(t, orphan_exit=20)

    def test_no_follow_leaves_the_children_out(self):
        t = trace(RULES, "fork", 20, options=["--no-follow"])
        self.assert_counts(t, {"rules:parent": 20})
        self.assert_lossless(t)

    def test_exec_ends_open_spans(self):
        t = trace(RULES, "exec", 10)
        self.assertEqual(t.count("rules:before"), 1)
        self.assertEqual(t.sum("open", "rules:open"), 1)
        self.assertEqual(t.count("rules:recurse"), 10)
        self.assertEqual(t.count(*["rules:recurse"] * 5), 10)
        self.assert_lossless(t)

    def test_target_killed(self):
        with Target(RULES, "killed", 1000) as target:
            target.expect("ready")  # its spans are over, and nobody saw them
            tracer = Attached(target.pid)
            target.process.kill()
            t = tracer.wait()
        self.assertEqual(t.json["paths"], [])
        t = self.killed_from_the_start()
        self.assertEqual(t.count("rules:done"), 1000)
        self.assertEqual(t.sum("open", "rules:open"), 1)
        self.assertEqual(t.status, 128 + signal.SIGKILL)
        self.assert_lossless(t)

    def killed_from_the_start(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            tracer = subprocess.Popen([SPANTRACE, "-o", "json:" + out.name, "--", RULES, "killed", "1000"],
                                      stdout=subprocess.PIPE, text=True)
            self.assertEqual(tracer.stdout.readline(), "ready\n")
            child = int(open(f"/proc/{tracer.pid}/task/{tracer.pid}/children").read().split()[0])
            os.kill(child, signal.SIGKILL)
            tracer.communicate(timeout=30)
            return Trace(open(out.name).read(), tracer.returncode)

    def test_overlapping_async_spans(self):
        t = trace(RULES, "overlap", 100)
        self.assertEqual(t.count("rules:task"), 150)
        self.assertEqual(t.sum("open", "rules:task"), 50)
        self.assertEqual(t.sum("abandoned", "rules:task"), 0)
        self.assertEqual(t.count("rules:around"), 100)
        self.assertEqual(t.sum("abandoned", "rules:around"), 0)
        self.assert_lossless(t)

    def test_named_parents(self):
        t = trace(RULES, "parents", 100)
        self.assertEqual(t.count("rules:task"), 1)
        self.assertEqual(t.count("rules:task", "rules:subtask"), 100)
        self.assertEqual(t.count("rules:task", "rules:subtask", "rules:step"), 100)
        self.assertEqual(t.count("rules:subtask"), 100)
        self.assert_lossless(t, unknown_parent=100)

    def test_fibers(self):
        t = trace(RULES, "fibers", 100)
        total = sum(row["count"] for row in t.json["paths"])
        self.assertEqual(total, 200)
        self.assert_lossless(t)


def memory_of(pid, path, address, length):
    """Bytes in a process at an address as linked in a position-independent file."""
    for line in open(f"/proc/{pid}/maps"):
        match = re.match(r"([0-9a-f]+)-\S+ \S+ 00000000 \S+ \d+ +(.*)", line)
        if match and match.group(2) == path:
            with open(f"/proc/{pid}/mem", "rb") as memory:
                memory.seek(int(match.group(1), 16) + address)
                return memory.read(length)
    raise AssertionError(f"{path} is not mapped in {pid}")


class TargetUnharmed(LiveTest):
    """kill -9 of spantrace: the target goes on, its nops are back, its semaphores are 0."""

    def sites(self):
        listed = json.loads(run("list", "--json", RULES).stdout)
        return [s for s in listed["files"][0]["sites"] if s["marker"].startswith("rules:labelled")]

    def test_spantrace_killed(self):
        sites = self.sites()
        self.assertEqual(len(sites), 4)
        semaphores = [s["semaphore"] for s in sites if "semaphore" in s]
        self.assertTrue(semaphores)
        with Target(RULES, "endless") as target:
            target.expect("ready")
            tracer = Attached(target.pid)
            time.sleep(0.3)
            probed = [s for s in sites if s["nop"] != "batched"]
            for site in probed:
                self.assertEqual(memory_of(target.pid, RULES, site["address"], 1), b"\xcc")
            for address in semaphores:
                self.assertNotEqual(memory_of(target.pid, RULES, address, 2), b"\0\0")
            tracer.process.kill()
            tracer.process.wait()
            deadline = time.time() + 10
            while time.time() < deadline:
                if all(memory_of(target.pid, RULES, s["address"], 1) == b"\x90" for s in probed):
                    break
                time.sleep(0.05)
            for site in probed:
                self.assertEqual(memory_of(target.pid, RULES, site["address"], 1), b"\x90")
            for address in semaphores:
                self.assertEqual(memory_of(target.pid, RULES, address, 2), b"\0\0")
            self.assertIsNone(target.process.poll())
            self.assertIn("truth rules:labelled", target.end())
            self.assertEqual(target.process.returncode, 0)
