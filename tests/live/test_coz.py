# SPDX-License-Identifier: MIT
"""coz driven from outside: what its counters say, what it finds, and what goes wrong."""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from postgres import Postgres
from harness import ROOT, SPANTRACE, LiveTest, program, run

SOURCE = os.path.join(ROOT, "tests/programs/coz_points.c")


def read(path):
    with open(path) as file:
        return file.read()


def line_of(word):
    """Where the loop of that stage stands, as coz names lines."""
    for number, text in enumerate(read(SOURCE).splitlines(), 1):
        if f"/* {word} */" in text:
            return f"coz_points.c:{number}"
    raise AssertionError(word)


def ahead():
    """Experiments count visits by the clock: the rest of the machine is to have as little of it as can be. A session's
    share is its own to choose, where the kernel groups by them."""
    os.setsid()
    try:
        with open("/proc/self/autogroup", "w") as group:
            group.write("-20")
    except OSError:
        pass
    os.setpriority(os.PRIO_PROCESS, 0, -20)


def experiments(path):
    """[{"selected", "speedup", points: {(kind, name): numbers}}] of a profile in coz's first form."""
    found = []
    for line in read(path).splitlines(keepends=True):
        word, *fields = line.rstrip("\n").split("\t")
        values = dict(field.split("=", 1) for field in fields)
        if word == "experiment":
            found.append({"selected": values["selected"], "speedup": float(values["speedup"]), "points": {},
                          "duration": int(values["duration"]),
                          "lines": [line]})
        elif word in ("throughput-point", "latency-point") and found:
            name = values.pop("name")
            found[-1]["points"][word, name] = {key: int(value) for key, value in values.items()}
            found[-1]["lines"].append(line)
    return found


