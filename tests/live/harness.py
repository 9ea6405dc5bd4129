# SPDX-License-Identifier: MIT
"""What the live tests share: run spantrace on a program, read its JSON, ask for counts by path.

A test file holds unittest cases; tests/run.py runs them, or one alone:
    python3 -m unittest tests/live/test_rules.py
"""
import json
import os
import select
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUTPUT = os.path.join(ROOT, os.environ.get("SPANTRACE_OUTPUT", ".output"))
SPANTRACE = os.path.join(OUTPUT, "spantrace")


def program(name):
    """A program of tests/programs, or of usdt as usdt/NAME."""
    return os.path.join(OUTPUT, name if "/" in name else "programs/" + name)


class Trace:
    """What one run of spantrace printed."""

    def __init__(self, text, status=0, stderr="", stdout=""):
        self.json = json.loads(text)
        self.status = status
        self.stderr = stderr
        self.stdout = stdout
        self.losses = self.json["losses"]

    def rows(self, *path):
        return [row for row in self.json["paths"] if row["path"] == list(path)]

    def sum(self, key, *path):
        return sum(row[key] for row in self.rows(*path))

    def count(self, *path):
        return self.sum("count", *path)

    def paths(self):
        return {";".join(row["path"]) for row in self.json["paths"]}

    def events(self, name):
        return [event for event in self.json["events"] if event["name"] == name]


# Options that every trace of a test gets besides its own: test_stream.py runs tests of others with them.
EXTRA = []


def run(*args, timeout=120, **kwargs):
    """spantrace with ARGS; does not judge."""
    return subprocess.run([SPANTRACE, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=timeout, **kwargs)


def trace(*command, options=(), timeout=120):
    """Traces COMMAND from its first instruction."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = run("-o", "json:" + out.name, *EXTRA, *options, "--", *command, timeout=timeout)
        text = open(out.name).read()
        if not text:
            raise AssertionError(f"no output: {done.stderr}")
        return Trace(text, done.returncode, done.stderr, done.stdout)


def innermost(pid):
    """The process that PID has started, if that has started none: what stands behind nsenter and its like."""
    while True:
        with open(f"/proc/{pid}/task/{pid}/children") as children:
            found = children.read().split()
        if not found:
            return pid
        pid = int(found[0])


class Attached:
    """spantrace attached to running processes, or as the options say (-a), until stop(). With -v it says when all
    probes stand. PREFIX: what runs it, nsenter for one."""

    def __init__(self, *pids, options=(), prefix=(), **kwargs):
        self.out = tempfile.NamedTemporaryFile(suffix=".json")
        self.process = subprocess.Popen(
            [*prefix, SPANTRACE, "-v", *(["-p", ",".join(map(str, pids))] if pids else []),
             "-o", "json:" + self.out.name, *EXTRA, *map(str, options)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)
        self.stderr = ""
        self.expect("tracing")

    def expect(self, words, timeout=60):
        """Waits until it has said WORDS on stderr."""
        deadline = time.time() + timeout
        while words not in self.stderr:
            if self.process.poll() is not None or time.time() > deadline:
                self.process.kill()
                self.stderr += self.process.stderr.read()
                raise AssertionError(f"{words!r} expected: {self.stderr}")
            if select.select([self.process.stderr], [], [], 0.1)[0]:
                # Not by lines: what a buffer holds back, select does not see.
                self.stderr += os.read(self.process.stderr.fileno(), 65536).decode(errors="replace")

    def wait(self, timeout=60):
        stdout, stderr = self.process.communicate(timeout=timeout)
        self.stderr += stderr
        with open(self.out.name) as out:
            return Trace(out.read(), self.process.returncode, self.stderr, stdout)

    def stop(self):
        os.kill(innermost(self.process.pid), signal.SIGINT)
        return self.wait()


class Target:
    """A program with pipes, so that a test says when it goes on."""

    def __init__(self, *command, **kwargs):
        self.process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, **kwargs)
        self.pid = self.process.pid

    def expect(self, word):
        line = self.process.stdout.readline()
        if word not in line:
            raise AssertionError(f"{word!r} expected, got {line!r}")
        return line

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self, timeout=60):
        out, _ = self.process.communicate("\n" if self.process.poll() is None else None, timeout=timeout)
        return out

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


class LiveTest(unittest.TestCase):
    maxDiff = None

    def assert_lossless(self, trace_, **but):
        """No losses of any cause but those named, and of those exactly that many. How many programs start at once is
        up to the rest of the machine: mappings_lost does not count here."""
        got = {name: count for name, count in trace_.losses.items() if count and name != "mappings_lost"}
        self.assertEqual(got, but)

    def assert_counts(self, trace_, expected):
        """{"app:outer;app:inner": finished} for every path there is, and no other path."""
        got = {}
        for row in trace_.json["paths"]:
            key = ";".join(row["path"])
            got[key] = got.get(key, 0) + row["count"]
        self.assertEqual(got, expected)
