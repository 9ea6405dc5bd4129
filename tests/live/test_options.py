# SPDX-License-Identifier: MIT
"""Options of a trace: outputs and their formats, which markers are taken, spans that the user names."""
import json
import os
import subprocess
import tempfile

from harness import LiveTest, Target, Trace, program, run, trace

RULES = program("rules")
NESTED = program("usdt/nested")


class Outputs(LiveTest):
    def outputs(self, *names, command=(NESTED, "--spans", "50")):
        with tempfile.TemporaryDirectory() as place:
            words = []
            for name in names:
                words += ["-o", name.replace("@", place + "/")]
            done = run(*words, "--", *command)
            self.assertEqual(done.returncode, 0, done.stderr)
            files = {}
            for file in os.listdir(place):
                with open(os.path.join(place, file)) as text:
                    files[file] = text.read()
            return done, files

    def test_formats_by_extension(self):
        done, files = self.outputs("@a.json", "@a.folded", "@a.svg", "@a.txt")
        self.assertEqual(sorted(files), ["a.folded", "a.json", "a.svg", "a.txt"])
        self.assertEqual(Trace(files["a.json"]).count("demo:request"), 50)
        self.assertIn("demo::request;demo::parse ", files["a.folded"])
        self.assertIn("<svg", files["a.svg"])
        self.assertIn("demo:parse", files["a.txt"])
        self.assertNotIn("traced for", done.stdout)

    def test_two_outputs_to_one_pipe(self):
        done, _ = self.outputs("json:-", command=("sh", "-c", f"exec {NESTED} --spans 50 >/dev/null"))
        self.assertEqual(Trace(done.stdout).count("demo:request"), 50)

    def folded(self, options):
        _, files = self.outputs(f"folded,{options}:@x", command=(program("usdt/threads"), "--threads", "2",
                                                                 "--spans", "50"))
        lines = {}
        for line in files["x"].splitlines():
            stack, weight = line.rsplit(" ", 1)
            self.assertNotIn(stack, lines, "one line a stack")
            lines[stack] = int(weight)
        return lines

    def test_folded_adds_up_to_the_life_of_the_threads(self):
        _, files = self.outputs("folded:@f", "json:@j", command=(program("usdt/threads"), "--threads", "2",
                                                                 "--spans", "50"))
        t = Trace(files["j"])
        for tid in {row["tid"] for row in t.json["paths"]}:
            inside = sum(row["self_ns"] for row in t.json["paths"] if row["tid"] == tid)
            frames = [line.rsplit(" ", 1) for line in files["f"].splitlines()
                      if line.split(";")[0].split(" ")[0].endswith(f"-{tid}")]
            self.assertEqual(sum(int(w) for stack, w in frames if ";" in stack), inside)
            outside = sum(int(w) for stack, w in frames if ";" not in stack)
            self.assertGreater(outside, 0)
            self.assertLessEqual(inside + outside, t.json["duration_ns"])

    def test_folded_options(self):
        self.assertTrue(any(";" not in stack for stack in self.folded("empty_samples=1")))
        self.assertTrue(all(";" in stack for stack in self.folded("empty_samples=0")))
        self.assertEqual({stack.split(";")[0] for stack in self.folded("threads_collapsed=1")}, {"all-threads"})
        self.assertTrue(all("::" not in stack for stack in self.folded("module_path=0")))
        lines = self.folded("file_and_line=1,empty_samples=0")
        self.assertTrue(all("threads.c:" in stack for stack in lines), lines)

    def test_folded_values(self):
        busy, cpu = self.folded("value=busy,empty_samples=0"), self.folded("value=cpu,empty_samples=0")
        self.assertLessEqual(sum(cpu.values()), sum(busy.values()) * 2)
        self.assertTrue(cpu)

    def test_what_was_not_measured_is_absent(self):
        t = trace(NESTED, "--spans", "10", options=["-m", "wall"])
        row = t.rows("demo:request")[0]
        for key in ("cpu_ns", "self_cpu_ns", "run_delay_ns", "blocked_ns", "vol_switches", "minor_faults",
                    "cpu_user_ns", "alloc_bytes", "inuse_bytes"):
            self.assertNotIn(key, row)
        self.assertEqual(row["count"], 10)

    def test_an_old_file_is_kept_until_there_is_something_to_write(self):
        with tempfile.NamedTemporaryFile(mode="w+", suffix=".json") as out:
            out.write("precious")
            out.flush()
            done = run("-o", out.name, "-p", 4194000)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(open(out.name).read(), "precious")


class Stats(LiveTest):
    def test_hits_are_those_that_the_program_made(self):
        t = trace(NESTED, "--spans", "10", options=["--stats"])
        spans = sum(row["count"] for row in t.json["paths"])
        self.assertRegex(t.stderr, rf"span_enter +{spans} hits")
        self.assertRegex(t.stderr, rf"span_exit +{spans} hits")
        self.assertRegex(t.stderr, r"rings +[0-9.]+ \w+ waited at most")


