#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Allocations beyond one process and its own ledger: processes that fork, exec, are attached to, or are confined by
seccomp; tables that are full; suspects, snapshots, samples, mappings; real programs beside a second witness."""
import os
import re
import subprocess
import tempfile
import unittest
from unittest import mock

from harness import LiveTest, ROOT, SPANTRACE, Attached, Target, Trace, program, run, trace
from test_alloc import KEYS, PRELOADED, MemoryTest, counted, ledger

FIRST, SECOND = "allocs:first", "allocs:second"


class Followed:
    """spantrace -v on a command, its messages read as they come, its input written by the test."""

    def __init__(self, *command, options=()):
        self.out = tempfile.NamedTemporaryFile(suffix=".json")
        self.process = subprocess.Popen([SPANTRACE, "-v", "-o", "json:" + self.out.name, *options, "--", *command],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)

    def expect(self, pattern):
        for line in self.process.stderr:
            found = re.search(pattern, line)
            if found:
                return found
        raise AssertionError(f"no message like {pattern}")

    def end(self, line):
        stdout, stderr = self.process.communicate(line, timeout=120)
        return Trace(open(self.out.name).read(), self.process.returncode, stderr, stdout)


class Processes(MemoryTest):
    def test_a_child_is_probed_after_its_fork(self):
        follow = Followed(program("allocs"), "fork", "500", options=["-m", "heap"])
        parent = follow.expect(r"process (\d+): \d+ functions").group(1)
        child = parent
        while child == parent:
            child = follow.expect(r"process (\d+): \d+ functions").group(1)
        t = follow.end("\n")
        self.assert_ledger(t)
        self.assertEqual({str(row["pid"]) for row in t.rows(FIRST)}, {child})
        self.assertEqual(t.json["memory"]["processes"], 2)
        self.assertEqual(t.json["memory"]["late_processes"], 1)

    def test_exec_keeps_what_the_image_before_held(self):
        t = trace(program("allocs"), "exec", "300", options=["-m", "heap"])
        self.assert_ledger(t)
        self.assertEqual(len(t.rows(FIRST)), 2)
        self.assertEqual([row["inuse_objects"] for row in t.rows(FIRST)], [300, 300])

    def test_attached_to(self):
        """What it had before is nobody's, and freeing it is nothing."""
        with Target(program("allocs"), "attach", "1000") as target:
            target.expect("ready")
            attached = Attached(target.pid, options=["-m", "heap", "--leaks", "1ns"])
            target.go()
            told = ledger(target.end())
            t = attached.wait()
        self.assertEqual(counted(t), told)
        self.assertEqual(t.sum("inuse_objects", SECOND), 0)
        self.assertEqual(t.sum("leak_objects", FIRST), 1000)
        self.assert_lossless(t)

    def test_exec_by_another_thread(self):
        """It takes the leader's place and number; probes are kept to the leader that is gone, so it gets new ones."""
        follow = Followed(program("allocs"), "thread-exec", "300", options=["-m", "heap"])
        first, second = (follow.expect(r"process (\d+): \d+ functions").group(1) for _ in range(2))
        self.assertEqual(first, second)
        t = follow.end("\n")
        self.assert_ledger(t)
        self.assertEqual(t.json["memory"]["late_processes"], 1)
        self.assertEqual([row["inuse_objects"] for row in t.rows(FIRST)], [300, 300])
        self.assertEqual(len({row["pid"] for row in t.rows(FIRST)}), 1)

    def test_threads_outlive_the_leader(self):
        with Target(program("allocs"), "leaderless", "500", "0") as target:
            target.expect("ready")
            attached = Attached(target.pid, options=["-m", "heap"])
            target.go()
            told = ledger(target.end())
            t = attached.wait()
        self.assertEqual(told[FIRST][0], 500)
        self.assertEqual(counted(t), told)
        self.assert_lossless(t)

    def test_attached_when_the_leader_has_ended(self):
        """The kernel cannot keep probes within it: that is said."""
        with Target(program("allocs"), "leaderless", "500", "1") as target:
            target.expect("ready")
            target.go()
            target.expect("alone")
            attached = Attached(target.pid, options=["-m", "heap"])
            target.go()
            target.end()
            t = attached.wait()
        self.assertIn("its first thread has ended", t.stderr)
        self.assertEqual(t.count(FIRST), 1)
        self.assertEqual(t.sum("alloc_objects"), 0)

    def test_all_processes(self):
        """-a: the probes stand in the file, and children have them from their fork on. For as short as can be: they are in
        everybody's C library."""
        with Target(program("allocs"), "fork", "500") as target:
            child = int(target.expect("child").split()[1])
            attached = Attached(options=["-a", "-m", "heap"])
            target.go()
            told = ledger(target.end())
            t = attached.stop()
        rows = [row for row in t.rows(FIRST) if row["pid"] == child]
        self.assertEqual([[sum(row[key] for row in rows) for key in KEYS]], list(told.values()))

    def test_the_rest_of_the_machine_is_left_alone(self):
        """A process beside the target has no breakpoint in its malloc."""
        with Target("/usr/bin/cat") as other, Target(program("allocs"), "attach", "10") as target:
            target.expect("ready")
            attached = Attached(target.pid, options=["-m", "heap"])
            self.assertTrue(breakpoints(target.pid))
            self.assertFalse(breakpoints(other.pid))
            target.go()
            target.end()
            attached.wait()


