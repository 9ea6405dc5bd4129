#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Allocations and live heap: what allocs.c did, by its own ledger, is what the trace says, exactly: with every
allocator, over threads and processes, and where tables are full."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import LiveTest, ROOT, program, trace

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
PRELOADED = {
    "jemalloc": LIBRARIES + "libjemalloc.so.2",
    "tcmalloc": LIBRARIES + "libtcmalloc_minimal.so.4",
    "mimalloc": LIBRARIES + "libmimalloc.so.2.0",
}
KEYS = ("alloc_objects", "alloc_bytes", "inuse_objects", "inuse_bytes")


def ledger(text):
    """What the program says that it did, by span."""
    told = {}
    for name, *numbers in re.findall(r"^(allocs:\w+) (\d+) (\d+) (\d+) (\d+)$", text, re.M):
        told[name] = [a + int(b) for a, b in zip(told.get(name, [0] * 4), numbers)]
    return told


def counted(t, keys=KEYS):
    """The same, as the trace has it; spans that allocated nothing are left out."""
    got = {}
    for row in t.json["paths"]:
        if len(row["path"]) != 1 or not row["alloc_objects"]:
            continue
        name = row["path"][0]
        got[name] = [a + row[key] for a, key in zip(got.get(name, [0] * len(keys)), keys)]
    return got


class MemoryTest(LiveTest):
    def assert_ledger(self, t, heap=True):
        told = ledger(t.stdout)
        self.assertTrue(told, t.stderr)
        if heap:
            self.assertEqual(counted(t), told)
        else:
            self.assertEqual(counted(t, KEYS[:2]), {name: row[:2] for name, row in told.items()})
        self.assertEqual(t.status, 0)

    def check(self, *words, command=None, options=(), losses=None):
        """Runs a mode with live heap, and with allocations alone."""
        command = command or [program("allocs")]
        for metric in "heap", "alloc":
            t = trace(*command, *words, options=["-m", metric, *options], timeout=300)
            with self.subTest(metric=metric, words=words):
                self.assert_ledger(t, metric == "heap")
                self.assert_lossless(t, **(losses or {}))


class Glibc(MemoryTest):
    def test_every_way_to_a_block(self):
        self.check("kinds", "50")

    def test_realloc(self):
        self.check("realloc", "100")

    def test_what_fails_is_nothing(self):
        self.check("fail", "5")

    def test_64_threads(self):
        self.check("threads", "500", "64")

    def test_memory_outlives_span_and_thread(self):
        t = trace(program("allocs"), "later", "20", options=["-m", "heap", "--rows", "64"], timeout=300)
        self.assert_ledger(t)
        self.assert_lossless(t)
        self.assertEqual(t.sum("inuse_bytes", "allocs:first"), 0)

    def test_single_spans_wanted(self):
        """Spans come as records, allocations in rows all the same."""
        t = trace(program("allocs"), "threads", "500", "8", options=["-m", "heap", "--stream"])
        self.assert_ledger(t)
        self.assertEqual(t.count("allocs:first"), 16)

    def test_static(self):
        with tempfile.TemporaryDirectory() as folder:
            binary = build(folder, "gcc", "-static")
            self.check("all", "20", "16", command=[binary])

    def test_8_million(self):
        t = trace(program("allocs"), "many", "8000000", options=["-m", "heap"], timeout=600)
        self.assert_ledger(t)
        self.assert_lossless(t)
        self.assertEqual(t.sum("alloc_objects", "allocs:first"), 8000000)
        self.assertEqual(t.sum("inuse_bytes", "allocs:first"), 0)


def build(folder, compiler, *flags):
    """The program again, otherwise. musl's headers lack <sys/sdt.h>, which needs nothing else."""
    shutil.copy("/usr/include/x86_64-linux-gnu/sys/sdt.h", os.path.join(folder, "sdt.h"))
    os.makedirs(os.path.join(folder, "sys"), exist_ok=True)
    for name in "sdt.h", "sdt-config.h":
        shutil.copy("/usr/include/x86_64-linux-gnu/sys/" + name, os.path.join(folder, "sys", name))
    for name in "linux", "asm", "asm-generic":
        source = "/usr/include/x86_64-linux-gnu/asm" if name == "asm" else "/usr/include/" + name
        if compiler == "musl-gcc" and not os.path.exists(os.path.join(folder, name)):
            os.symlink(source, os.path.join(folder, name))
    binary = os.path.join(folder, "allocs")
    subprocess.run([compiler, "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-I" + ROOT + "/usdt", "-I" + folder, *flags,
                    ROOT + "/tests/programs/allocs.c", "-lpthread", "-o", binary], check=True)
    return binary


class OtherAllocators(MemoryTest):
    def preloaded(self, name, *words, heap=True):
        t = trace("env", "LD_PRELOAD=" + PRELOADED[name], program("allocs"), *words,
                  options=["-m", "heap" if heap else "alloc"], timeout=300)
        with self.subTest(name=name, words=words, heap=heap):
            self.assert_ledger(t, heap)
            # tcmalloc's own constructors come by its operator new.
            own = t.losses["heap_unseen"] if name == "tcmalloc" else 0
            self.assertLess(own, 10)
            self.assert_lossless(t, **({"heap_unseen": own} if own else {}))

    def test_preloaded(self):
        for name in PRELOADED:
            self.preloaded(name, "all", "20", "16")
            self.preloaded(name, "all", "20", "16", heap=False)

    def test_musl(self):
        for flags in (), ("-static",):
            with tempfile.TemporaryDirectory() as folder:
                binary = build(folder, "musl-gcc", *flags)
                self.check("all", "20", "16", command=[binary])

    def test_one_that_is_named(self):
        """PREFIXmalloc of a file; every third call leaves it by a longjmp, which is no allocation."""
        t = trace(program("allocs"), "longjmp", "999",
                  options=["-m", "heap", "--allocator", program("allocs") + ":pool_"])
        self.assert_ledger(t)
        self.assertEqual(t.sum("alloc_objects", "allocs:first"), 666)


if __name__ == "__main__":
    unittest.main()
