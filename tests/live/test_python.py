# SPDX-License-Identifier: MIT
"""CPython 3.11 as Debian ships it, by the built-in rules: collections, imports by name, returns by function."""
import json
import os
import tempfile

from harness import Attached, LiveTest, Target, run

PYTHON = "/usr/bin/python3.11"
SCRIPT = """
import gc, os, sys
gc.disable()
sys.path.insert(0, os.path.dirname(__file__))
print("ready", flush=True)
sys.stdin.readline()
def leaf():
    pass
def work(n):
    leaf()
    return work(n - 1) if n else 0
for _ in range(7):
    gc.collect(2)
for _ in range(3):
    gc.collect(0)
for _ in range(2):
    gc.collect(1)
for _ in range(10):
    work(4)
import outer
try:
    import missing
except ImportError:
    pass
print("done", flush=True)
sys.stdin.readline()
os._exit(0)
"""


class PythonTest(LiveTest):
    def traced(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("main", SCRIPT), ("outer", "import inner, other\n"), ("inner", "import other\n"),
                               ("other", "")):
                with open(f"{folder}/{name}.py", "w") as file:
                    file.write(text)
            with Target(PYTHON, "-I", "-S", f"{folder}/main.py", env={**os.environ, "LC_ALL": "C.UTF-8"}) as target:
                target.expect("ready")
                tracer = Attached(target.pid, options=options)
                target.go()
                target.expect("done")
                t = tracer.stop()
                target.end()
        return t

    def test_collections_and_imports(self):
        t = self.traced("--by", "generation", "-x", "function__*", "-x", "audit")
        got = {}
        for row in t.json["paths"]:
            key = (";".join(row["path"]).replace("python:", ""), row["labels"].get("generation"))
            got[key] = got.get(key, 0) + row["count"]
        self.assertEqual(got, {("gc", 2): 7, ("gc", 0): 3, ("gc", 1): 2,
                               ("import outer", None): 1, ("import outer;import inner", None): 1,
                               ("import outer;import inner;import other", None): 1, ("import missing", None): 1})
        self.assertEqual(sum(row["abandoned"] + row["open"] for row in t.json["paths"]), 0)
        self.assert_lossless(t)

    def test_functions_are_events(self):
        t = self.traced("-x", "audit")
        counts = {event["name"]: event["count"] for event in t.json["events"]}
        self.assertEqual(counts["python:function__return work"], 50)
        self.assertEqual(counts["python:function__return leaf"], 50)
        self.assertNotIn("python:function__entry work", counts)
        listed = run("list", PYTHON).stdout
        self.assertIn("CPython 3.11 hardly fires function__entry (gh-98894)", listed)
        self.assertIn("-P python:line takes it in", listed)
        kinds = {d["label"]: d["kind"] for d in json.loads(run("list", "--json", PYTHON).stdout)["definitions"]}
        self.assertEqual(kinds["python:function__return"], "event")
        self.assertEqual(kinds["python:function__entry"], "event")
        self.assertNotIn("python:line", kinds)