class Markers(LiveTest):
    def test_exclude(self):
        t = trace(NESTED, "--spans", "10", options=["-x", "demo:parse", "-x", "row"])
        self.assertNotIn("demo:request;demo:parse", t.paths())
        self.assertNotIn("demo:request;demo:query;demo:row", t.paths())
        self.assertEqual(t.count("demo:request", "demo:query"), 10)

    def test_provider(self):
        t = trace(program("throws"), "10", options=["-P", "thr*"])
        self.assertEqual({row["path"][0].split(":")[0] for row in t.json["paths"]}, {"throws"})
        self.assertEqual(t.json["events"], [])

    def test_span_of_the_user(self):
        """A pair that no convention knows, with two ends, and events in the middle."""
        t = trace(program("odd"), "90", options=["-s", "work=odd:go..odd:halt,odd:fail"])
        self.assertEqual(t.count("odd:work"), 90)
        self.assertEqual(sum(e["count"] for e in t.events("odd:note")), 90)
        self.assert_lossless(t)

    def test_span_keyed_by_an_argument(self):
        """Overlapping spans, told apart by their second argument."""
        t = trace(program("odd"), "90", options=["-s", "deal=odd:open..odd:shut@1"])
        self.assertEqual(t.count("odd:deal"), 90)
        self.assertEqual(t.sum("abandoned", "odd:deal"), 0)
        self.assert_lossless(t)

    def test_span_whose_markers_are_not_there(self):
        t = trace(program("odd"), "10", options=["-s", "work=odd:go..odd:nowhere"])
        self.assertIn("odd:nowhere", t.stderr)

    def test_values_of_events(self):
        t = trace(program("odd"), "90")
        (event,) = t.events("odd:note")
        self.assertEqual((event["count"], event["sum"]), (90, sum(i - 50 for i in range(90))))
        (event,) = t.events("odd:plain")
        self.assertEqual(event["count"], 90)
        self.assertNotIn("sum", event)


class Programs(LiveTest):
    """Every way to link a program, traced."""

    def test_link_forms(self):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs", "odd.c")
        forms = {
            "pie": ["gcc", "-pie", "-fPIE"], "no-pie": ["gcc", "-no-pie", "-fno-pie"], "static": ["gcc", "-static"],
            "static-pie": ["gcc", "-static-pie", "-fPIE"], "clang": ["clang"],
            "gold": ["gcc", "-fuse-ld=gold"], "lld": ["clang", "-fuse-ld=lld"], "O0": ["gcc", "-O0"],
            "separate": ["gcc", "-Wl,-z,noseparate-code"],
        }
        with tempfile.TemporaryDirectory() as place:
            for name, compiler in forms.items():
                with self.subTest(name):
                    binary = os.path.join(place, name)
                    subprocess.run([*compiler, "-O2", source, "-o", binary], check=True)
                    subprocess.run(["strip", binary], check=True)
                    t = trace(binary, "20", options=["-s", "work=odd:go..odd:halt,odd:fail"])
                    self.assertEqual(t.count("odd:work"), 20)
                    (event,) = t.events("odd:note")
                    self.assertEqual((event["count"], event["sum"]), (20, sum(i - 50 for i in range(20))))

    def test_programs_that_become_another(self):
        """env, nice and a shell have no markers; what they become is traced from its first instruction."""
        for command in (["env", "A=1", "nice", NESTED], ["sh", "-c", f"A=1; exec {NESTED}"]):
            t = trace(*command)
            self.assertEqual(t.count("demo:request"), 1000)
            self.assert_lossless(t)

    def test_program_that_a_child_execs(self):
        """Its probes stand some milliseconds after its exec; from then on nothing is missed."""
        t = trace("sh", "-c", f"{{ sleep 1; echo; }} | {program('usdt/threads')} --wait 1 --threads 2 --spans 2000; :")
        self.assertEqual(t.count("demo:job"), 4000)
        self.assertEqual(t.count("demo:job", "demo:compute"), 4000)
        self.assert_lossless(t)

    def test_several_processes_at_once(self):
        from harness import Attached
        with Target(RULES, "late", "30") as a, Target(RULES, "late", "40") as b:
            a.expect("ready")
            b.expect("ready")
            tracer = Attached(a.pid, b.pid)
            a.go()
            b.go()
            a.expect("done")
            b.expect("done")
            a.end()
            b.end()
            t = tracer.wait()
        by_pid = {row["pid"]: row["count"] for row in t.rows("rules:labelled")}
        self.assertEqual(by_pid, {a.pid: 30, b.pid: 40})
