# SPDX-License-Identifier: MIT
"""Spans called by their arguments, labels of foreign markers, and rules from a file: tests/programs/named.c."""
import os
import tempfile

from harness import LiveTest, program, run, trace

NAMED = program("named")
RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "named.rules")
BAD = "<unreadable>"


class Names(LiveTest):
    def named(self, *args, options=()):
        return trace(NAMED, *args, options=["--rules", RULES, *options])

    def spans(self, t, *labels):
        """{(path, label values): count}"""
        got = {}
        for row in t.json["paths"]:
            key = (";".join(name.removeprefix("named:") for name in row["path"]),
                   *(row["labels"].get(label) for label in labels))
            got[key] = got.get(key, 0) + row["count"]
        return got

    def test_names(self):
        t = self.named(60)
        expected = {(f"to class{c}::{method}",): 10 for c in range(3) for method in ("odd", "even")}
        expected |= {("to function",): 60, ("to null",): 60, ("to class",): 60, ("call",): 60,
                     ("to " + "h" * 255,): 60, ("to " + BAD,): 60,
                     ("to deep::nest",): 60, ("to deep::nest;to deep::nest",): 60,
                     ("to deep::nest;to deep::nest;to deep::nest",): 60,
                     ("slice",): 20, ("a",): 20, ("ab",): 20, ("h" * 255,): 60,
                     ("small",): 60, ("large",): 60, ("fixed",): 60, ("item",): 60, ("real",): 60,
                     ("task blue",): 30, ("task red",): 30}
        self.assertEqual(self.spans(t), expected)
        self.assertEqual({event["name"]: event["count"] for event in t.json["events"]},
                         {"named:blue": 30, "named:red": 30})
        self.assert_lossless(t, unreadable_argument=60)

    def test_labels(self):
        t = self.named(60, options=["--by", "method", "--by", "line"])
        spans = self.spans(t, "method", "line")
        self.assertEqual({key[1:]: count for key, count in spans.items() if key[0] == "to class0::even"},
                         {("ev", line): 2 for line in range(5)})
        self.assertEqual(spans[("to class", "<null>", 1)], 60)
        self.assertEqual(spans[("call", "", 1)], 60)
        t = self.named(60, options=["--by", "part", "--by", "color"])
        spans = self.spans(t, "part", "color")
        self.assertEqual(spans[("slice", "", None)], 20)
        self.assertEqual(spans[("ab", "a", None)], 20)
        self.assertEqual(spans[("h" * 255, "h", None)], 60)
        self.assertEqual(spans[("task red", None, "red")], 30)

    def test_numbers_of_every_size(self):
        by = [word for i in range(4) for word in ("--by", f"arg{i}")]
        t = trace(NAMED, 60, options=by)
        spans = self.spans(t, "arg0", "arg1", "arg2", "arg3")
        self.assertEqual(spans[("small", -1, 200, -2, 60000)], 60)
        self.assertEqual(spans[("large", -3, 4000000000, -4, 1 << 40)], 60)
        self.assertEqual(spans[("fixed", 200, -3, 4000000000, -5)], 60)
        self.assertEqual(spans[("item", -7, 70, None, None)], 30)
        self.assertEqual(spans[("item", 8, -80, None, None)], 30)

    def test_argument_that_cannot_be_read(self):
        t = self.named(60, options=["--by", "x", "--by", "n"])
        spans = self.spans(t, "x", "n")
        self.assertEqual((spans[("real", None, 0)], spans[("real", None, 1)]), (30, 30))
        refused = [r for r in t.json["refused"] if r["marker"].startswith("named:real__start")]
        self.assertEqual(len(refused), 1)
        self.assertEqual(len(t.json["refused"]), 1)
        self.assertIn("label x, argument 0: it is a floating-point value", refused[0]["why"])

    def test_pages_that_are_not_there(self):
        t = self.named("cold", 20)
        self.assert_counts(t, {"named:to cold::page": 20, "named:to crossing::pages": 20})
        self.assert_lossless(t)

    def test_too_many_names(self):
        t = self.named("many", 17000)
        spans = self.spans(t)
        self.assertEqual(spans.pop(("to (other names)",)), 17000 - 16384)
        self.assertEqual(spans, {(f"to name{i}",): 1 for i in range(16384)})
        self.assert_lossless(t, names_full=17000 - 16384)

    def test_exclude_and_choose(self):
        t = self.named(60, options=["-P", "named:call", "-x", "named:hit"])
        self.assertEqual({key[0].split(" ")[0] for key in self.spans(t)}, {"to", "call"})
        self.assertEqual(t.json["events"], [])
        t = self.named(60, options=["-x", "call"])
        self.assertNotIn(("call",), self.spans(t))
        self.assertEqual(self.spans(t)[("task red",)], 30)

    def test_list_says_why(self):
        listed = run("list", "--rules", RULES, NAMED).stdout
        self.assertIn(f'by {RULES}:5; named "to " string(arg0) "::" string(arg1); labels method, line', listed)
        self.assertIn(f"by {RULES}:19, keyed by argument @0", listed)
        self.assertIn("a point; named string(arg0)", listed)

    def test_file_with_a_mistake(self):
        with tempfile.NamedTemporaryFile("w", suffix=".rules") as file:
            file.write("provider named\nspan call\n\tstart call__start\n\tends call__done\n")
            file.flush()
            done = run("--rules", file.name, "--", NAMED, "1")
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.splitlines()[0].split(": ", 1)[1].split(";")[0],
                             f"--rules: {file.name}:4:2: `ends` is no statement")
        self.assertEqual(run("--rules", "/nowhere", "--", NAMED, "1").returncode, 1)


class LeftOut(LiveTest):
    RULES = """provider named
    span call
        start call__start
        end call__done
        left_out "too hot"
    event hit
        hint "turn it on"
    event never
        hint "turn it on"
    span slice
        start slice__start
        end slice__done
        hint "slice more"
    """

    def traced(self, *args, options=()):
        with tempfile.NamedTemporaryFile("w", suffix=".rules") as file:
            file.write(self.RULES)
            file.flush()
            return trace(NAMED, *args, options=["--rules", file.name, *options])

    def test_said_once_and_taken_in_by_name(self):
        t = self.traced(10)
        self.assertNotIn("named:call", t.paths())
        self.assertEqual(t.stderr.count("named:call is left out: too hot; -P named:call takes it in"), 1)
        t = self.traced(10, options=["-P", "named:call"])
        self.assertEqual(t.count("named:call"), 80)
        self.assertNotIn("left out", t.stderr)

    def test_hint_where_nothing_fired(self):
        t = self.traced("many", 10)
        self.assertIn("named:slice never fired: slice more", t.stderr)
        self.assertIn("named:hit never fired: turn it on", t.stderr)
        self.assertNotIn("never fired", self.traced(10).stderr)
