#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--sample: what is kept of root spans is whole, what is left out is counted, and how many there are of each is what the
share says. By chance: bounds are six standard deviations of the binomial distribution, which a right program leaves once
in five hundred million times."""
import math
import os
import tempfile
import unittest

from harness import LiveTest, program, run, trace

N = 20000


class Sampled(LiveTest):
    def assert_share(self, got, n, p):
        """GOT of N were kept, each with probability P."""
        self.assertLessEqual(abs(got - n * p), 6 * math.sqrt(n * p * (1 - p)), f"{got} of {n} at {p}")

    def check_roots(self, t, p, n=N):
        kept = t.count("hot:root")
        self.assert_share(kept, n, p)
        self.assert_counts(t, {"hot:root": kept, "hot:root;hot:child": kept, "hot:root;hot:parent": kept,
                               "hot:root;hot:parent;hot:child": kept})
        self.assertEqual(sum(e["count"] for e in t.events("hot:inside")), kept)
        self.assertEqual(sum(e["count"] for e in t.events("hot:outside")), n)
        # Four spans and an event for each root span.
        self.assert_lossless(t, **({"unsampled": 5 * (n - kept)} if n > kept else {}))
        for row in t.json["paths"]:
            children = [other for other in t.json["paths"] if other["path"][:-1] == row["path"]]
            self.assertEqual(row["self_ns"], row["busy_ns"] - sum(other["busy_ns"] for other in children))
            self.assertLessEqual(row["cpu_ns"], row["busy_ns"])
            self.assertEqual(sum(row[key] for key in ("cpu_ns", "run_delay_ns", "blocked_ns")), row["busy_ns"])
        return kept

    def test_children_and_events_follow(self):
        for share, p in (("0.5", 0.5), ("10%", 0.1), ("0.01", 0.01)):
            t = trace(program("hot"), "roots", N, options=["--sample", share])
            self.check_roots(t, p)
            self.assertEqual(t.json["sample_rate"], p)

    def test_streamed(self):
        t = trace(program("hot"), "roots", N, options=["--sample", "0.2", "--stream"])
        self.check_roots(t, 0.2)

    def test_all_of_them(self):
        for share in ("1", "100%"):
            t = trace(program("hot"), "roots", 1000, options=["--sample", share])
            self.assertEqual(self.check_roots(t, 1, 1000), 1000)
            self.assertNotIn("sample_rate", t.json)
        self.assertNotIn("sample_rate", trace(program("hot"), "roots", 1).json)

    def test_of_few_none_may_be_left(self):
        t = trace(program("hot"), "roots", 1, options=["--sample", "0.000000001"])
        self.assert_counts(t, {})
        self.assert_lossless(t, unsampled=5)

    def test_shares_that_are_none(self):
        for option in ("--sample", "--max-overhead"):
            for share in ("0", "0%", "1.1", "101%", "-1", "half", "", "1e-3"):
                done = run(option, share, "--", "true")
                self.assertEqual(done.returncode, 2, share)
                self.assertIn(f'{option}: "{share}" is not a share', done.stderr)

    def test_allocations_follow(self):
        t = trace(program("hot"), "roots", 5000, options=["--sample", "0.3", "-m", "all"])
        kept = t.count("hot:root")
        for path in (("hot:root", "hot:child"), ("hot:root", "hot:parent", "hot:child")):
            self.assertEqual(t.sum("alloc_objects", *path), kept)
            self.assertEqual(t.sum("alloc_bytes", *path), 1000 * kept)
            self.assertEqual(t.sum("inuse_objects", *path), 0)
        # Outside every span all of them count: what the program and its libraries take besides is little.
        outside = t.sum("alloc_objects")
        self.assertGreaterEqual(outside, 5000)
        self.assertLess(outside, 5100)
        self.assert_lossless(t, unsampled=5 * (5000 - kept))

    def test_async_spans_take_it_along(self):
        """Work on other threads, children by their parent's id."""
        n = 6400
        t = trace(program("hot"), "async", n, options=["--sample", "0.25"])
        kept = t.count("hot:job")
        self.assert_share(kept, n, 0.25)
        self.assert_counts(t, {"hot:job": kept, "hot:job;hot:part": kept, "hot:job;hot:child": kept})
        self.assert_lossless(t, unsampled=3 * (n - kept))
        self.assertEqual(sum(row["open"] for row in t.json["paths"]), 0)

    def test_what_a_longjmp_leaves(self):
        """All paths are those of a whole trace, each with its share; an unsampled span is abandoned as any other."""
        n = 5000
        whole = trace(program("hot"), "abandon", n)
        t = trace(program("hot"), "abandon", n, options=["--sample", "0.4"])
        self.assertEqual(t.paths(), whole.paths())
        roots = {path[0] for path in (row["path"] for row in whole.json["paths"])}
        self.assertEqual(roots, {"hot:root"})
        began = sum(row["count"] + row["open"] for row in whole.json["paths"])
        events = sum(event["count"] for event in whole.json["events"])
        mine = sum(row["count"] + row["open"] for row in t.json["paths"])
        mine += sum(event["count"] for event in t.json["events"])
        self.assert_share(t.count("hot:root"), whole.count("hot:root"), 0.4)
        self.assert_lossless(t, unsampled=began + events - mine)

    def test_children_of_the_process(self):
        """A forked child begins outside every span, sampled or not, as it does in a whole trace."""
        n = 300
        t = trace(program("hot"), "forks", n, options=["--sample", "0.5"])
        self.assert_share(t.count("hot:root"), n, 0.5)
        self.assert_share(t.count("hot:forked"), n, 0.5)
        self.assert_lossless(t, unsampled=2 * n - t.count("hot:root") - t.count("hot:forked"))

    def test_deeper_than_the_stack(self):
        """256 frames: the root span, 255 nested in it, 45 that find no room, sampled or not."""
        n = 200
        t = trace(program("hot"), "deep", n, options=["--sample", "0.5"])
        kept = t.count("hot:root")
        self.assert_share(kept, n, 0.5)
        self.assertEqual(sum(row["count"] for row in t.json["paths"]), 256 * kept)
        self.assert_lossless(t, unsampled=256 * (n - kept), too_deep=45 * n)

    def test_every_output_says_it(self):
        with tempfile.TemporaryDirectory() as folder:
            names = ["x.json", "x.pb.gz", "x.svg", "x.chart.svg", "x.trace.json", "x.pftrace", "x.mm_profdata",
                     "x.html", "x.spans", "x.txt"]
            formats = {"x.trace.json": "chrome:", "x.chart.svg": "flamechart:"}
            outputs = [word for name in names
                       for word in ("-o", formats.get(name, "") + os.path.join(folder, name))]
            done = run(*outputs, "--sample", "0.25", "--", program("hot"), "roots", "2000")
            self.assertEqual(done.returncode, 0, done.stderr)
            for name in ("x.spans", "x.mm_profdata"):
                again = os.path.join(folder, "again.json")
                done = run("export", os.path.join(folder, name), "-o", again)
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(again, encoding="utf-8") as file:
                    self.assertIn('"sample_rate": 0.25', file.read(), name)
            words = {"x.json": '"sample_rate": 0.25', "x.mm_profdata": '"sample_ppb": 250000000',
                     "x.html": '"sample": "25 %"'}
            for name in names:
                if name.endswith((".gz", ".spans")):
                    continue
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    text = file.read().replace('":"', '": "').replace('ppb":', 'ppb": ').replace(":  ", ": ")
                self.assertIn(words.get(name, "25 %"), text, name)


if __name__ == "__main__":
    unittest.main()
