# SPDX-License-Identifier: MIT
"""report, diff and aggregate against what measureme's own tools print for the same files, number by number.

tests/golden/measureme/: base, change, ooo and bad-cmd-quote, and threads, threads-change and single-1 to -3, were
written by the measureme crate 12.0.3; the .txt and .json beside them are what its `summarize` made of them: three
threads, recursion, every kind of event, loads and blocks with others inside them. Where we differ on purpose it is
said below.
"""
import collections
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import unittest

from harness import ROOT, program, run

GOLDEN = os.path.join(ROOT, "tests/golden/measureme")
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def golden(name):
    return os.path.join(GOLDEN, name)


def read(name):
    with open(golden(name)) as file:
        return file.read()


def spantrace(*args, status=0):
    done = run(*args)
    if done.returncode != status:
        raise AssertionError(f"{args}: status {done.returncode}\n{done.stderr}")
    return done


def as_json(*args, status=0):
    return json.loads(spantrace(*args, "--json", status=status).stdout)


def tables(text):
    """The tables that `summarize` drew, each a list of dicts."""
    found, titles = [], None
    for line in text.splitlines():
        if not line.startswith("|"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "Item":
            titles = cells
            found.append([])
        else:
            # It fills names up with dots.
            cells[0] = re.sub(r"\s\.*$", "", cells[0])
            found[-1].append(dict(zip(titles, cells)))
    return found


def duration(text):
    """(ns, by how much rounding may be off) of Rust's "+13.995849ms"."""
    sign, digits, unit = re.fullmatch(r"([+-]?)([0-9.]+)(ns|µs|ms|s)", text).groups()
    fraction = len(digits.partition(".")[2])
    value = float(digits) * UNITS[unit]
    return (-value if sign == "-" else value), UNITS[unit] * 10.0 ** -fraction


def nanoseconds(value):
    return value["secs"] * 10**9 + value["nanos"]


def own_total(report, label):
    """The total time of LABEL from the report by path: that of the outermost on each."""
    return sum(item["total_ns"] for item in report["items"]
               if item["path"][-1] == label and label not in item["path"][:-1])


class Reports(unittest.TestCase):
    def same_duration(self, text, ns):
        want, off = duration(text)
        self.assertAlmostEqual(ns, want, delta=off / 2 + 1e-6 * abs(want) + 0.5 * (off <= 1))

    def check_json(self, name, recursive=()):
        ours, theirs = as_json("report", golden(name + ".mm_profdata")), json.loads(read(
            "summarize.json" if name == "base" else name + "-summarize.json"))
        paths = as_json("report", "--by", "path", golden(name + ".mm_profdata"))
        items = {item["name"]: item for item in ours["items"]}
        self.assertEqual(set(items), {data["label"] for data in theirs["query_data"]})
        self.assertEqual(ours["total_ns"], nanoseconds(theirs["total_time"]))
        for data in theirs["query_data"]:
            item = collections.defaultdict(int, items[data["label"]])
            self.assertEqual(item["self_ns"], nanoseconds(data["self_time"]), data["label"])
            self.assertEqual(item["count"], data["invocation_count"], data["label"])
            self.assertEqual(item["cache_hits"], data["number_of_cache_hits"], data["label"])
            self.assertEqual(item["cache_misses"], data["number_of_cache_misses"], data["label"])
            self.assertEqual(item["blocked_time_ns"], nanoseconds(data["blocked_time"]))
            self.assertEqual(item["incremental_load_ns"], nanoseconds(data["incremental_load_time"]))
            self.assertEqual(item["incremental_hashing_ns"], nanoseconds(data["incremental_hashing_time"]))
            if data["label"] in recursive:
                # It adds the inner ones of a recursion to the outer ones, which hold them already.
                self.assertLess(item["total_ns"], nanoseconds(data["time"]))
                self.assertEqual(item["total_ns"], own_total(paths, data["label"]))
            else:
                self.assertEqual(item["total_ns"], nanoseconds(data["time"]), data["label"])
        self.assertEqual({size["name"]: size["bytes"] for size in ours["artifact_sizes"]},
                         {size["label"]: size["value"] for size in theirs["artifact_sizes"]})

    def test_json(self):
        self.check_json("base")
        self.check_json("single-1", recursive={"walk"})
        self.check_json("threads", recursive={"walk", "typeck"})

    def check_table(self, text, ours):
        """The items in their order, and the figures as they are rounded."""
        names = {"Self time": "self_ns", "Cache hits": "cache_hits", "Blocked time": "blocked_time_ns",
                 "Incremental load time": "incremental_load_ns",
                 "Incremental result hashing time": "incremental_hashing_ns"}
        rows = tables(text)[0]
        self.assertEqual([item["name"] for item in ours["items"]], [row["Item"] for row in rows])
        for row, item in zip(rows, ours["items"]):
            self.assertEqual("%.3f" % item["share"], row["% of total time"])
            self.assertEqual(item["count"], int(row["Item count"]))
            for title, key in names.items():
                if title == "Cache hits":
                    self.assertEqual(item.get(key, 0), int(row.get(title, 0)))
                elif title in row:
                    self.same_duration(row[title], item.get(key, 0))
        self.same_duration(re.search(r"Total cpu time: (\S+)", text).group(1), ours["total_ns"])

    def test_tables(self):
        for name in ("base", "threads", "single-1"):
            text = read("summarize.txt" if name == "base" else name + "-summarize.txt")
            self.check_table(text, as_json("report", golden(name + ".mm_profdata")))

    def test_percent_above(self):
        text = read("summarize-p20.txt")
        args = ("report", golden("base.mm_profdata"), "--percent-above", "20%")
        ours = as_json(*args)
        self.check_table(text, ours)
        share = re.search(r"account for (\S+)%", text).group(1)
        self.assertEqual("%.3f" % ours["items_share"], share)
        self.assertEqual(ours["items_in_all"], 5)
        self.assertIn(f"filtered results account for {share} %", spantrace(*args).stdout)

    def check_diff(self, text, ours, recursive=()):
        rows, artifacts = tables(text)
        items = {item["name"]: item for item in ours["items"]}
        self.assertEqual(set(items), {row["Item"] for row in rows})
        changes = [abs(item["self_ns"]["delta"]) for item in ours["items"]]
        self.assertEqual(changes, sorted(changes, reverse=True))
        for row in rows:
            item = items[row["Item"]]
            keys = {"Self Time": "self_ns", "Blocked time": "blocked_time_ns",
                    "Incremental load time": "incremental_load_ns",
                    "Incremental hashing time": "incremental_hashing_ns"}
            if row["Item"] not in recursive:
                keys["Time"] = "total_ns"
            for title, key in keys.items():
                self.same_duration(row[title], item.get(key, {"delta": 0})["delta"])
            self.assertEqual(item["count"]["delta"], int(row["Item count"]))
            self.assertEqual(item.get("cache_hits", {"delta": 0})["delta"], int(row["Cache hits"]))
            percent = item["self_ns"]["percent"]
            if row["Self Time Change"] in ("+inf%", "NaN%"):
                self.assertIsNone(percent)
                self.assertEqual(item["state"], "new" if row["Self Time Change"] == "+inf%" else "both")
            else:
                self.assertEqual("%+.2f%%" % percent, row["Self Time Change"])
            self.assertEqual(item["state"] == "gone", row["Self Time Change"] == "-100.00%")
        self.assertEqual({size["name"]: size["bytes"]["delta"] for size in ours["artifact_sizes"]},
                         {row["Item"]: int(row["Artifact Size Change"].split()[0]) for row in artifacts})
        self.same_duration(re.search(r"Total cpu time: (\S+)", text).group(1), ours["total_ns"]["delta"])

    def test_diff(self):
        files = golden("base.mm_profdata"), golden("change.mm_profdata")
        self.check_diff(read("diff.txt"), as_json("diff", *files))
        self.check_diff(read("diff-exclude.txt"), as_json("diff", *files, "-x", "query*"))
        files = golden("threads.mm_profdata"), golden("threads-change.mm_profdata")
        self.check_diff(read("threads-diff.txt"), as_json("diff", *files), recursive={"walk", "typeck"})

    def test_diff_hides_what_is_empty(self):
        out = spantrace("diff", golden("base.mm_profdata"), golden("change.mm_profdata")).stdout
        self.assertIn("hashing_time", out.splitlines()[0])
        for column in ("cache_hits", "count", "abandoned", "cpu"):
            self.assertNotIn(column, out.splitlines()[0])
        same = spantrace("diff", golden("base.mm_profdata"), golden("base.mm_profdata")).stdout
        self.assertEqual(same.splitlines()[0].split(), "self before self change self % span".split())

    def test_fail_above(self):
        base, change = golden("base.mm_profdata"), golden("change.mm_profdata")
        done = spantrace("diff", base, change, "--fail-above", "5%", status=1)
        self.assertIn("self time of 2 items grew by more than 5 %, and so did the total time", done.stdout)
        ours = as_json("diff", base, change, "--fail-above", "100", status=1)
        self.assertEqual([item["name"] for item in ours["items"] if item["failed"]], ["query_with_args"])
        self.assertFalse(ours["total_failed"])
        # What is left out, or too small to matter, is not judged.
        spantrace("diff", base, change, "--fail-above", "100", "-x", "query*")
        spantrace("diff", base, change, "--fail-above", "100", "--percent-above", "50")
        spantrace("diff", base, change, "--fail-above", "300")
        spantrace("diff", base, base, "--fail-above", "0")

    def test_what_the_real_tools_cannot_read(self):
        """Overlapping siblings, a quote in the command line, a program that was killed."""
        ours = as_json("report", golden("ooo.mm_profdata"))
        items = {item["name"]: item for item in ours["items"]}
        folded = collections.Counter()
        for line in read("ooo-stacks.txt").splitlines():
            stack, _, weight = line.rpartition(" ")
            folded[stack.split(";")[-1]] += int(weight)
        # Siblings that overlap are each themselves, in its stacks too; but a parent loses their union and not their
        # sum, so `outer` has more self time than there.
        for label in ("mine", "virtual_resolved", "query_with_args", "<unknown>"):
            self.assertEqual(items[label]["self_ns"], folded[label])
        self.assertGreater(items["outer"]["self_ns"], folded["outer"])
        self.assertLess(items["outer"]["self_ns"], items["outer"]["total_ns"])
        quote = as_json("report", golden("bad-cmd-quote.mm_profdata"))
        self.assertEqual({item["name"]: item["count"] for item in quote["items"]},
                         {"mine": 4, "query_with_args": 1, "outer": 1, "virtual_resolved": 1, "<unknown>": 1})
        killed = spantrace("report", golden("abort.mm_profdata"))
        self.assertIn("no span", killed.stdout)
        self.assertIn("abort.mm_profdata", killed.stderr)

    def test_several_files_add_up(self):
        one = as_json("report", golden("single-1.mm_profdata"))
        with tempfile.TemporaryDirectory() as directory:
            for i in "abc":
                shutil.copy(golden("single-1.mm_profdata"), f"{directory}/{i}.mm_profdata")
            with open(directory + "/notes.txt", "w") as file:
                file.write("not a recording")
            three = as_json("report", directory)
            words = as_json("report", *(f"{directory}/{i}.mm_profdata" for i in "abc"))
        self.assertEqual(len(three["files"]), 3)
        self.assertEqual(three["total_ns"], 3 * one["total_ns"])
        self.assertEqual(three["items"], words["items"])
        for item, single in zip(three["items"], one["items"]):
            self.assertEqual(item["name"], single["name"])
            for key, value in single.items():
                if key in ("name", "share"):
                    continue
                same = key.startswith(("min", "max", "mean", "p5", "p9"))
                self.assertEqual(item[key], value if same else 3 * value, f"{item['name']} {key}")

    def test_sort_and_top(self):
        file = golden("threads.mm_profdata")
        for column in ("count", "max", "self", "share", "total", "cache_hits", "p90"):
            key = {"count": "count", "cache_hits": "cache_hits", "share": "self_ns"}.get(column, column + "_ns")
            values = [item.get(key, 0) for item in as_json("report", file, "--sort", column)["items"]]
            self.assertEqual(values, sorted(values, reverse=True))
        ours = as_json("report", file, "--top", "2")
        self.assertEqual(ours["items"], as_json("report", file)["items"][:2])
        self.assertEqual(ours["items_in_all"], 7)

    def test_by(self):
        file = golden("threads.mm_profdata")
        threads = {item["name"]: item for item in as_json("report", file, "--by", "thread")["items"]}
        self.assertEqual(set(threads), {"thread 0", "thread 1", "thread 2"})
        names = as_json("report", file)["items"]
        paths = as_json("report", file, "--by", "path")["items"]
        process, = as_json("report", file, "--by", "process")["items"]
        for items in (threads.values(), paths, [process]):
            self.assertEqual(sum(item["self_ns"] for item in items), sum(item["self_ns"] for item in names))
            self.assertEqual(sum(item["count"] for item in items), sum(item["count"] for item in names))
        self.assertEqual([item["count"] for item in paths
                          if item["path"] == ["job", "walk", "walk", "walk", "walk"]], [20])

    def test_mistakes(self):
        file = golden("base.mm_profdata")
        for words, message in (
                (("report",), "no file to read"),
                (("report", "--sort", "color", file), "there are self, share"),
                (("report", "--by", "color", file), "name, path, thread, process"),
                (("report", "--top", "0", file), "--top"),
                (("report", "--percent-above", "101", file), "--percent-above"),
                (("report", "--percent-above", "-1", file), "--percent-above"),
                (("diff", file), "one more file"),
                (("diff", file, file, file), "too many"),
                (("diff", "--fail-above", "much", file, file), "--fail-above")):
            self.assertIn(message, spantrace(*words, status=2).stderr)
        with tempfile.TemporaryDirectory() as directory:
            for words in (("report", directory), ("diff", file, directory), ("report", directory + "/none"),
                          ("diff", ",", file),
                          ("report", __file__)):
                self.assertIn("spantrace: ", spantrace(*words, status=1).stderr)


def stretches(text):
    """The four lists that `summarize aggregate` prints: title → [(ns, what)]."""
    # What is told on three lines becomes one.
    text = re.sub(r",\n    between (.*)\n        and (.*)\n", r", between \1 and \2", text)
    lists, title = {}, None
    for line in text.splitlines():
        if re.match("(Smallest|Largest)", line):
            title = line.split()[0].lower() + "_" + line.split()[-1].rstrip(":")
            lists[title] = []
        elif line.strip():
            value, what = re.fullmatch(r"  ±?([0-9.]+) ns: (.*)", line).groups()
            lists[title].append((float(value), what))
    return lists


class Aggregates(unittest.TestCase):
    FILES = [golden(f"single-{i}.mm_profdata") for i in (1, 2, 3)]

    def test_stretches(self):
        """The ten least and most, as `summarize aggregate` has them."""
        ours = as_json("aggregate", *self.FILES)["sequences"]
        theirs = stretches(read("single-aggregate.txt"))
        self.assertEqual((ours["threads"], ours["same"], ours["overlaps"]), (1, 1, 0))
        self.assertEqual(len(theirs), 4)
        for title, rows in theirs.items():
            self.assertEqual(len(rows), 10)
            for (value, what), own in zip(rows, ours[title]):
                # It tells a variance by its half.
                self.assertEqual(own["ns"], value * 2 if "variances" in title else value)
                if own["count"] == 1:
                    self.assertEqual(own["what"], what)
                else:
                    share = "%.2f" % (own["count"] / ours["stretches"] * 100)
                    self.assertEqual(f"{own['count']} occurrences, or {share}%", what)
            self.assertEqual(len(rows), len(ours[title]))

    def test_totals(self):
        """Mean, deviation and range of what report says of each run."""
        runs = [as_json("report", file) for file in self.FILES]
        ours = as_json("aggregate", *self.FILES, "--no-stretches")
        self.assertNotIn("sequences", ours)
        deviations = []
        for item in ours["items"]:
            self.assertEqual(item["runs"], 3)
            for key in ("self_ns", "total_ns", "count"):
                values = [row[key] for run_ in runs for row in run_["items"] if row["name"] == item["name"]]
                self.assertAlmostEqual(item[key]["mean"], statistics.mean(values), places=3)
                self.assertAlmostEqual(item[key]["sd"], statistics.stdev(values), places=3)
                self.assertEqual((item[key]["min"], item[key]["max"]), (min(values), max(values)))
                if item[key]["mean"]:
                    self.assertAlmostEqual(item[key]["cv"], item[key]["sd"] / item[key]["mean"])
            deviations.append(item["self_ns"]["sd"])
        self.assertEqual(deviations, sorted(deviations, reverse=True))
        self.assertEqual(ours["total_ns"]["min"], min(run_["total_ns"] for run_ in runs))

    def test_threads_and_differences(self):
        """Several threads are compared each by itself; those that differ are left out, and nothing panics."""
        same = as_json("aggregate", golden("base.mm_profdata"), golden("change.mm_profdata"))["sequences"]
        self.assertEqual((same["threads"], same["same"]), (3, 3))
        differ = as_json("aggregate", golden("threads.mm_profdata"), golden("threads-change.mm_profdata"))
        self.assertEqual((differ["sequences"]["threads"], differ["sequences"]["same"]), (3, 2))
        other = as_json("aggregate", golden("base.mm_profdata"), golden("single-1.mm_profdata"))["sequences"]
        self.assertEqual((other["threads"], other["same"], other["stretches"]), (4, 0, 0))
        overlap = as_json("aggregate", golden("ooo.mm_profdata"), golden("ooo.mm_profdata"))["sequences"]
        self.assertEqual(overlap["same"], overlap["threads"])
        self.assertEqual([row["ns"] for row in overlap["largest_variances"]], [0])

    def test_one_run(self):
        self.assertIn("two runs or more", spantrace("aggregate", self.FILES[0], status=2).stderr)


class Recordings(unittest.TestCase):
    """The same on recordings, with sums that their generator knows."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.made = {}
        # Runs that differ by chance alone, and three of three times the work.
        for seed in range(1, 8):
            cls.made[seed] = json.loads(subprocess.run(
                [program("spans_gen"), "60000" if seed > 4 else "20000", "4", "50", "6", str(seed), cls.file(seed)],
                stdout=subprocess.PIPE, check=True).stdout)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    @classmethod
    def file(cls, seed):
        return f"{cls.directory.name}/{seed}.spans"

    def test_sums(self):
        for by in ("name", "path"):
            ours = as_json("report", self.file(1), "--by", by)
            self.assertEqual(sum(item["count"] for item in ours["items"]), self.made[1]["spans"])
            self.assertEqual(sum(item["self_ns"] for item in ours["items"]), self.made[1]["self_ns"])
        self.assertEqual(sum(item["wall_ns"] for item in ours["items"]), self.made[1]["wall_ns"])
        self.assertLessEqual(self.made[1]["self_ns"], ours["total_ns"])
        threads = {item["name"]: item for item in as_json("report", self.file(1), "--by", "thread")["items"]}
        for thread in self.made[1]["threads"]:
            item = threads[f"w-{thread['tid'] - 4000}-{thread['tid']}"]
            self.assertEqual((item["count"], item["self_ns"]), (thread["spans"], thread["self_ns"]))
        self.assertIn("cpu_ns", ours["items"][0])
        self.assertNotIn("alloc_bytes", ours["items"][0])

    def test_round_trip(self):
        """A recording, and the event file made from it."""
        file = self.directory.name + "/out.mm_profdata"
        spantrace("export", self.file(1), "-o", file)
        for by in ("name", "path", "thread"):
            ours, theirs = (as_json("report", name, "--by", by) for name in (self.file(1), file))
            self.assertEqual(ours["total_ns"], theirs["total_ns"])
            key = {"name": "name", "path": "path", "thread": "name"}[by]
            theirs = {str(item[key]): item for item in theirs["items"]}
            self.assertEqual(len(ours["items"]), len(theirs))
            for item in ours["items"]:
                for figure in ("self_ns", "total_ns", "count", "share", "min_ns", "max_ns", "mean_ns", "p90_ns"):
                    self.assertEqual(item[figure], theirs[str(item[key])][figure], f"{item[key]} {figure}")

    def test_filters(self):
        ours = as_json("report", self.file(1), "--tid", "4001")
        self.assertEqual(sum(item["count"] for item in ours["items"]), self.made[1]["threads"][1]["spans"])
        ours = as_json("report", self.file(1), "--provider", "db")
        self.assertTrue(all(item["name"].startswith("db:") for item in ours["items"]))

    def test_diff_of_runs(self):
        """Nothing fails that chance explains, though single runs would."""
        spantrace("diff", self.file(1), self.file(3), "--fail-above", "1", status=1)
        sides = ",".join(self.file(i) for i in (1, 2)), ",".join(self.file(i) for i in (3, 4))
        ours = as_json("diff", *sides, "--fail-above", "1")
        self.assertAlmostEqual(sum(item["self_ns"]["base"] for item in ours["items"]),
                               (self.made[1]["self_ns"] + self.made[2]["self_ns"]) / 2, places=0)
        grown = [item for item in ours["items"] if (item["self_ns"]["percent"] or 0) > 1]
        self.assertTrue(grown)
        self.assertTrue(all(item["self_ns"]["p"] >= 0.05 for item in grown))
        self.assertEqual((ours["failures"], ours["total_failed"]), (0, False))
        out = spantrace("diff", *sides).stdout
        self.assertIn("Welch", out)
        self.assertIn("  ~  ", out)

    def test_growth_that_is_none_of_chance(self):
        sides = ",".join(self.file(i) for i in (1, 2, 3, 4)), ",".join(self.file(i) for i in (5, 6, 7))
        ours = as_json("diff", *sides, "--fail-above", "50", status=1)
        self.assertTrue(ours["total_failed"])
        self.assertLess(ours["total_ns"]["p"], 0.001)
        failed = [item for item in ours["items"] if item["failed"]]
        self.assertEqual(ours["failures"], len(failed))
        self.assertIn("app:phase_1", {item["name"] for item in failed})
        for item in ours["items"]:
            self.assertEqual(item["failed"], (item["self_ns"]["percent"] or 0) > 50 and item["self_ns"]["p"] < 0.05)

    def test_same_runs_differ_in_nothing(self):
        both = ",".join(self.file(i) for i in (1, 2, 3))
        ours = as_json("diff", both, both, "--fail-above", "0")
        self.assertTrue(all(item["self_ns"]["delta"] == 0 for item in ours["items"]))
        self.assertTrue(all(item["self_ns"]["p"] == 1 for item in ours["items"]))

    def test_aggregate(self):
        ours = as_json("aggregate", self.file(1), self.file(2), "--by", "thread")
        self.assertEqual([item["runs"] for item in ours["items"]], [2] * 4)
        self.assertEqual(ours["sequences"]["same"], 0)
        ours = as_json("aggregate", self.file(1), self.file(1))["sequences"]
        self.assertEqual((ours["threads"], ours["same"]), (4, 4))
        self.assertEqual(ours["largest_variances"][0]["ns"], 0)
        # Two ends of each span, and between n instants of a thread are n - 1 stretches.
        self.assertEqual(ours["stretches"], 2 * self.made[1]["spans"] - 4)


if __name__ == "__main__":
    unittest.main()
