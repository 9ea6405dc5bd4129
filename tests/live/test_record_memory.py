#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory in recordings: single spans tell what they allocated, by the program's own ledger, and what is made of a
recording is what the trace itself said."""
import json
import os
import tempfile
import unittest

from harness import LiveTest, program, run
from test_alloc import ledger

ALLOCS = program("allocs")


class Recorded(LiveTest):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.spans = os.path.join(place.name, "x.spans")
        self.live = os.path.join(place.name, "live.json")
        self.place = place.name

    def record(self, *command, options=()):
        """What the program told of itself."""
        done = run("-o", self.spans, "-o", "json:" + self.live, *options, "--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return ledger(done.stdout)

    def export(self, *words):
        done = run("export", self.spans, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def view(self):
        done = run("view", "--json", self.spans)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def assert_same(self, *command):
        self.record(*command, options=["-m", "all", "--leaks", "10ms", "--heap-interval", "50ms"])
        live, recorded = json.load(open(self.live)), json.loads(self.export("--json"))
        for key in "paths", "events", "memory", "heap_snapshots", "duration_ns", "target":
            self.assertEqual(recorded[key], live[key], key)
        return live

    def test_export_is_the_trace(self):
        """Rows with allocations, mappings, live heap and suspects; those outside every span; snapshots."""
        for words in ["kinds"], ["threads"], ["maps"], ["longjmp"]:
            with self.subTest(words):
                live = self.assert_same(ALLOCS, *words)
                self.assertTrue(live["paths"])
                self.assertGreater(len(live["heap_snapshots"]), 0)
        self.assertIn([], [row["path"] for row in self.assert_same(ALLOCS, "threads")["paths"]])

    def test_spans_tell_what_they_allocated(self):
        told = self.record(ALLOCS, "threads", options=["-m", "alloc"])
        got = {}
        for span in self.view():
            self.assertLessEqual(span["self_alloc_bytes"], span["alloc_bytes"])
            name = span["path"][-1]
            sums = got.setdefault(name, [0, 0])
            sums[0] += span["self_alloc_objects"]
            sums[1] += span["self_alloc_bytes"]
        self.assertEqual({name: sums for name, sums in got.items() if any(sums)},
                         {name: row[:2] for name, row in told.items()})
        # Not twice: the rows have what they had without single spans.
        rows = json.load(open(self.live))["paths"]
        for name, sums in got.items():
            self.assertEqual([sum(row[key] for row in rows if row["path"] == [name])
                              for key in ("alloc_objects", "alloc_bytes")], sums)

    def test_nothing_where_nothing_is_counted(self):
        self.record(ALLOCS, "threads")
        self.assertFalse([key for span in self.view() for key in span if "alloc" in key])

    def test_reports(self):
        told = self.record(ALLOCS, "threads", options=["-m", "alloc"])
        report = json.loads(run("report", "--json", "--sort", "alloc_bytes", self.spans).stdout)
        self.assertEqual([item["name"] for item in report["items"]],
                         sorted(told, key=lambda name: -told[name][1]) +
                         [item["name"] for item in report["items"] if item["name"] not in told])
        for item in report["items"]:
            self.assertEqual([item["alloc_objects"], item["alloc_bytes"]], told.get(item["name"], [0, 0])[:2])
        counter = os.path.join(self.place, "x.mm_profdata")
        self.export("-o", "mm_profdata,counter=allocated-bytes:" + counter)
        by_bytes = json.loads(run("report", "--json", counter).stdout)
        self.assertEqual(by_bytes["counter"], "allocated-bytes")
        self.assertEqual({item["name"]: item["self_ns"] for item in by_bytes["items"] if item["self_ns"]},
                         {name: row[1] for name, row in told.items()})


if __name__ == "__main__":
    unittest.main()