class Markers(MemoryTest):
    """A process that tells of its own samples by otel_memory's markers is believed, and its allocator left alone."""
    N = 1000
    TOLD = [100 * N, 4800 * N, 50 * N, 2400 * N]

    def of_work(self, t):
        return [t.sum(key, "otel:work") for key in KEYS]

    def test_instead_of_the_allocator(self):
        t = trace(program("otel"), str(self.N), options=["-m", "heap"])
        self.assertEqual(t.stdout, f"told {self.N}\n")
        self.assertEqual(self.of_work(t), self.TOLD)
        self.assertEqual(t.json["memory"]["markers"], 2)
        # What the dynamic linker and printf allocate nobody tells of.
        self.assertEqual(t.sum("alloc_objects"), 0)
        self.assertEqual(t.events("otel_memory:alloc"), [])
        self.assert_lossless(t)

    def test_alloc_alone(self):
        t = trace(program("otel"), str(self.N), options=["-m", "alloc"])
        self.assertEqual([t.sum(key, "otel:work") for key in KEYS[:2]], self.TOLD[:2])
        self.assertEqual(t.json["memory"]["markers"], 1)

    def test_not_asked_for_they_are_silent(self):
        t = trace(program("otel"), str(self.N), options=["-m", "wall"])
        self.assertEqual(t.stdout, "told 0\n")

    def test_they_come_with_a_library(self):
        """Until then the allocator's functions are probed, and what they gave stays followed."""
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "otel.so")
            subprocess.run(["gcc", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-I" + ROOT + "/usdt", "-o", library,
                            ROOT + "/tests/programs/otel.c"], check=True)
            follow = Followed("/usr/bin/python3", "-I", "-c",
                              f"import ctypes; l = ctypes.CDLL({library!r}); input(); l.emit({self.N})",
                              options=["-m", "heap"])
            follow.expect("functions of its allocators are probed")
            follow.expect("its own markers tell of allocations, at 2 sites")
            follow.expect(r"otel\.so: \d+ probe")  # of its spans
            t = follow.end("\n")
        self.assertEqual(self.of_work(t), self.TOLD)
        self.assertGreater(t.sum("alloc_objects"), 0)

    def test_list_says_so(self):
        self.assertIn("-m alloc and -m heap count by its markers", run("list", program("otel")).stdout)


