# SPDX-License-Identifier: MIT
"""Profiles, read by pprof itself: its library checks each file and gives its numbers (tests/programs/pprof-check), the tool
prints them. Ours are those of the JSON of the same run, number by number. Needs Go and its module proxy; is left out
without them.
"""
import glob
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import LiveTest, Trace, program, run

SOURCE = os.path.join(harness.ROOT, "tests/programs/pprof-check")
TARGET = os.path.join(harness.OUTPUT, "pprof-check")
SERVER = program("usdt/server")
NESTED = program("usdt/nested")
THREADS = program("usdt/threads")
ALLOCS = program("allocs")
MEMORY = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
ODD_NAME = 'std::a (b) <c>;d "q" \\ ü'


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, text=True,
                          env={**os.environ, "PPROF_NO_BROWSER": "1"})
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def profiles(*paths):
    """What pprof's library finds in each file; fails where it finds a fault."""
    return [json.loads(line) for line in output(TARGET + "/pprof-check", *paths).splitlines()]


def pprof(*args):
    return output(TARGET + "/pprof", *args)


def added(files):
    """{(tid, "outer;inner"): {type: value}} of all of them together."""
    sums = {}
    for file in files:
        for sample in file["samples"]:
            key = (sample["numbers"]["tid"][0], ";".join(f["name"] for f in reversed(sample["stack"])))
            row = sums.setdefault(key, dict.fromkeys(sample["values"], 0))
            for name, value in sample["values"].items():
                row[name] = row.get(name, 0) + value
    return sums


def by_path(sums, name):
    got = {}
    for (_, path), values in sums.items():
        if values.get(name):
            got[path] = got.get(path, 0) + values[name]
    return got


def of_json(trace, key):
    got = {}
    for row in trace.json["paths"]:
        if row[key]:
            path = ";".join(row["path"])
            got[path] = got.get(path, 0) + row[key]
    return got


