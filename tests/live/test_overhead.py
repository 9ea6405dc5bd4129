#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--max-overhead: a definition that is hit millions of times loses its probes, the calm ones beside it and in other
processes keep theirs and are exact; what was seen is either there or counted. And the warning where there is no limit."""
import re
import unittest

from harness import Attached, LiveTest, Target, program


def numbers(text):
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if len(line.split()) == 2}


class Limit(LiveTest):
    def metered(self, stderr, name):
        """Hits that --stats tells of a definition."""
        found = re.search(rf"^  {name} +([0-9,]+) hits", stderr, re.M)
        self.assertIsNotNone(found, stderr)
        return int(found.group(1).replace(",", ""))

    def check(self, t, said, calm):
        """T saw a program that SAID its counts; CALM other spans besides its own."""
        hot = t.count("hot:tiny")
        self.assertEqual(t.count("hot:calm"), calm)
        self.assertEqual(t.count("hot:calm", "hot:detail"), calm)
        self.assertEqual({";".join(row["path"]) for row in t.json["paths"]} - {"hot:calm;hot:detail"},
                         {"hot:tiny", "hot:calm"})
        # What the probes saw is delivered or shed; the rest came while none stood.
        seen = self.metered(t.stderr, "hot:tiny") // 2
        self.assertEqual(seen, hot + t.sum("open", "hot:tiny") + t.losses["shed"])
        self.assertGreater(hot, 0)
        self.assertGreater(t.losses["shed"], 0)
        self.assertLess(seen, said["hot"])
        self.assertEqual(t.sum("abandoned"), 0)
        # One enter, at most, was missed each time that the probes came back.
        self.assertLessEqual(t.losses["orphan_exit"], 8)
        self.assert_lossless(t, shed=t.losses["shed"],
                             **({"orphan_exit": t.losses["orphan_exit"]} if t.losses["orphan_exit"] else {}))
        refused = [r for r in t.json["refused"] if r["marker"] == "hot:tiny"]
        self.assertEqual(len(refused), 1)
        self.assertIn("taken out for --max-overhead", refused[0]["why"])

    def test_the_hot_one_goes_the_calm_ones_stay(self):
        for options in ((), ("--stream",), ("-a", "-P", "hot")):
            with self.subTest(options=options), Target(program("hot"), "loop") as target:
                target.expect("ready")
                pids = () if "-a" in options else (target.pid,)
                tracer = Attached(*pids, options=["--max-overhead", "5%", "--stats", *options])
                target.go()
                tracer.expect("hot:tiny: ")
                tracer.expect("probes are out")
                said = numbers(target.end())
                t = tracer.stop() if "-a" in options else tracer.wait()
                self.check(t, said, said["calm"])
                self.assertEqual(t.stderr.count("--max-overhead is 5 %"), 1)

    def test_it_comes_back(self):
        """Probes that were taken out come back after their pause, and go again where the rate is as it was."""
        with Target(program("hot"), "loop") as target:
            target.expect("ready")
            tracer = Attached(target.pid, options=["--max-overhead", "60%", "--stats", "-vv"])
            target.go()
            for _ in range(2):
                tracer.expect("hot:tiny: its probes are out")
                tracer.expect("hot:tiny: its probes stand again", timeout=120)
                tracer.stderr = ""
            said = numbers(target.end())
            t = tracer.wait()
        self.check(t, said, said["calm"])

    def test_each_process_has_its_own(self):
        """A calm process runs beside a hot one: it is not blamed, and its calm spans are there."""
        with Target(program("hot"), "loop") as hot, Target(program("hot"), "paced") as paced:
            hot.expect("ready")
            paced.expect("ready")
            tracer = Attached(hot.pid, paced.pid, options=["--max-overhead", "5%", "--stats"])
            hot.go()
            paced.go()
            tracer.expect("hot:tiny: ")
            tracer.expect("probes are out")
            said, other = numbers(hot.end()), numbers(paced.end())
            t = tracer.wait()
        self.check(t, said, said["calm"] + other["calm"])
        self.assertIn(f"of process {hot.pid}", t.stderr)
        self.assertNotIn(f"of process {paced.pid}", t.stderr)

    def test_nothing_is_taken_from_the_calm(self):
        with Target(program("hot"), "paced") as target:
            target.expect("ready")
            tracer = Attached(target.pid, options=["--max-overhead", "50%"])
            target.go()
            said = numbers(target.end())
            t = tracer.wait()
        self.assertEqual(t.count("hot:calm"), said["calm"])
        self.assert_lossless(t)
        self.assertEqual(t.json["refused"], [])

    def test_semaphores_and_probes_are_gone_after_a_kill(self):
        """kill -9 while some probes are out: the target runs on at full speed."""
        with Target(program("hot"), "loop") as target:
            target.expect("ready")
            tracer = Attached(target.pid, options=["--max-overhead", "5%"])
            target.go()
            tracer.expect("probes are out")
            tracer.process.kill()
            tracer.process.communicate()
            said = numbers(target.end())
            self.assertEqual(target.process.returncode, 0)
        self.assertGreater(said["hot"], 0)

    def test_a_warning_where_there_is_no_limit(self):
        with Target(program("hot"), "loop") as target:
            target.expect("ready")
            tracer = Attached(target.pid)
            target.go()
            tracer.expect("leave some out with -x 'hot:tiny', or set a limit with --max-overhead 5%")
            said = numbers(target.end())
            t = tracer.wait()
        self.assertEqual(t.stderr.count("of the targets' CPU time"), 1)
        self.assertEqual(t.count("hot:tiny"), said["hot"])
        self.assert_lossless(t)


if __name__ == "__main__":
    unittest.main()
