# SPDX-License-Identifier: MIT
"""Labels: read where the span begins, kept with it, and rows split by those that are asked for."""
from harness import LiveTest, program, trace

LABELS = program("labels")


class Labels(LiveTest):
    def rows(self, t, *path):
        return {tuple(sorted(row["labels"].items())): row["count"] for row in t.rows(*path)}

    def test_only_the_keys_that_are_asked_for(self):
        t = trace(LABELS, "60")
        self.assertEqual(self.rows(t, "labels:work"), {(): 60})
        t = trace(LABELS, "60", options=["--by", "kind"])
        self.assertEqual(self.rows(t, "labels:work"), {(("kind", f"kind {i}"),): 20 for i in range(3)})
        self.assertEqual(self.rows(t, "labels:work", "labels:inner"), {(): 60})
        self.assert_lossless(t)

    def test_numbers_and_strings(self):
        t = trace(LABELS, "60", options=["--by", "kind", "--by", "turn"])
        self.assertEqual(self.rows(t, "labels:work"),
                         {(("kind", f"kind {i % 3}"), ("turn", i % 4 - 2)): 5 for i in range(12)})
        self.assert_lossless(t)

    def test_async_spans(self):
        t = trace(LABELS, "60", options=["--by", "task"])
        self.assertEqual(self.rows(t, "labels:job"), {(("task", f"task {i}"),): 30 for i in range(2)})
        self.assert_lossless(t)

    def test_strings_of_any_kind(self):
        t = trace(LABELS, "60", options=["--by", "odd"])
        long = "x" * 255
        self.assertEqual(self.rows(t, "labels:strange"),
                         {(("odd", text),): 15 for text in ("", "<null>", "<unreadable>", long)})
        self.assert_lossless(t, unreadable_argument=15)

    def test_key_that_no_span_has(self):
        t = trace(LABELS, "60", options=["--by", "nothing"])
        self.assertEqual(self.rows(t, "labels:work"), {(): 60})

    def test_many_different_strings(self):
        t = trace(LABELS, "2000", options=["--by", "name"])
        self.assert_lossless(t)
        rows = self.rows(t, "labels:named")
        self.assertEqual(sorted(rows), sorted(((("name", f"number {i}"),) for i in range(2000))))
        self.assertEqual(set(rows.values()), {1})