@unittest.skipUnless(shutil.which("go"), "pprof itself is left out: go is not installed")
class Pprof(LiveTest):
    @classmethod
    def setUpClass(cls):
        os.makedirs(TARGET, exist_ok=True)
        built = subprocess.run(["go", "build", "-mod=readonly", "-p", "2", "-o", TARGET + "/", ".",
                                "github.com/google/pprof"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=SOURCE, timeout=600, text=True)
        if built.returncode and any(word in built.stdout for word in ("dial tcp", "proxy", "toolchain not available")):
            raise unittest.SkipTest("pprof itself is left out: its modules cannot be downloaded")
        if built.returncode:
            raise AssertionError(built.stdout)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def trace(self, *words):
        """A run with the JSON beside what WORDS ask for."""
        done = run("-o", "json:" + self.path("json"), "-o",
                   "folded,value=cpu,threads_collapsed=1:" + self.path("cpu.folded"), *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("json")) as text:
            return Trace(text.read(), done.returncode, done.stderr, done.stdout)

    def work_cpu(self):
        """{"outer;inner": CPU time of the work done there}"""
        with open(self.path("cpu.folded")) as lines:
            stacks = [line.rsplit(" ", 1) for line in lines]
        return {stack.split(";", 1)[1].replace("::", ":"): int(weight) for stack, weight in stacks}

    def assert_totals(self, trace, files):
        """Exclusive values add up to our totals, path by path. Thread spans: also thread by thread."""
        sums = added(files)
        self.assertEqual(by_path(sums, "count"), of_json(trace, "count"))
        self.assertEqual(by_path(sums, "wall_busy"), of_json(trace, "self_ns"))
        self.assertEqual(by_path(sums, "wall_idle"), of_json(trace, "idle_ns"))
        self.assertEqual(by_path(sums, "cpu"), self.work_cpu())
        for values in sums.values():
            self.assertEqual(values["wall"], values["wall_busy"] + values["wall_idle"])
        for row in trace.json["paths"]:
            if not row["idle_ns"] and row["count"]:
                self.assertEqual(sums[(row["tid"], ";".join(row["path"]))]["count"], row["count"])

    def test_totals(self):
        """Threads, recursion and async spans; summed up in the kernel, and from single spans."""
        for more in [], ["--stream"]:
            trace = self.trace("-o", self.path("a.pb.gz"), *more, "--", SERVER, "--requests", "300")
            profile, = profiles(self.path("a.pb.gz"))
            self.assert_totals(trace, [profile])
            self.assertEqual(profile["types"][:4], ["wall/nanoseconds", "wall_busy/nanoseconds",
                                                    "wall_idle/nanoseconds", "cpu/nanoseconds"])
            self.assertEqual(profile["types"][-1], "count/count")
            self.assertEqual(profile["default"], "wall")
            self.assertEqual(profile["duration"], trace.json["duration_ns"])

    def test_where_it_stands(self):
        """Each frame has the file and line of its site, and the file it is in with its build-id."""
        self.trace("-o", self.path("a.pb.gz"), "--", NESTED, "--spans", "5")
        profile, = profiles(self.path("a.pb.gz"))
        notes = output("readelf", "-n", NESTED)
        build_id = notes.split("Build ID: ")[1].split()[0]
        self.assertEqual(profile["mappings"], {os.path.realpath(NESTED): build_id})
        with open(os.path.join(harness.ROOT, "usdt/nested.c")) as source:
            lines = source.readlines()
        frames = {frame["name"]: frame for sample in profile["samples"] for frame in sample["stack"]}
        self.assertEqual(set(frames), {"demo:request", "demo:parse", "demo:query", "demo:row", "demo:walk",
                                       "demo:reply"})
        for name, frame in frames.items():
            self.assertTrue(frame["file"].endswith("nested.c"), frame)
            self.assertIn(name.split(":")[1], lines[frame["line"] - 1])
            self.assertEqual(frame["mapping"], os.path.realpath(NESTED))

    def test_from_a_recording(self):
        """The file that the trace wrote, that a recording gives later, and once more: byte for byte."""
        trace = self.trace("-o", self.path("a.pb.gz"), "-o", self.path("a.spans"), "--", SERVER, "--requests", "200")
        for name in "b", "c":
            done = run("export", self.path("a.spans"), "-o", self.path(name + ".pb.gz"))
            self.assertEqual(done.returncode, 0, done.stderr)
        files = [open(self.path(name + ".pb.gz"), "rb").read() for name in "abc"]
        self.assertEqual(files[1], files[2])
        self.assertEqual(files[0], files[1])
        self.assert_totals(trace, profiles(self.path("b.pb.gz")))

    def test_split(self):
        """A file for each family, named by the time of the end; a second export replaces them by the same."""
        trace = self.trace("-o", self.path("a.pb.gz"), "-o", self.path("a.spans"), "--", SERVER, "--requests", "200")
        whole, = profiles(self.path("a.pb.gz"))
        end = whole["time"] + whole["duration"]
        contents = []
        for _ in range(2):
            done = run("export", self.path("a.spans"), "-o", "pprof,split=1:" + self.path("split"))
            self.assertEqual(done.returncode, 0, done.stderr)
            names = sorted(os.listdir(self.path("split")))
            self.assertEqual(names, [f"cpu_{end}.pb.gz", f"wall_{end}.pb.gz"])
            contents.append([open(self.path("split/" + name), "rb").read() for name in names])
        self.assertEqual(contents[0], contents[1])
        cpu, wall = profiles(*(self.path("split/" + name) for name in names))
        self.assertEqual((cpu["default"], cpu["period"]), ("cpu", "cpu/nanoseconds"))
        self.assertEqual((wall["default"], wall["period"]), ("wall", "wall/nanoseconds"))
        self.assertEqual(by_path(added([cpu]), "cpu"), self.work_cpu())
        self.assertEqual(by_path(added([wall]), "wall_busy"), of_json(trace, "self_ns"))
        self.assertEqual(by_path(added([wall]), "count"), of_json(trace, "count"))

    def test_intervals(self):
        """Files of intervals follow each other without a gap and add up to the whole."""
        for more in [], ["--stream"]:
            shutil.rmtree(self.path("split"), ignore_errors=True)
            for old in glob.glob(self.path("run_*")):
                os.unlink(old)
            trace = self.trace("-o", self.path("run.pb.gz"), "-o", "pprof,split=1:" + self.path("split"),
                               "--interval", "200ms", *more, "--", SERVER, "--requests", "3000")
            names = sorted(glob.glob(self.path("run_*.pb.gz")))
            files = profiles(*names)
            self.assertGreater(len(files), 2)
            self.assert_totals(trace, files)
            for name, file, then in zip(names, files, files[1:]):
                self.assertEqual(file["time"] + file["duration"], then["time"])
                self.assertIn(f"_{then['time']}.", name)
            # The begin of a trace is the start of its first interval.
            self.assertEqual(files[-1]["time"] + files[-1]["duration"] - files[0]["time"], trace.json["duration_ns"])
            walls = profiles(*glob.glob(self.path("split/wall_*")))
            self.assertEqual(len(walls), len(files))
            self.assertEqual(by_path(added(walls), "wall_busy"), of_json(trace, "self_ns"))
            self.assertFalse(os.path.exists(self.path("run.pb.gz")))
            # pprof itself adds files up.
            top = self.flat("-sample_index=count", *names)
            self.assertEqual(top["server:request"], 3000)

    def flat(self, *args, unit="ns"):
        """{frame: flat value} of -top, whose numbers must have no unit or be UNITs."""
        got = {}
        lines = pprof("-top", "-unit=" + unit, "-nodefraction=0", "-nodecount=1000", *args).splitlines()
        begin = next(i for i, line in enumerate(lines) if line.split()[:2] == ["flat", "flat%"])
        for line in lines[begin + 1:]:
            words = line.split(None, 5)
            got[words[5]] = int(words[0].removesuffix(unit))
        return got

    def test_top(self):
        trace = self.trace("-o", self.path("a.pb.gz"), "--", NESTED, "--spans", "50", "--rows", "3", "--depth", "3")
        self.assertEqual(self.flat("-sample_index=count", self.path("a.pb.gz")),
                         {"demo:request": 50, "demo:parse": 50, "demo:query": 50, "demo:row": 150, "demo:walk": 150,
                          "demo:reply": 50})
        for kind, key in ("wall", "self_ns"), ("cpu", "self_cpu_ns"):
            expected = {}
            for row in trace.json["paths"]:
                expected[row["path"][-1]] = expected.get(row["path"][-1], 0) + row[key]
            self.assertEqual(self.flat("-sample_index=" + kind, self.path("a.pb.gz")),
                             {name: value for name, value in expected.items() if value})

    def test_raw(self):
        trace = self.trace("-o", self.path("a.pb.gz"), "--", NESTED, "--spans", "7")
        raw = pprof("-raw", self.path("a.pb.gz"))
        self.assertIn("PeriodType: wall nanoseconds\nPeriod: 1\n", raw)
        self.assertIn("wall/nanoseconds[dflt] ", raw)
        self.assertIn("demo:parse", raw)
        self.assertIn(f"{os.path.realpath(NESTED)} ", raw)
        row, = trace.rows("demo:request", "demo:parse")
        self.assertRegex(raw, rf"\n +{row['self_ns']} +{row['self_ns']} +0 .*\b7: \d+ \d+ \n")
        self.assertIn(f"thread:[nested-{row['tid']}]", raw)

    def test_tags(self):
        self.trace("-o", self.path("a.pb.gz"), "--by", "worker", "--by", "name", "--", THREADS, "--threads", "3",
                   "--spans", "20")
        tags = pprof("-tags", "-sample_index=count", self.path("a.pb.gz"))
        self.assertIn(" name: Total 60 of 180", tags)
        self.assertRegex(tags, r" worker: Total 60 of 180 .*\n +20 \(11.11%\): 0\n +20 \(11.11%\): 1\n +20 \(11.11%\): 2\n")
        self.assertIn(" comm: Total 180 of 180", tags)
        self.assertIn(" pid: Total 180 of 180", tags)
        self.assertIn(" thread: Total 180 of 180", tags)
        profile, = profiles(self.path("a.pb.gz"))
        jobs = [sample for sample in profile["samples"] if len(sample["stack"]) == 1]
        self.assertEqual(sorted(sample["numbers"]["worker"] for sample in jobs), [[0], [1], [2]])
        self.assertEqual([sample["values"]["count"] for sample in jobs], [20] * 3)
        for sample in jobs:
            self.assertEqual(sample["labels"]["thread"],
                             [f"{sample['labels']['comm'][0]}-{sample['numbers']['tid'][0]}"])
        # One thread of them, by its number.
        tid = jobs[0]["numbers"]["tid"][0]
        self.assertEqual(self.flat("-sample_index=count", f"-tagfocus=tid={tid}:{tid}", self.path("a.pb.gz")),
                         {"demo:job": 20, "demo:compute": 20, "demo:pause": 20})

    def test_diff(self):
        for name, spans in ("a", 50), ("b", 80):
            self.trace("-o", self.path(name + ".pb.gz"), "--", NESTED, "--spans", spans)
        a, b = self.path("a.pb.gz"), self.path("b.pb.gz")
        self.assertEqual(self.flat("-sample_index=count", "-diff_base=" + a, b),
                         {"demo:request": 30, "demo:parse": 30, "demo:query": 30, "demo:row": 90, "demo:walk": 90,
                          "demo:reply": 30})
        self.assertFalse(any(self.flat("-sample_index=wall", "-diff_base=" + a, a).values()))

    def memory(self, name, *words):
        """A run of allocs with -m heap; what it says that it did: {span: {type: value}}."""
        done = run("-m", "heap", "-o", self.path(name + ".pb.gz"), "-o", self.path(name + ".spans"), "-o",
                   f"pprof,split=1:{self.path(name)}", "--", ALLOCS, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = {}
        for line in done.stdout.splitlines():
            span, *numbers = line.split()
            told[span] = dict(zip(MEMORY, map(int, numbers)))
        return told

    def test_memory(self):
        """What was allocated and is in use, by the program's own ledger."""
        told = self.memory("a", "hold", 100)
        self.assertTrue(any(row["inuse_space"] for row in told.values()))
        profile, = profiles(self.path("a.pb.gz"))
        self.assertEqual(profile["types"][-5:], ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count",
                                                 "inuse_space/bytes", "count/count"])
        for kind in MEMORY:
            flat = self.flat("-sample_index=" + kind, "-focus=allocs", self.path("a.pb.gz"),
                             unit="B" if "space" in kind else "")
            self.assertEqual(flat, {span: row[kind] for span, row in told.items() if row[kind]}, kind)
        # As tracing-prof's: a file for each family.
        for family, types in ("alloc", MEMORY[:2]), ("heap", MEMORY[2:]):
            file, = glob.glob(self.path(f"a/{family}_*.pb.gz"))
            one, = profiles(file)
            self.assertEqual(one["period"], "space/bytes")
            self.assertEqual(one["default"], types[1])
            self.assertEqual(one["types"], [types[0] + "/count", types[1] + "/bytes"])
            self.assertEqual(self.flat("-focus=allocs", file, unit="B"),
                             {span: row[types[1]] for span, row in told.items() if row[types[1]]})
            self.assertRegex(pprof("-raw", file), r"PeriodType: space bytes\nPeriod: 1\n")
            self.assertIn(" comm: Total ", pprof("-tags", file))

    def test_memory_diff(self):
        """Twice as much work in the second run: what it has more is what the first had."""
        first, second = self.memory("a", "hold", 100), self.memory("b", "hold", 200)
        for kind in MEMORY:
            more = {span: second[span][kind] - first[span][kind] for span in second}
            self.assertTrue(any(more.values()))
            self.assertEqual(self.flat("-sample_index=" + kind, "-focus=allocs", "-diff_base=" + self.path("a.pb.gz"),
                                       self.path("b.pb.gz"), unit="B" if "space" in kind else ""),
                             {span: value for span, value in more.items() if value})

    def test_odd_names(self):
        trace = self.trace("-o", self.path("a.pb.gz"), "-s", ODD_NAME + "=odd:go..odd:halt,odd:fail", "--",
                           program("odd"), "30")
        self.assertEqual(trace.count(ODD_NAME), 30)
        self.assertEqual(self.flat("-sample_index=count", self.path("a.pb.gz")), {ODD_NAME: 30})
        profile, = profiles(self.path("a.pb.gz"))
        self.assertEqual(by_path(added([profile]), "wall"), of_json(trace, "wall_ns"))

    def test_losses_are_told(self):
        trace = self.trace("-o", self.path("a.pb.gz"), "-s", "x:y=odd:halt..odd:go", "--", program("odd"), "30")
        lost = {name: count for name, count in trace.losses.items() if count}
        self.assertEqual(lost, {"orphan_exit": 11})
        profile, = profiles(self.path("a.pb.gz"))
        self.assertTrue(any(line.startswith("lost: orphan_exit 11: ") for line in profile["comments"]))
        self.assertIn("lost: orphan_exit 11: ", pprof("-comments", self.path("a.pb.gz")))

    def test_refused(self):
        cases = (
            (["--interval", "1s", "-o", "pprof:-"], "do not go to stdout"),
            (["--interval", "1s"], "no output is written by intervals"),
            (["-o", "pprof,split=1:/proc/none"], "cannot write files of pprof to /proc/none"),
            (["-o", "pprof,spilt=1:x"], 'takes no option "spilt=1"; it takes split'),
        )
        for words, message in cases:
            done = run(*words, "--", "true")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
