# SPDX-License-Identifier: MIT
"""-a: programs that ran before, that come later, that come in numbers. Counts are exact; what must wait for probes to
stand waits for spantrace to say so."""
import os
import subprocess
import tempfile
import time

from harness import Attached, LiveTest, program, run
from views import Views, build, static

ALL = ["-a", "-P", "views*"]


def by_pid(t, *path):
    return {row["pid"]: row["count"] for row in t.rows(*path)}


class Processes(LiveTest):
    def test_before_and_after(self):
        with tempfile.TemporaryDirectory() as place, Views() as before:
            later = build(os.path.join(place, "later"))
            tracer = Attached(options=ALL)
            with Views(later) as after, Views() as known:
                tracer.expect("/later: ")
                before.do("work", 100)
                after.do("work", 200)
                known.do("work", 300)
                pids = before.pid, after.pid, known.pid
            t = tracer.stop()
        self.assertEqual(by_pid(t, "views:work"), dict(zip(pids, (100, 200, 300))))
        self.assert_lossless(t)
        self.assertEqual(t.json["target"], "every process")

    def test_library_opened_later(self):
        with tempfile.TemporaryDirectory() as place, Views() as target:
            library = build(os.path.join(place, "library.so"), "-shared", "-fPIC", "-DVIEWS_LIBRARY")
            tracer = Attached(options=ALL)
            target.say("open", library, 50)
            target.expect("opened")
            tracer.expect("/library.so: ")
            target.do()
            t = tracer.stop()
        self.assertEqual(by_pid(t, "viewslib:work"), {target.pid: 50})
        self.assert_lossless(t)

    def test_program_that_is_gone_before_it_is_looked_at(self):
        """Its file is found all the same, for those who run it later."""
        with tempfile.TemporaryDirectory() as place:
            short = build(os.path.join(place, "short"))
            tracer = Attached(options=ALL)
            subprocess.run([short, "once", "1"], check=True)
            tracer.expect("/short: ")
            subprocess.run([short, "once", "7"], check=True)
            t = tracer.stop()
        self.assertEqual(t.count("views:once"), 7)
        self.assert_lossless(t)

    def test_nothing_to_trace(self):
        done = run("-a", "-P", "no_such_provider", "-d", "200ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("every process", done.stdout)
        self.assertIn("No span was recorded", done.stdout)

    def test_exec_in_between(self):
        """A program of -a becomes another: what was open ends, and the other one has rows of its own."""
        with tempfile.TemporaryDirectory() as place, Views() as target:
            other = build(os.path.join(place, "other"))
            tracer = Attached(options=ALL)
            target.do("work", 10)
            target.say("exec", other)
            target.expect("ready")
            tracer.expect("/other: ")
            target.do("work", 20)
            t = tracer.stop()
        self.assertEqual(sorted((row["pid"], row["count"]) for row in t.rows("views:work")),
                         [(target.pid, 10), (target.pid, 20)])
        self.assert_lossless(t)


class Numbers(LiveTest):
    def test_processes_at_once(self):
        with Views() as target:
            tracer = Attached(options=[*ALL, "-o", "summary:-"])
            target.do("crowd", 500, 20)
            t = tracer.stop()
        rows = t.rows("views:work")
        self.assertEqual([row["count"] for row in rows], [20] * 500)
        self.assertEqual(len({row["pid"] for row in rows}), 500)
        self.assert_lossless(t)
        # For people they are one line.
        self.assertIn("views (500 processes)", t.stdout)
        self.assertLess(len(t.stdout.splitlines()), 20)

    def test_short_processes_one_after_another(self):
        with tempfile.TemporaryDirectory() as place, Views(static(place)) as target:
            tracer = Attached(options=ALL)
            target.do("series", 10000, 3)
            t = tracer.stop()
        self.assertEqual(t.count("views:once"), 30000)
        self.assertEqual([row["count"] for row in t.rows("views:once")], [3] * 10000)
        self.assert_lossless(t)

    def test_many_sites(self):
        """10,000 probes: attached and taken out again within a second each; here with room for a machine that is
        busy. The bench has the figures."""
        source = "#include <sys/sdt.h>\nint main(void)\n{\n"
        source += "".join(f"DTRACE_PROBE(views, span{i}__enter);\nDTRACE_PROBE(views, span{i}__exit);\n"
                          for i in range(5000))
        with tempfile.TemporaryDirectory() as place:
            with open(os.path.join(place, "many.c"), "w") as out:
                out.write(source + "return 0;\n}\n")
            binary = os.path.join(place, "many")
            subprocess.run(["gcc", "-O0", binary + ".c", "-o", binary], check=True)
            tracer = Attached(options=ALL)
            subprocess.run([binary], check=True)
            began = time.monotonic()
            tracer.expect("/many: 10000 probes")
            attached = time.monotonic()
            subprocess.run([binary], check=True)
            asked = time.monotonic()
            t = tracer.stop()
            ended = time.monotonic()
        self.assertEqual(sum(row["count"] for row in t.json["paths"]), 5000)
        self.assertEqual(len(t.paths()), 5000)
        self.assert_lossless(t)
        self.assertLess(attached - began, 10)
        self.assertLess(ended - asked, 10)


class Usage(LiveTest):
    def test_no_follow_and_cgroup(self):
        for words in (["-a", "--no-follow"], ["--cgroup", "/", "-p", "1"], ["-a", "-p", "1"]):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn("exclude each other", done.stderr)

    def test_cgroup_that_is_none(self):
        for path, why in (("/no/such", "No such file"), ("/usr", "cgroup v2"), (program("views"), "directory")):
            done = run("--cgroup", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(path, done.stderr)
            self.assertIn(why.lower(), done.stderr.lower())
