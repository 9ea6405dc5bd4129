#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many threads, processes and async spans alive at one time: exact counts, and nothing is lost. Paths, and
threads one after the other, are in test_rows.py; `make bench BENCHFLAGS="--only scale"` says what they take."""
import re
import unittest

from harness import LiveTest, program, trace

SPANS = 3


class Scale(LiveTest):
    def check(self, t, n, who):
        """Each of N has its SPANS in rows of its own."""
        self.assertIn(f"truth many:work {n * SPANS}", t.stdout)
        for path in ("many:work",), ("many:work", "many:step"):
            rows = t.rows(*path)
            self.assertEqual(len({who(row) for row in rows}), n)
            self.assertEqual(len(rows), n)
            self.assertEqual({row["count"] for row in rows}, {SPANS})
        self.assert_lossless(t)

    def test_10000_threads_at_once(self):
        for options in [], ["--stream"]:
            with self.subTest(options=options):
                t = trace(program("many"), "crowd", "10000", str(SPANS), options=options, timeout=300)
                self.check(t, 10000, lambda row: row["tid"])

    def test_1000_processes_at_once(self):
        for options in [], ["--stream"]:
            with self.subTest(options=options):
                t = trace(program("many"), "processes", "1000", str(SPANS), options=options, timeout=300)
                self.check(t, 1000, lambda row: row["pid"])

    def test_40000_async_spans_at_once(self):
        """More than the kernel side has slots for: the rest of them is kept elsewhere, and nobody can tell."""
        for n in 1, 100, 10000, 40000:
            for options in [], ["--stream"]:
                with self.subTest(n=n, options=options):
                    t = trace(program("many"), "alive", str(n), str(SPANS), options=options, timeout=300)
                    count, abandoned, still_open = map(int, re.search(r"count (\d+) abandoned (\d+) open (\d+)",
                                                                      t.stdout).groups())
                    self.assertEqual(t.count("many:job"), count)
                    self.assertEqual(t.sum("abandoned", "many:job"), abandoned)
                    self.assertEqual(t.sum("open", "many:job"), still_open)
                    self.assert_lossless(t, id_reused=abandoned)


if __name__ == "__main__":
    unittest.main()
