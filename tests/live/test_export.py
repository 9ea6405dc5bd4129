# SPDX-License-Identifier: MIT
"""export and view: a recording tells what the trace itself told, in every format; filters leave what they should."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from harness import ROOT, SPANTRACE, LiveTest, Trace, program, run

NESTED = program("usdt/nested")
GOLDEN = os.path.join(ROOT, "tests/golden/measureme")


class Recorded(LiveTest):
    """One trace of a program, recorded and exported at once; each test reads it."""
    COMMAND = ()
    COUNTS = {}

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp()
        words = ["-o", "recording:" + cls.path("x.spans"), "--by", "name"]
        for name in ("live.json", "live.folded", "live.svg", "live.txt"):
            words += ["-o", cls.path(name)]
        cls.done = run(*words, "--", *cls.COMMAND)
        assert cls.done.returncode == 0, cls.done.stderr
        cls.live = Trace(cls.read("live.json"))
        cls.items = cls.view()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.place)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.place, name)

    @classmethod
    def read(cls, name):
        with open(cls.path(name), encoding="utf-8") as file:
            return file.read()

    @classmethod
    def view(cls, *words):
        done = run("view", "--json", cls.path("x.spans"), *words)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def export(self, *words, file="x.spans"):
        done = run("export", self.path(file), "--by", "name", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def exported(self, *words):
        return Trace(self.export("--json", *words))

    @staticmethod
    def rows_of(text):
        """Lines of the JSON that are rows of paths and events. Their order is that in which paths were first seen, and a
        recording sees a path when its first span ends."""
        return sorted(line.strip().rstrip(",") for line in text.splitlines() if line.strip().startswith("{\"pid\""))


class Same:
    """What a recording must share with the trace that made it."""

    def test_counts(self):
        self.assert_counts(self.live, self.COUNTS)
        self.assert_lossless(self.live)

    def test_json_is_the_same_but_for_the_losses_of_reading(self):
        text = self.export("--json")
        self.assertEqual(self.rows_of(text), self.rows_of(self.read("live.json")))
        exported, live = json.loads(text), json.loads(self.read("live.json"))
        for key in ("paths", "events"):
            self.assertEqual(len(exported[key]), len(live[key]))
        for key, value in live["losses"].items():
            self.assertEqual(exported["losses"][key], value)
        self.assertEqual(sum(exported["losses"].values()), 0)
        for key in set(live) - {"paths", "events", "losses"}:
            self.assertEqual(exported[key], live[key])
        self.assertEqual(set(exported), set(live))

    def test_folded_is_the_same(self):
        self.assertEqual(sorted(self.export("-o", "folded:-").splitlines()),
                         sorted(self.read("live.folded").splitlines()))

    def test_summary_is_the_same(self):
        self.assertEqual(sorted(self.export().splitlines()), sorted(self.read("live.txt").splitlines()))

    def test_every_format(self):
        """Each that this build knows; those with totals in them once more from a second recording."""
        help_text = run("help", "export").stdout
        formats = re.findall(r"^  (\w+) +(\.\S+)", help_text[help_text.index("\nformats"):], re.M)
        self.assertGreaterEqual({"summary", "json", "folded", "flamegraph", "recording"} & {f for f, _ in formats},
                                {"summary", "json", "folded", "flamegraph", "recording"})
        words = []
        for name, _ in formats:
            words += ["-o", f"{name}:{self.path('all.' + name)}"]
        self.export(*words)
        for name, _ in formats:
            self.assertGreater(os.path.getsize(self.path("all." + name)), 0, name)
        self.assertEqual(self.rows_of(self.export("--json", file="all.recording")), self.rows_of(self.read("live.json")))
        self.assertEqual(self.read("all.json"), self.export("--json"))

    def test_view_has_every_span_and_event(self):
        got = {}
        for item in self.items:
            if item["kind"] in ("span", "async") and not item["open"]:
                key = ";".join(item["path"])
                got[key] = got.get(key, 0) + 1
        self.assertEqual(got, self.COUNTS)
        self.assertEqual(sum(item["kind"] == "event" for item in self.items),
                         sum(event["count"] for event in self.live.json["events"]))
        walls = sum(item["wall_ns"] for item in self.items if item["kind"] in ("span", "async"))
        self.assertEqual(walls, sum(row["wall_ns"] for row in self.live.json["paths"]))
        self.assertEqual(sum(item["self_ns"] for item in self.items if item["kind"] == "span"),
                         sum(row["self_ns"] for row in self.live.json["paths"] if self.is_thread_span(row)))

    def is_thread_span(self, row):
        return row["path"][-1] not in self.ASYNC

    ASYNC = ()

    def test_view_lines_and_blocks(self):
        lines = run("view", self.path("x.spans")).stdout.splitlines()
        self.assertEqual(len(lines), len(self.items) + 1)
        self.assertIn("start", lines[0])
        self.assertEqual(len(run("view", "-q", self.path("x.spans")).stdout.splitlines()), len(self.items))
        blocks = run("view", "--block", self.path("x.spans")).stdout
        self.assertEqual(blocks.count("\n}\n"), len(self.items))
        self.assertEqual([int(n) for n in re.findall(r"^    wall: (\d+) ns$", blocks, re.M)],
                         [item["wall_ns"] for item in self.items if item["kind"] != "event"])


class Filters:
    """Every filter, against what the list of single spans says that it should leave."""

    def check(self, *words, keep):
        """KEEP: what of the list is to be left."""
        expected = [item for item in self.items if keep(item)]
        self.assertEqual(self.view(*words), expected)
        counts = {}
        for item in expected:
            if item["kind"] in ("span", "async") and not item["open"]:
                key = ";".join(item["path"])
                counts[key] = counts.get(key, 0) + 1
        exported = self.exported(*words)
        self.assertEqual({key: n for key, n in self.sums(exported).items() if n}, counts)
        self.assertEqual(sum(event["count"] for event in exported.json["events"]),
                         sum(item["kind"] == "event" for item in expected))
        return expected

    @staticmethod
    def sums(exported):
        sums = {}
        for row in exported.json["paths"]:
            key = ";".join(row["path"])
            sums[key] = sums.get(key, 0) + row["count"]
        return sums

    def test_pid(self):
        pid = self.items[0]["pid"]
        self.assertTrue(self.check("--pid", pid, keep=lambda item: True))
        self.assertFalse(self.check("--pid", pid + 1, keep=lambda item: False))
        self.assertTrue(self.check("--pid", f"{pid + 1},{pid}", keep=lambda item: True))

    def test_tid(self):
        tids = sorted({item["tid"] for item in self.items})
        seen = 0
        for tid in tids:
            seen += len(self.check("--tid", tid, keep=lambda item, tid=tid: item["tid"] == tid))
        self.assertEqual(seen, len(self.items))
        self.check("--tid", tids[0], "--tid", tids[-1], keep=lambda item: item["tid"] in (tids[0], tids[-1]))

    def test_provider(self):
        self.assertTrue(self.check("--provider", "d?mo", keep=lambda item: True))
        self.assertFalse(self.check("--provider", "app", keep=lambda item: False))

    def test_span(self):
        for path in sorted({tuple(item["path"]) for item in self.items}):
            label = path[-1]
            wanted = lambda item, label=label: item["path"][-1] == label
            self.assertTrue(self.check("--span", label, keep=wanted))
            self.assertTrue(self.check("--span", label.split(":")[1], keep=wanted))
        self.assertFalse(self.check("--span", "request?", keep=lambda item: False))

    def test_min_duration(self):
        walls = sorted(item["wall_ns"] for item in self.items if item["kind"] != "event")
        middle = walls[len(walls) // 2]
        expected = self.check("--min-duration", f"{middle}ns",
                              keep=lambda item: item["kind"] == "event" or item["wall_ns"] >= middle)
        self.assertLess(len(expected), len(self.items))
        self.check("--min-duration", f"{walls[-1] + 1}ns", keep=lambda item: item["kind"] == "event")

    def test_from_and_to(self):
        begins = lambda item: item.get("start_ns", item.get("time_ns"))
        ends = lambda item: item.get("end_ns", item.get("time_ns"))
        times = sorted(map(ends, self.items))
        a, b = times[len(times) // 3], times[2 * len(times) // 3]
        self.assertLess(len(self.check("--from", f"{a}ns", keep=lambda item: ends(item) >= a)), len(self.items))
        self.assertLess(len(self.check("--to", f"{b}ns", keep=lambda item: begins(item) <= b)), len(self.items))
        self.check("--from", f"{a}ns", "--to", f"{b}ns", keep=lambda item: ends(item) >= a and begins(item) <= b)

    def test_together(self):
        item = self.items[len(self.items) // 2]
        self.assertTrue(self.check("--tid", item["tid"], "--span", item["path"][-1], keep=lambda other:
                                   other["tid"] == item["tid"] and other["path"][-1] == item["path"][-1]))


class OneThread(Same, Filters, Recorded):
    """Nesting, recursion, labels, events with values, spans without an exit."""
    COMMAND = (NESTED, "--spans", "200", "--rows", "3", "--depth", "3", "--broken", "5")
    COUNTS = {"demo:request": 200, "demo:request;demo:parse": 200, "demo:request;demo:query": 200,
              "demo:request;demo:query;demo:row": 600, "demo:request;demo:walk": 200,
              "demo:request;demo:walk;demo:walk": 200, "demo:request;demo:walk;demo:walk;demo:walk": 200,
              "demo:request;demo:reply": 200}

    def test_flags_and_values(self):
        self.assertEqual(sum(item.get("abandoned", 0) for item in self.items), 5)
        self.assertEqual({item["value"] for item in self.items if item["kind"] == "event"}, {3})

    def test_labels(self):
        requests = [item for item in self.items if item["path"] == ["demo:request"]]
        self.assertEqual(sorted(item["labels"]["number"] for item in requests), list(range(200)))


class Threads(Same, Filters, Recorded):
    COMMAND = (program("usdt/threads"), "--threads", "3", "--spans", "100", "--sleep-us", "10")
    COUNTS = {"demo:job": 300, "demo:job;demo:compute": 300, "demo:job;demo:pause": 300}

    def test_rows_split_by_a_label(self):
        rows = self.exported().rows("demo:job")
        self.assertEqual({row["labels"]["name"]: row["count"] for row in rows},
                         {f"worker-{i}": 100 for i in range(3)})
        done = run("export", self.path("x.spans"), "--json")
        self.assertEqual({str(row["labels"]) for row in Trace(done.stdout).rows("demo:job")}, {"{}"})


class Async(Same, Filters, Recorded):
    """Async spans with their segments, some never closed."""
    COMMAND = (program("usdt/async"), "--spans", "60", "--threads", "3", "--stages", "3", "--leak", "4")
    COUNTS = {"demo:request": 56, "demo:request;demo:fetch": 56, "demo:request;demo:stage": 180}
    ASYNC = ("demo:request", "demo:fetch")

    def test_open_spans(self):
        left = [item for item in self.items if item.get("open")]
        self.assertEqual(sum(item["kind"] == "async" for item in left), 8)


class Refused(Recorded):
    """What cannot be done is said, and nothing is written."""
    COMMAND = (NESTED, "--spans", "10")

    def refused(self, *words, status=2):
        done = run(*words)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_onto_itself(self):
        before = os.path.getsize(self.path("x.spans"))
        os.link(self.path("x.spans"), self.path("hard"))
        for name in (self.path("x.spans"), self.path("./x.spans"), self.path("hard")):
            said = self.refused("export", self.path("x.spans"), "-o", "json:" + name)
            self.assertIn("is the file that is read", said)
        self.assertEqual(os.path.getsize(self.path("x.spans")), before)

    def test_two_to_one_file(self):
        said = self.refused("export", self.path("x.spans"), "-o", self.path("a.json"), "-o",
                            "folded:" + self.path("./a.json"))
        self.assertIn("are one file", said)

    def test_what_is_not_measured(self):
        for words in (("export", self.path("x.spans")), ("--", NESTED, "--spans", "1")):
            out = self.path("never.folded")
            options = ("-o", f"folded,value=inuse_space:{out}")
            done = run(*(words + options if words[0] == "export" else options + words))
            self.assertIn("value=inuse_space", done.stderr)
            self.assertIn("this trace has busy, wall, cpu, ", done.stderr)
            self.assertEqual(done.returncode, 2 if words[0] == "export" else 125)
            self.assertEqual(done.stdout, "")
            self.assertFalse(os.path.exists(out))

    def test_files(self):
        self.assertIn("cannot read", self.refused("export", self.path("none"), status=1))
        self.assertIn("cannot read", self.refused("view", self.place, status=1))
        with open(self.path("text"), "w") as file:
            file.write("no recording\n")
        for command in ("export", "view"):
            self.assertIn("spantrace reads", self.refused(command, self.path("text"), status=1))

    def test_usage(self):
        for command in ("export", "view"):
            self.assertIn(f"spantrace help {command}", self.refused(command, "--nope", "x"))
            self.assertIn("no file to read", self.refused(command))
            self.assertIn("one word too many", self.refused(command, "a", "b"))
            done = run("help", command)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn(f"usage: spantrace {command}", done.stdout)

    def test_a_cut_file(self):
        """What is there is used; that the rest is missing is said."""
        with open(self.path("x.spans"), "rb") as whole, open(self.path("cut.spans"), "wb") as cut:
            cut.write(whole.read()[:-7])
        for command in ("export", "view"):
            done = run(command, self.path("cut.spans"))
            self.assertEqual(done.returncode, 0)
            self.assertIn("cut.spans", done.stderr)
            self.assertIn("demo:request", done.stdout)

    def test_full_disk(self):
        done = run("export", self.path("x.spans"), "-o", "json:/dev/full", "-o", self.path("ok.folded"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/full", done.stderr)
        self.assertIn("demo::request", self.read("ok.folded"))
        with open("/dev/full", "w") as full:
            self.assertEqual(self.status_with_stdout(full, "view", self.path("x.spans")), 1)

    @staticmethod
    def status_with_stdout(out, *words):
        return subprocess.run([SPANTRACE, *words], stdout=out, stderr=subprocess.DEVNULL, timeout=60).returncode


class Measureme(LiveTest):
    """What mmview, measureme's own tool, prints of a file that measureme wrote."""
    BLOCK = re.compile(r"\{\n    kind: (.*),\n    label: (.*),\n    additional_data: \[(.*)\],\n"
                       r"    payload: (.*),\n    thread_id: (\d+),\n\}\n")

    @staticmethod
    def expected(name):
        """By thread, in the order of the file: kind and label, arguments, payload."""
        with open(os.path.join(GOLDEN, name), encoding="utf-8") as file:
            blocks = Measureme.BLOCK.findall(file.read())
        threads = {}
        for kind, label, data, payload, tid in blocks:
            threads.setdefault(int(tid), []).append((f"{kind}:{label}", data, payload))
        return threads

    @staticmethod
    def got(*words):
        done = run("view", "--json", os.path.join(GOLDEN, "base.mm_profdata"), *words)
        assert done.returncode == 0, done.stderr
        items = [json.loads(line) for line in done.stdout.splitlines()]
        # mmview counts from the earliest event that has a time: the outer span begins before all.
        first = min(item["start_ns"] for item in items if item["kind"] == "span")
        threads = {}
        for item in items:
            if item["kind"] == "span":
                payload = f"{(item['start_ns'] - first) // 1000} μs - {(item['end_ns'] - first) // 1000} μs"
            elif "value" in item:
                payload = str(item["value"])
            else:
                payload = f"{(item['time_ns'] - first) // 1000} μs"
            data = ",".join(str(value) for value in item["labels"].values())
            threads.setdefault(item["tid"], []).append((item["path"][-1], data, payload))
        return threads, items

    def test_all_of_it(self):
        threads, items = self.got()
        expected = self.expected("mmview.txt")
        self.assertEqual(sum(map(len, expected.values())), 15)
        self.assertEqual(threads, expected)
        (inner,) = [item for item in items if item["path"][-1].startswith("IncrementalResultHashing:")]
        self.assertEqual(inner["path"], ["GenericActivity:outer", "Query:query_with_args",
                                         "IncrementalResultHashing:query_with_args"])

    def test_one_thread(self):
        """`-t` as mmview has it: times are then since the first event of that thread in neither."""
        _, items = self.got("-t", "2")
        ((label, data, payload),) = self.expected("mmview-t2.txt")[2]
        (item,) = items
        self.assertEqual((item["path"][-1], item["tid"], data), (label, 2, ""))
        begin, end = (int(part.split()[0]) for part in payload.split(" - "))
        self.assertLessEqual(abs(item["wall_ns"] // 1000 - (end - begin)), 1)

    def test_other_formats(self):
        with tempfile.NamedTemporaryFile(suffix=".folded") as out:
            done = run("export", os.path.join(GOLDEN, "base.mm_profdata"), "-o", "folded:" + out.name, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            walls = {}
            for item in self.got()[1]:
                if item["kind"] == "span":
                    walls[tuple(item["path"])] = walls.get(tuple(item["path"]), 0) + item["wall_ns"]
            rows = {}
            for row in json.loads(done.stdout)["paths"]:
                rows[tuple(row["path"])] = rows.get(tuple(row["path"]), 0) + row["wall_ns"]
            self.assertEqual(rows, walls)
            self.assertIn("GenericActivity::outer;Query::query_with_args", out.read().decode())