class Confined(MemoryTest):
    """Under seccomp a thread may not even do what the kernel does by itself at a function's return, unless the kernel exempts
    that. The second program is spantrace for which it does not: no return is touched, what is allocated counts at the
    entry."""
    PROGRAMS = {"as it is": SPANTRACE, "kernel that kills": program("shy")}

    def each(self, check):
        for name, tracer in self.PROGRAMS.items():
            with self.subTest(kernel=name), mock.patch("harness.SPANTRACE", tracer):
                check()

    def assert_confined(self, t, unseen):
        """UNSEEN objects in whose calls a return was not probed, if any was."""
        shy = t.json["memory"]["entry_only_processes"]
        self.assertEqual(t.status, 0)
        self.assertLessEqual(shy, 1)
        self.assert_lossless(t, **({"heap_unseen": unseen} if shy else {}))
        self.assertEqual("under seccomp" in t.stderr, bool(shy), t.stderr)
        return shy

    def test_from_the_begin(self):
        def check():
            for mode in "filter", "strict":
                t = trace(program("confined"), mode, "500", options=["-m", "heap"])
                shy = self.assert_confined(t, 1000)
                self.assert_ledger(t, heap=not shy)
                self.assertEqual(t.sum("inuse_objects", FIRST), 0 if shy else 500)

        self.each(check)

    def test_a_thread_after_the_attach(self):
        """Blocks that the others hold stay followed."""
        def check():
            with Target(program("confined"), "thread", "500") as target:
                target.expect("ready")
                attached = Attached(target.pid, options=["-m", "heap"])
                target.go()
                told = ledger(target.end())
                t = attached.wait()
                self.assertEqual(target.process.returncode, 0)
            self.assertEqual(told[FIRST], [1001, 24540, 1000, 24500])
            self.assertEqual(told[SECOND][:2], [552, 500 + 12250 + 750])
            shy = self.assert_confined(t, 552)
            if shy:
                told[SECOND][2:] = [0, 0]
            self.assertEqual(counted(t), told)

        self.each(check)

    def test_mappings(self):
        def check():
            t = trace(program("confined"), "filter", "5", options=["-m", "mmap"])
            self.assertEqual(t.status, 0)

        self.each(check)


def breakpoints(pid):
    """Whether the C library's text in the process differs from the file: that is where a probe stands."""
    for line in open(f"/proc/{pid}/maps"):
        fields = line.split()
        if len(fields) < 6 or "libc.so" not in fields[5] or "x" not in fields[1]:
            continue
        start, end = (int(part, 16) for part in fields[0].split("-"))
        with open(f"/proc/{pid}/mem", "rb") as memory, open(fields[5], "rb") as file:
            memory.seek(start)
            file.seek(int(fields[2], 16))
            return memory.read(end - start) != file.read(end - start)
    raise AssertionError("no C library")


class Bounds(MemoryTest):
    def test_table_of_blocks_full(self):
        t = trace(program("allocs"), "hold", "5000", options=["-m", "heap", "--heap-objects", "1000"])
        told = ledger(t.stdout)[FIRST]
        self.assertEqual(t.status, 0)
        self.assertEqual(counted(t)[FIRST][:2], told[:2])
        self.assertGreater(t.losses["heap_full"], 0)
        # Outside the span some blocks are live too: those of the C library.
        self.assertLessEqual(t.sum("inuse_objects", FIRST), 1000)
        self.assertGreaterEqual(t.sum("inuse_objects", FIRST) + t.losses["heap_full"], 5000)

    def test_table_of_rows_full(self):
        """64 threads of three rows each in a table of 32: what finds none is counted."""
        t = trace(program("allocs"), "threads", "100", "64", options=["-m", "alloc", "--rows", "32"])
        told = ledger(t.stdout)[FIRST]
        self.assertEqual(t.status, 0)
        self.assertGreater(t.losses["alloc_no_row"], 0)
        inside = t.sum("alloc_objects", FIRST)
        outside = t.sum("alloc_objects")
        self.assertLessEqual(inside, told[0])
        self.assertGreaterEqual(inside + outside + t.losses["alloc_no_row"], told[0])

    def test_ring_full(self):
        """Spans that are lost take no allocation with them."""
        t = trace(program("allocs"), "many", "2000000", options=["-m", "alloc", "--stream", "--ring-size", "64K"],
                  timeout=300)
        self.assertEqual(t.status, 0)
        self.assert_ledger(t, heap=False)