class CozTest(LiveTest):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="spantrace-coz-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.profile = os.path.join(self.dir, "profile.coz")

    def coz(self, *command, options=(), **kwargs):
        return run("coz", "-v", "-o", self.profile, *options, "--", *command, **kwargs)

    def report(self, path):
        done = run("coz", "--report", path, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def compile(self, name, *flags, source="int main(void) { return 0; }", compiler="gcc"):
        out = os.path.join(self.dir, name)
        subprocess.run([compiler, "-x", "c", "-", "-o", out, *flags], input=source, text=True, check=True)
        return out

    # --- counts ---------------------------------------------------------------------------------------

    def check_counts(self, threads, visits):
        done = self.coz(program("coz_points"), "counts", threads, visits, preexec_fn=ahead,
                        options=["--latency", "app:request", "--progress", "app:done", "--progress", "request"])
        self.assertEqual(done.returncode, 0, done.stderr)
        total = threads * visits
        for point in ("latency point app:request", "throughput point app:request", "throughput point app:done"):
            self.assertIn(f"{point}: {total} hits", done.stderr)

        found = experiments(self.profile)
        both = [e["points"] for e in found if ("throughput-point", "app:done") in e["points"]]
        self.assertGreaterEqual(len(both), 3)
        self.assertGreaterEqual(len(both), len(found) - 1, "only the first may have begun before they were registered")
        # A counter is behind by what came since it was last written, at either end of an experiment: never more than
        # what comes in the longest time between two writes, at the highest rate there was (and twice that in bursts).
        gap = float(re.search(r"at most ([0-9.]+) ms apart", done.stderr).group(1)) + 1
        rate = max(e["points"]["throughput-point", "native_done"]["delta"] / e["duration"] for e in found) * 1e6
        sums = {"ours": 0, "native": 0, "span": 0, "arrivals": 0, "departures": 0}
        apart = []
        for points in both:
            native = points["throughput-point", "native_done"]["delta"]
            latency = points["latency-point", "app:request"]
            counts = {"ours": points["throughput-point", "app:done"]["delta"], "native": native,
                      "span": points["throughput-point", "app:request"]["delta"],
                      "arrivals": latency["arrivals"], "departures": latency["departures"]}
            for name, value in counts.items():
                sums[name] += value
                self.assertAlmostEqual(value, native, delta=2 * gap * rate + 2, msg=name)
                apart.append(abs(value - native) / native)
            # How many are inside; coz 0.2.2 counts those of its macros from memory that it did not clear. coz reads the
            # two counters one after the other, and a write may come between.
            self.assertLessEqual(latency["difference"], threads + 2 * gap * rate + 2)
        self.assertLess(statistics.median(apart), 0.01)
        for name, value in sums.items():
            # No drift: what one experiment lacks the next one has.
            self.assertAlmostEqual(value, sums["native"], delta=0.005 * sums["native"] + 2 * gap * rate + 2, msg=name)
            # What lies between experiments is in none.
            self.assertLessEqual(value, total)

    def test_counts_of_one_thread(self):
        self.check_counts(1, 60000)

    def test_counts_of_three_threads(self):
        self.check_counts(3, 30000)

    def test_counts_of_sixteen_threads(self):
        self.check_counts(16, 6000)

    def counters(self, *command, options=()):
        """What the counters have come to, of a library that only hands them out, and the hits before they were asked
        for, by point."""
        library = os.path.join(self.dir, "libcoz.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library,
                        os.path.join(ROOT, "tests/programs/preload/coz_counters.c")], check=True)
        done = self.coz(program("coz_points"), *command, options=["--libcoz", library, *options], timeout=60)
        before = {name: int(hits) for name, hits in re.findall(r"(\S+): \d+ hits, (\d+) of them before", done.stderr)}
        counts = {(int(kind), name): int(count)
                  for kind, name, count in re.findall(r"^([123]) (\S+) (\d+)$", done.stdout, re.M)}
        return counts, before, done

    def test_nothing_is_lost(self):
        """Each counter comes to the number of hits since it was asked for, exactly."""
        for threads, visits in ((1, 3000), (16, 500)):
            total = threads * visits
            counts, before, done = self.counters("counts", threads, visits,
                                                 options=["-l", "app:request", "--progress", "app:done"])
            native = {counts[1, "native_done"], counts[2, "native_request"], counts[3, "native_request"]}
            self.assertEqual(native, {total}, done.stderr)
            self.assertEqual(counts[1, "app:done"] + before["app:done"], total)
            self.assertEqual(counts[2, "app:request"] + before["app:request"], total)
            self.assertEqual(counts[3, "app:request"] + before["app:request"], total)
            self.assertEqual(len(counts), 6)

    # --- truth ----------------------------------------------------------------------------------------

    def stages(self, seconds, *options):
        """Adds to the profile."""
        done = self.coz(program("coz_points"), "stages", seconds, preexec_fn=ahead,
                        options=["--latency", "app:request", "--progress", "app:done", "--append", *options])
        self.assertEqual(done.returncode, 0, done.stderr)

    def selected(self, word):
        """How many experiments there are on that line."""
        if not os.path.exists(self.profile):
            return 0
        return sum(e["selected"].endswith("/" + line_of(word)) for e in experiments(self.profile))

    def check_ranks(self):
        """Three quarters of a visit are spent in one line, one in another; a third line runs beside them, and no visit
        waits for it. Its own macros see the same experiments."""
        both = [e for e in experiments(self.profile) if ("throughput-point", "app:done") in e["points"]]
        with open(self.profile, "w") as out:
            out.writelines(line for e in both for line in e["lines"])
        points = {(p["kind"], p["name"]): p["lines"] for p in self.report(self.profile)["points"]}
        ours, native = points["throughput", "app:done"], points["throughput", "native_done"]
        table = json.dumps(ours, indent=1)
        self.assertTrue(ours[0]["line"].endswith(line_of("LONG")), table)
        self.assertGreater(ours[0]["gain"], 0, table)
        self.assertAlmostEqual(ours[0]["gain"], native[0]["gain"], delta=0.1 * native[0]["gain"])
        for line in ours[1:]:
            if line["line"].endswith(line_of("BESIDE")) and "gain" in line:
                self.assertLess(line["gain"], ours[0]["gain"], table)

    def test_the_right_line_first(self):
        """Which line coz takes next is chance: until both that matter have their experiments, by number alone."""
        for _ in range(8):
            self.stages(6)
            if self.selected("LONG") >= 8 and self.selected("BESIDE") >= 5:
                break
        self.check_ranks()

    def test_the_right_line_first_each_time(self):
        """The same with the two lines taken in turns: so as many experiments take a quarter of the time."""
        for attempt in range(4):
            with self.subTest(attempt):
                for word, seconds in (("LONG", 5), ("BESIDE", 4)):
                    self.stages(seconds, "--fixed-line", line_of(word))
                    self.assertGreaterEqual(self.selected(word), 5)
                self.check_ranks()
            os.unlink(self.profile)

    # --- which points ---------------------------------------------------------------------------------

    def test_points_that_stand_still_are_not_registered(self):
        """Nothing named: what moves all the time becomes a point, what comes once does not."""
        done = self.coz(program("coz_points"), "idle", 4)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {name for e in experiments(self.profile) for _, name in e["points"]}
        self.assertLessEqual({"app:done", "app:request"}, names)
        self.assertFalse({"app:setup", "app:ready"} & names, names)
        self.assertIn("3 points, ", done.stderr)

    def test_a_point_that_never_moves(self):
        done = self.coz(program("coz_points"), "stages", 1, options=["--progress", "app:ready"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("app:ready never moved", done.stderr)
        self.assertIn("no point has moved", done.stderr)
        done = self.coz(program("coz_points"), "stages", 1, options=["--progress", "app:nothing", "-l", "app:done"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("app:done is an event: it has no latency", done.stderr)

    def test_a_point_that_stops(self):
        done = self.coz(program("coz_points"), "idle", 4, options=["--progress", "app:ready", "--progress", "app:done"])
        self.assertRegex(done.stderr, r"app:ready stood still for the last [2-9]\.\d s")

    def test_postgres(self):
        """PostgreSQL as Debian ships it, in single-user mode, by the span of its queries. It has no debug information:
        the lines are those of a library that it calls, which takes the place of exp(3). That also tells it that it is
        not root."""
        server = Postgres()
        self.addCleanup(shutil.rmtree, server.dir)
        server.server.terminate()
        server.server.wait(timeout=30)
        library = self.compile("worker.so", "-O2", "-g", "-gdwarf-4", "-gstrict-dwarf", "-fPIC", "-shared", "-fno-builtin",
                               source=f"""
                               unsigned geteuid(void) {{ return {server.user.pw_uid}; }}
                               unsigned getuid(void) {{ return geteuid(); }}
                               double exp(double x)
                               {{
                                       for (long i = 0; i < 20000; i++) __asm__ volatile("" : "+r"(i));
                                       return x;
                               }}""")
        queries = "select sum(exp(i)) from generate_series(1, 100) i;\n" * 4000
        done = self.coz(os.path.join(server.bin, "postgres"), "--single", "-D", server.dir + "/data", "postgres",
                        options=["--binary-scope", "%worker.so", "-P", "postgresql:query", "-l", "query",
                                 "--progress", "query"],
                        input=queries, env={**os.environ, "LD_PRELOAD": library})
        server.log.close()
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        self.assertIn("throughput point postgresql:query: 4000 hits", done.stderr)
        found = experiments(self.profile)
        self.assertGreaterEqual(len(found), 3)
        for experiment in found:
            self.assertGreater(experiment["points"]["throughput-point", "postgresql:query"]["delta"], 0)
            self.assertLessEqual(experiment["points"]["latency-point", "postgresql:query"]["difference"], 1)
        # coz names lines as the compiler was given the file: "<stdin>".
        self.assertIn("stdin>:", found[0]["selected"])

    # --- ends -----------------------------------------------------------------------------------------

    def test_shorter_than_an_experiment(self):
        done = self.coz(program("coz_points"), "counts", 1, 3, options=["--progress", "app:done"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("spantrace: ", done.stderr)
        self.assertRegex(done.stderr, "coz finished no experiment|there is no experiment|no point has moved")

    def test_killed_program(self):
        """What coz has written by then is shown, and the status is the program's."""
        tracer = subprocess.Popen([SPANTRACE, "coz", "-o", self.profile, "--progress", "app:done", "--",
                                   program("coz_points"), "stages", "600"], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        self.wait_for(lambda: len(experiments(self.profile)) >= 3, tracer)
        os.kill(self.child(tracer.pid), signal.SIGKILL)
        out, err = tracer.communicate(timeout=60)
        self.assertEqual(tracer.returncode, 128 + signal.SIGKILL, err)
        self.assertIn("throughput of app:done", out)

    def test_spantrace_killed(self):
        """coz goes on without its counters moving; the program ends as if nothing had been, and the shim's thread is
        gone."""
        tracer = subprocess.Popen([SPANTRACE, "coz", "-o", self.profile, "--progress", "app:done", "--",
                                   program("coz_points"), "stages", "4"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        self.wait_for(lambda: len(experiments(self.profile)) >= 2, tracer)
        child = self.child(tracer.pid)
        self.assertIn("spantrace-coz", self.threads(child))
        os.kill(tracer.pid, signal.SIGKILL)
        tracer.wait()
        self.wait_for(lambda: "spantrace-coz" not in self.threads(child))
        self.wait_for(lambda: not os.path.exists(f"/proc/{child}") or "Z" in self.state(child))
        self.assertIn("runtime\ttime=", read(self.profile))

    def test_the_main_thread_leaves_first(self):
        """The shim's thread does not keep the process: its end is that of the program's last thread. Not with coz
        0.2.2, which keeps it itself."""
        counts, _, done = self.counters("leave", 1, options=["--progress", "app:done"])
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("coz finished no experiment", done.stderr)
        self.assertGreater(counts[1, "app:done"], 0)

    def test_exec(self):
        """coz ends with the program that it was in. What that becomes runs, counted by nobody, with its memory left
        alone."""
        done = self.coz(program("coz_points"), "exec", 2, options=["--progress", "app:done"], timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("throughput of app:done", done.stdout)

    def child(self, pid):
        return int(read(f"/proc/{pid}/task/{pid}/children").split()[0])

    def threads(self, pid):
        names = []
        try:
            for tid in os.listdir(f"/proc/{pid}/task"):
                names.append(read(f"/proc/{pid}/task/{tid}/comm").strip())
        except OSError:
            pass
        return names

    def state(self, pid):
        try:
            return read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()[0]
        except OSError:
            return "Z"

    def wait_for(self, condition, tracer=None, timeout=60):
        deadline = time.time() + timeout
        while not condition() if os.path.exists(self.profile) else True:
            if time.time() > deadline or (tracer and tracer.poll() is not None):
                raise AssertionError("it did not come to that")
            time.sleep(0.05)

    # --- what is checked before -------------------------------------------------------------------------

    def refused(self, path, *words, options=()):
        done = self.coz(path, options=options)
        self.assertEqual(done.returncode, 125, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(os.path.exists(self.profile), "coz was not asked")

    def test_debug_information(self):
        """What coz 0.2.2 cannot read is refused, with the flags to use; what it can read is not."""
        flags = "-g -gdwarf-4 -gno-variable-location-views"
        source = "int f(int a) { int b = a * 3; a += b; return a ^ b; } int main(int c, char **v) { (void)v; return f(c) & 0; }"
        build = lambda name, *words: self.compile(name, "-O2", *words, source=source)
        self.refused(build("five", "-g", "-gdwarf-5"), "has DWARF 5, which ", flags, "--libcoz")
        self.refused(build("four", "-g", "-gdwarf-4"), "location views", "-gno-variable-location-views")
        self.refused(build("none"), "has no debug information", flags)
        self.refused(build("pressed", "-g", "-gdwarf-4", "-gstrict-dwarf", "-gz"), "compressed", "-gz=none")
        self.refused(build("fixed", "-g", "-gdwarf-4", "-gstrict-dwarf", "-static"), "linked statically")
        shifted = build("shifted", "-g", "-gdwarf-4", "-gstrict-dwarf", "-fuse-ld=lld")
        self.refused(shifted, "-fuse-ld=bfd")
        for name, words in {"strict": ["-gstrict-dwarf"], "views": ["-gno-variable-location-views"]}.items():
            done = self.coz(build(name, "-g", "-gdwarf-4", *words))
            self.assertIn("bootstrapping coz", done.stderr)

    def test_debug_information_elsewhere(self):
        """Stripped off, and found by the link to it."""
        path = self.compile("app", "-g", "-gdwarf-4", "-gstrict-dwarf")
        subprocess.run(["objcopy", "--only-keep-debug", path, path + ".debug"], check=True)
        subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={path}.debug", path], check=True)
        done = self.coz(path)
        self.assertIn("bootstrapping coz", done.stderr)
        os.unlink(path + ".debug")
        os.unlink(self.profile)
        self.refused(path, "has no debug information")

    def test_no_coz(self):
        self.refused("/bin/true", "there is no such file", options=["--libcoz", "/nonexistent/libcoz.so"])
        self.refused("/bin/true", "not the library of coz", options=["--libcoz", "/lib/x86_64-linux-gnu/libm.so.6"])

    def test_no_program(self):
        script = os.path.join(self.dir, "script")
        with open(script, "w") as out:
            out.write("#!/bin/sh\n")
        os.chmod(script, 0o755)
        self.refused(script, "is a script")
        os.chmod(script, 0o644)
        self.assertEqual(self.coz(script).returncode, 126)
        self.assertEqual(self.coz("/nonexistent/app").returncode, 127)

    def test_usage(self):
        for words, says in ((["coz"], "nothing to run"), (["coz", "--report", "a", "--", "b"], "exclude each other"),
                            (["coz", "--plot", "a.png", "--", "b"], ".svg or .html"),
                            (["coz", "--fixed-speedup", "150", "--", "b"], "from 0 to 100")):
            done = run(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(says, done.stderr)
        self.assertIn("usage: spantrace coz", run("help", "coz").stdout)

    # --- reports ----------------------------------------------------------------------------------------

    def test_reports_of_both_forms(self):
        for name, count in {"profile-0.2.2.coz": 12, "profile-newest.jsonl": 8}.items():
            path = os.path.join(ROOT, "tests/golden/coz", name)
            report = self.report(path)
            self.assertEqual((report["schema"], report["experiments"], report["damaged"]), (1, count, 0))
            self.assertEqual({(p["kind"], p["name"]) for p in report["points"]},
                             {("throughput", "done"), ("throughput", "cozdemo.c:33"), ("latency", "request")})
            for form in ("svg", "html"):
                plot = os.path.join(self.dir, "plot." + form)
                done = run("coz", "--report", path, "--plot", plot)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("cozdemo.c:14", read(plot))
        done = run("coz", "--report", "/etc/passwd")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not a profile of coz", done.stderr)
