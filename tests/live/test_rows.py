#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Aggregated mode at its bounds: rows of threads that have ended are used again, and what finds no room in the tables
takes the way of the ring. Every span counts all the same."""
import unittest

from harness import LiveTest, program, trace


class Bounds(LiveTest):
    def test_more_rows_than_the_table_holds(self):
        """70,000 threads of two rows each: rows of ended threads must be used again."""
        t = trace(program("many"), "threads", "70000", "3", timeout=300)
        self.assertEqual(t.count("many:work"), 210000)
        self.assertEqual(t.count("many:work", "many:step"), 210000)
        self.assertEqual(len(t.rows("many:work")), 70000)
        self.assertEqual({row["count"] for row in t.rows("many:work")}, {3})
        self.assert_lossless(t)

    def test_100000_paths(self):
        t = trace(program("many"), "paths", "4", "2", timeout=300)
        expected = 18 + 18**2 + 18**3 + 18**4
        self.assertIn(f"paths {expected}", t.stdout)
        self.assertEqual(len(t.json["paths"]), expected)
        self.assertEqual({row["count"] for row in t.json["paths"]}, {2})
        self.assert_lossless(t)

    def test_quantiles_extremes_and_mean_agree(self):
        for row in trace(program("rules"), "sleeps", "20").json["paths"]:
            self.assertLessEqual(row["min_ns"], row["p50_ns"])
            self.assertLessEqual(row["p50_ns"], row["p99_ns"])
            self.assertLessEqual(row["p99_ns"], row["max_ns"])
            self.assertEqual(row["mean_ns"], row["wall_ns"] // row["count"])


if __name__ == "__main__":
    unittest.main()