class Suspects(MemoryTest):
    def test_by_path(self):
        t = trace(program("allocs"), "threads", "100", "4", options=["-m", "heap", "--leaks", "1ns"])
        self.assertEqual(t.sum("leak_objects", FIRST), 200)
        self.assertEqual(t.sum("leak_bytes", FIRST), t.sum("inuse_bytes", FIRST))
        self.assertGreater(max(row["leak_oldest_ns"] for row in t.rows(FIRST)), 0)

    def test_younger_ones_are_none(self):
        t = trace(program("allocs"), "hold", "100", options=["-m", "heap", "--leaks", "1h"])
        self.assertEqual(t.sum("leak_objects", FIRST), 0)
        self.assertEqual(t.sum("inuse_objects", FIRST), 100)

    def test_snapshots(self):
        t = trace(program("allocs"), "many", "1000000", options=["-m", "heap", "--heap-interval", "50ms"])
        taken = t.json["heap_snapshots"]
        self.assertGreater(len(taken), 2)
        self.assertEqual([one["time_ns"] for one in taken], sorted(one["time_ns"] for one in taken))
        last = sum(row["inuse_bytes"] for row in t.json["paths"])
        self.assertEqual(taken[-1]["inuse_bytes"], last)


class Samples(MemoryTest):
    def test_estimates_are_unbiased(self):
        """2,000,000 blocks of 8 to 135 bytes, one sample in 4096 bytes: 35,000 samples, so within 3 % (5 sigma)."""
        t = trace(program("allocs"), "many", "2000000", options=["-m", "alloc", "--alloc-sample", "4096"], timeout=300)
        told = ledger(t.stdout)[FIRST]
        self.assertAlmostEqual(t.sum("alloc_bytes", FIRST) / told[1], 1, delta=0.03)
        self.assertAlmostEqual(t.sum("alloc_objects", FIRST) / told[0], 1, delta=0.05)
        self.assertNotEqual(t.sum("alloc_objects", FIRST), told[0])

    def test_what_is_held_is_estimated_too(self):
        t = trace(program("allocs"), "hold", "1000000", options=["-m", "heap", "--alloc-sample", "1024"], timeout=300)
        told = ledger(t.stdout)[FIRST]
        self.assertAlmostEqual(t.sum("inuse_bytes", FIRST) / told[3], 1, delta=0.05)

    def test_all_of_it_freed_is_0(self):
        t = trace(program("allocs"), "later", "5", options=["-m", "heap", "--alloc-sample", "256"])
        self.assertGreater(t.sum("alloc_objects", FIRST), 0)
        self.assertEqual(t.sum("inuse_objects", FIRST), 0)
        self.assertEqual(t.sum("inuse_bytes", FIRST), 0)


class Mappings(MemoryTest):
    def test_mappings(self):
        t = trace(program("allocs"), "maps", "20", options=["-m", "mmap"])
        self.assertEqual(t.status, 0)
        # 10,000 bytes are 3 pages, 50,000 are 13: one mapping, one growth by 10.
        self.assertEqual((t.sum("map_calls", FIRST), t.sum("map_bytes", FIRST)), (40, 20 * 13 * 4096))
        self.assertEqual((t.sum("unmap_calls", SECOND), t.sum("unmap_bytes", SECOND)), (20, 20 * 13 * 4096))
        self.assertEqual(t.sum("unmap_calls", FIRST) + t.sum("map_calls", SECOND), 0)
        self.assertNotIn("alloc_objects", t.rows(FIRST)[0])


