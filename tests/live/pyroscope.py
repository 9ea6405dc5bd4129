# SPDX-License-Identifier: MIT
"""A Pyroscope for tests: a server of the real types of its Push API, which records what it takes
(tests/programs/push-server), and what was recorded, added up. Needs Go and its module proxy."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import LiveTest, Trace, run

SOURCE = os.path.join(harness.ROOT, "tests/programs/push-server")
BINARY = os.path.join(harness.OUTPUT, "push-server")


def build():
    """Builds the server; SkipTest where Go or its modules are not to be had."""
    if not shutil.which("go"):
        raise unittest.SkipTest("the Push API is left out: go is not installed")
    built = subprocess.run(["go", "build", "-mod=readonly", "-p", "2", "-o", BINARY, "."], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, cwd=SOURCE, timeout=600, text=True)
    if built.returncode and any(word in built.stdout for word in ("dial tcp", "proxy", "toolchain not available")):
        raise unittest.SkipTest("the Push API is left out: its modules cannot be downloaded")
    if built.returncode:
        raise AssertionError(built.stdout)


class Server:
    """Runs until stop(); what it records is kept over several runs of one Server, whose address stays."""

    def __init__(self, *options):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "record")
        self.cert = os.path.join(self.folder.name, "cert.pem")
        self.address = "127.0.0.1:0"
        self.process = None
        self.start(*options)

    def start(self, *options, tls=False):
        self.process = subprocess.Popen([BINARY, "-listen", self.address, "-record", self.file,
                                         *(["-cert", self.cert] if tls else []), *options],
                                        stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split()[-1]
        self.url = ("https://" if tls else "http://") + self.address

    def stop(self):
        """Answers what has come, and ends."""
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=60)
            self.process.stdout.close()
            self.process = None

    def close(self):
        self.stop()
        self.folder.cleanup()

    def profiles(self, **labels):
        """What was recorded, of the series with these labels."""
        with open(self.file) as lines:
            found = [json.loads(line) for line in lines]
        return [p for p in found if all(p["labels"].get(k) == v for k, v in labels.items())]

    def sums(self, value, **labels):
        return sums(self.profiles(**labels), value)


def sums(profiles, value):
    """{"outer;inner": total}, without zeroes."""
    got = {}
    for profile in profiles:
        for sample in profile["samples"]:
            path = ";".join(reversed(sample["stack"]))
            got[path] = got.get(path, 0) + sample["values"].get(value, 0)
    return {path: total for path, total in got.items() if total}


def of_json(trace, key):
    """The same of a trace's JSON."""
    got = {}
    for row in trace.json["paths"]:
        path = ";".join(row["path"]) or "(outside spans)"
        got[path] = got.get(path, 0) + row[key]
    return {path: total for path, total in got.items() if total}


# ours in the JSON ▸ in profiles
SAME = {"count": "count", "self_ns": "wall_busy", "idle_ns": "wall_idle", "self_cpu_ns": "cpu"}
MEMORY = {"alloc_objects": "alloc_objects", "alloc_bytes": "alloc_space"}


class PyroscopeTest(LiveTest):
    @classmethod
    def setUpClass(cls):
        build()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.server = Server()
        self.addCleanup(self.server.close)

    def path(self, name):
        return os.path.join(self.folder, name)

    def push(self, *words, url=None, interval="1s", **kwargs):
        """A run with the JSON beside what WORDS ask for."""
        done = run("-o", "json:" + self.path("json"), "--pyroscope", url or self.server.url, "--interval", interval,
                   *words, **kwargs)
        with open(self.path("json")) as text:
            return Trace(text.read(), done.returncode, done.stderr, done.stdout)

    def assert_same(self, trace, profiles, pairs=None):
        """What was pushed is all that we counted, once."""
        ids = [p["id"] for p in profiles]
        self.assertEqual(len(ids), len(set(ids)), "a profile came twice")
        times = [(p["time"], json.dumps(p["labels"], sort_keys=True)) for p in profiles]
        self.assertEqual(len(times), len(set(times)), "two profiles of a series have one time")
        for ours, theirs in (pairs or SAME).items():
            self.assertEqual(sums(profiles, theirs), of_json(trace, ours), theirs)
