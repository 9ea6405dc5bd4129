# SPDX-License-Identifier: MIT
"""Delivery to a server that fails, hangs, lies or is not there: everything arrives once, or is counted and said. By the
server of tests/programs/push-server; left out where Go or its modules are not to be had."""
import glob
import os
import unittest

from harness import Attached, Target, program, run
from pyroscope import PyroscopeTest

NESTED = program("usdt/nested")
PUSHED = program("pushed")


class Faults(PyroscopeTest):
    def test_faults(self):
        """All arrives once, whatever the server did before it took it."""
        self.server.stop()
        self.server.start("-faults", "500,429:1,close,503,garbage,hang,cut")
        trace = self.push("--push-timeout", "1s", "--push-wait", "60s", "--", NESTED, "--spans", 200)
        self.assertEqual(trace.status, 0, trace.stderr)
        self.assert_same(trace, self.server.profiles())
        self.assertIn("it is tried again, and what comes waits in memory", trace.stderr)
        self.assertIn("answers again after", trace.stderr)
        self.assertNotIn("dropped", trace.stderr)

    def test_refused(self):
        """Said once, with the server's words; not sent again; no secret in it."""
        self.server.stop()
        self.server.start("-faults", "401")
        with open(self.path("token"), "w") as token:
            token.write("hush-hush\n")
        trace = self.push("--push-token-file", self.path("token"), "--", NESTED, "--spans", 50, interval="100s")
        self.assertEqual(trace.status, 0, trace.stderr)
        self.assertEqual(self.server.profiles(), [])
        self.assertEqual(trace.stderr.count("HTTP 401: fault 401; you said Authorization: Bearer *********"), 1)
        self.assertIn("the server refused 1 push\n", trace.stderr)
        self.assertNotIn("hush", trace.stderr)

    def test_outage(self):
        """The server goes away in the middle and comes back: nothing is missing, nothing is twice."""
        with Target(PUSHED, 1000, "wait") as target:
            target.expect("done")
            attached = Attached(target.pid, options=["--pyroscope", self.server.url, "--interval", "1s",
                                                     "--push-wait", "60s"])
            self.server.stop()
            target.go()
            target.process.wait(60)
            attached.expect("it is tried again")
            self.server.start()
            trace = attached.wait(timeout=120)
        self.assertEqual(trace.count("pushed:request"), 1000)
        self.assert_same(trace, self.server.profiles())
        self.assertIn("answers again after", trace.stderr)

    def push_several(self, *options):
        """One interval that takes several pushes; of these a server takes the first, fails at the next, takes one more."""
        self.server.stop()
        self.server.start("-faults", "ok,503,close,ok,500")
        trace = self.push("--push-wait", "60s", "--by", "number", "--by", "trace_id", "--by", "span_id", *options, "--", PUSHED,
                          20000, interval="1000s")
        self.assertEqual(trace.status, 0, trace.stderr)
        self.assertNotIn("dropped", trace.stderr)
        return trace

    def test_part_of_an_interval(self):
        """What the server has taken does not come again, the rest does."""
        trace = self.push_several()
        profiles = self.server.profiles()
        self.assertGreaterEqual(len({p["request"] for p in profiles}), 3, "they were to come in several pushes")
        self.assert_same(trace, profiles)
        self.assertIn("answers again after", trace.stderr)

    def test_rest_of_an_interval(self):
        """The same where the rest is left to the next run."""
        trace = self.push_several("--spool", self.path("spool"))
        first = self.server.profiles()
        self.assertEqual({p["request"] for p in first}, {1})
        self.assertRegex(trace.stderr, "[1-9] push(es)? left in ")
        self.server.stop()
        self.server.start()
        done = run("--pyroscope", self.server.url, "--spool", self.path("spool"), "--", PUSHED, 0)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(self.server.profiles()), len(first))
        self.assert_same(trace, self.server.profiles())

    def test_spool(self):
        """An outage longer than the run: the next one delivers what this one could not."""
        spool = self.path("spool")
        self.server.stop()
        first = self.push("--spool", spool, "--", PUSHED, 10)
        self.assertEqual(first.status, 0, first.stderr)
        self.assertRegex(first.stderr, r"[1-9]\d* push(es)? left in .*/spool for another run")
        files = glob.glob(spool + "/pyroscope-*.push")
        self.assertTrue(files)
        self.assertEqual({os.stat(file).st_mode & 0o777 for file in files}, {0o600})
        self.assertEqual(os.stat(spool).st_mode & 0o777, 0o700)
        self.server.start()
        second = self.push("--spool", spool, "--", PUSHED, 20)
        self.assertEqual(second.status, 0, second.stderr)
        self.assertIn(f"{len(files)} {'push' if len(files) == 1 else 'pushes'} of an earlier run", second.stderr)
        self.assertEqual(glob.glob(spool + "/pyroscope-*.push"), [])
        self.assertEqual(self.server.sums("count"), {"pushed:request": 30, "pushed:request;pushed:part": 30})
        ids = [p["id"] for p in self.server.profiles()]
        self.assertEqual(len(ids), len(set(ids)))

    def test_silent(self):
        """A server that never answers does not hold up the end, and what it cost is said."""
        self.server.stop()
        self.server.start("-faults", ",".join(["hang"] * 100))
        trace = self.push("--push-wait", "1s", "--", PUSHED, 10, timeout=60)
        self.assertEqual(trace.status, 0, trace.stderr)
        self.assertRegex(trace.stderr, r"[1-9] push(es)? dropped")
        self.assertEqual(trace.count("pushed:request"), 10)

    def test_certificate(self):
        self.server.stop()
        self.server.start(tls=True)
        trace = self.push("--push-wait", "1s", "--", PUSHED, 10)
        self.assertEqual(trace.status, 0, trace.stderr)
        self.assertIn("certificate", trace.stderr)
        self.assertRegex(trace.stderr, r"[1-9] push(es)? dropped")
        self.assertEqual(self.server.profiles(), [])
        trace = self.push("--push-ca", self.server.cert, "--", PUSHED, 10)
        self.assertEqual(trace.stderr, "")
        self.assert_same(trace, self.server.profiles())
        missing = run("--pyroscope", self.server.url, "--push-ca", self.path("none"), "--", PUSHED)
        self.assertEqual(missing.returncode, 125)
        self.assertIn("--push-ca: cannot read", missing.stderr)


if __name__ == "__main__":
    unittest.main()