class Operators(MemoryTest):
    def test_operators(self):
        """By libstdc++, where they call malloc, and by allocators where they do not; those that throw are let through."""
        # This one aborts instead of throwing, with and without a tracer.
        for library, throws in ("", 20), (PRELOADED["jemalloc"], 20), (PRELOADED["tcmalloc"], 20), \
                (PRELOADED["mimalloc"], 0):
            t = trace("env", "LD_PRELOAD=" + library, program("throws_alloc"), "100", str(throws),
                      options=["-m", "heap"])
            with self.subTest(library=library):
                self.assertEqual(t.status, 0)
                told = re.search(r"cxx:news (\d+) (\d+)", t.stdout)
                self.assertEqual(t.sum("alloc_objects", "cxx:news"), int(told.group(1)))
                self.assertEqual(t.sum("alloc_bytes", "cxx:news"), int(told.group(2)))
                self.assertEqual(t.sum("inuse_objects", "cxx:news"), 0)
                self.assertEqual(t.losses["heap_unseen"] >= 200, library != "")
                self.assertEqual(t.count("cxx:throws"), 1)


SQL = """create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x+1 from c where x<2000) insert into t select x, 'row '||x from c;
create index i on t(b);
select count(*), sum(length(b)) from t where b like '%9%';
delete from t where a%3=0;
vacuum;
"""

SCRIPT = """import json
text = json.dumps({str(i): [i] * (i % 50) for i in range(3000)})
print(len(text), len(json.loads(text)))
"""


class Witnessed(MemoryTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text):
        path = os.path.join(self.folder.name, name)
        open(path, "w").write(text)
        return path

    def sums(self, t):
        return [sum(row[key] for row in t.json["paths"])
                for key in ("alloc_objects", "alloc_bytes", "inuse_objects", "inuse_bytes")]

    def test_sqlite3_beside_valgrind(self):
        """Two runs of a program that does the same each time."""
        command = ["/usr/bin/sqlite3", ":memory:", ".read " + self.path("script", SQL)]
        t = trace(*command, options=["-m", "heap"])
        told = subprocess.run(["valgrind", "--run-libc-freeres=no", *command], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=True).stderr.replace(",", "")
        total = re.search(r"total heap usage: (\d+) allocs \d+ frees (\d+) bytes", told)
        left = re.search(r"in use at exit: (\d+) bytes in (\d+) blocks", told)
        self.assertEqual(self.sums(t), [int(total.group(1)), int(total.group(2)), int(left.group(2)),
                                        int(left.group(1))])

    def test_beside_a_witness_in_the_process(self):
        """One run, counted from outside and from inside; python3 with its markers armed, which allocate too."""
        library = os.path.join(self.folder.name, "witness.so")
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-fno-builtin", "-o", library,
                        ROOT + "/tests/programs/preload/witness.c"], check=True)
        for command in ["/usr/bin/python3", "-I", self.path("script.py", SCRIPT)], \
                ["/usr/bin/sqlite3", ":memory:", ".read " + self.path("script", SQL)]:
            t = trace("env", "LD_PRELOAD=" + library, *command, options=["-m", "heap"])
            told = re.findall(r"^witness (\d+) (\d+)$", t.stderr, re.M)
            with self.subTest(command=command[0]):
                self.assertEqual(len(told), 1, t.stderr)
                got = [[row["alloc_objects"], row["alloc_bytes"]] for row in t.json["paths"]]
                # env allocates before it becomes the command, without the witness: its row is the first.
                outside = [n for n, row in enumerate(t.json["paths"]) if not row["path"]]
                if len(outside) > 1:
                    del got[outside[0]]
                self.assertEqual([sum(column) for column in zip(*got)], [int(n) for n in told[0]])
                self.assert_lossless(t)


if __name__ == "__main__":
    unittest.main()
