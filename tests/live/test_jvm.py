# SPDX-License-Identifier: MIT
"""HotSpot 17 as Debian ships it, by the built-in rules: texts that are a pointer and a length."""
import glob
import os
import subprocess
import tempfile

from harness import ROOT, Attached, LiveTest, Target


def tool(name):
    return max(glob.glob("/usr/lib/jvm/java-17-openjdk-*/bin/" + name))


class JvmTest(LiveTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([tool("javac"), "-d", cls.folder.name, os.path.join(ROOT, "tests/programs/Jvm.java")], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def traced(self, *flags, options=()):
        with Target(tool("java"), "-XX:+UseSerialGC", "-Xint", *flags, "-cp", self.folder.name, "Jvm") as target:
            target.expect("ready")
            tracer = Attached(target.pid, options=options)
            target.go()
            target.expect("done")
            return tracer.stop()

    def counts(self, t):
        got = {}
        for row in t.json["paths"]:
            name = row["path"][-1]
            got[name] = got.get(name, 0) + row["count"]
        return got

    def test_methods_sleeps_and_collections(self):
        t = self.traced("-XX:+ExtendedDTraceProbes", options=["--by", "full"])
        counts = self.counts(t)
        self.assertEqual(counts["hotspot:Jvm.fib"], 67)
        self.assertEqual(counts["hotspot:thread__sleep"], 20)
        self.assertEqual(sum(row["count"] for row in t.json["paths"]
                             if row["path"][-1] == "hotspot:gc" and row["labels"]["full"] == 1), 3)
        self.assertEqual(counts["hotspot:vmop GenCollectFull"], 3)
        # Each collection opens every pool at once.
        pools = {name: count for name, count in counts.items() if name.startswith("hotspot:pool ")}
        self.assertEqual(pools["hotspot:pool Tenured Gen"], 3)
        self.assertEqual(pools["hotspot:pool Eden Space"], 3)
        self.assertEqual(t.losses["ring_full"], 0)
        self.assertEqual(t.losses["unreadable_argument"], 0)
        self.assertIn("hotspot_jni is left out", t.stderr)
        self.assertNotIn("hotspot:method never fired", t.stderr)

    def test_switched_off(self):
        t = self.traced(options=["-x", "class*"])
        self.assertEqual(self.counts(t)["hotspot:thread__sleep"], 20)
        self.assertIn("never fired: start the JVM with -XX:+ExtendedDTraceProbes", t.stderr)
