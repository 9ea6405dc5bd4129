# SPDX-License-Identifier: MIT
"""A trace as a service for tests: spantrace with a configuration file, its /metrics read strictly, and what they must be."""
import gzip
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from harness import SPANTRACE, Target, program


def read_metrics(text):
    """{(name, ((label, value), …)): number}; fails where the text is not what the format says."""
    samples, types, last = {}, {}, None
    for line in text.splitlines():
        kind = re.fullmatch(r"# (HELP|TYPE) (\w+) (.+)", line)
        if kind:
            if kind[1] == "TYPE":
                assert kind[2] not in types, f"{kind[2]} twice"
                types[kind[2]] = kind[3]
            last = kind[2]
            continue
        sample = re.fullmatch(r'(\w+)(?:\{((?:\w+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)', line)
        assert sample, f"no sample: {line!r}"
        family = sample[1]
        if types.get(last) == "histogram":
            family = re.sub(r"_(bucket|sum|count)$", "", family)
        assert family == last, f"{family} stands under {last}"
        labels = tuple(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2] or ""))
        assert (sample[1], labels) not in samples, f"twice: {line}"
        samples[sample[1], labels] = float(sample[3])
    return samples


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of a protobuf message that has only numbers and what has a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def numbers(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def finished(path):
    """The sum of the sample type `count` of a pprof file."""
    profile = list(fields(gzip.open(path).read()))
    strings = [value for key, value in profile if key == 6]
    types = [strings[dict(fields(value))[1]] for key, value in profile if key == 1]
    samples = [dict(fields(value)) for key, value in profile if key == 2]
    return sum(list(numbers(sample[2]))[types.index(b"count")] for sample in samples)


class Service:
    """spantrace with a configuration file of LINES, listening."""

    def __init__(self, *lines, options=(), env=None, prefix=()):
        self.folder = tempfile.mkdtemp()
        self.config = os.path.join(self.folder, "spantrace.conf")
        self.write(*lines)
        self.log = open(os.path.join(self.folder, "log"), "w+")
        self.process = subprocess.Popen([*prefix, SPANTRACE, "--config", self.config, *options],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, env=env)
        self.expect("tracing ")
        self.url = re.search(r"listening on (\S+)/metrics", self.said())
        self.url = self.url and self.url[1]

    def write(self, *lines):
        with open(self.config, "w") as config:
            config.write("\n".join(("log-level = info", *lines)) + "\n")

    def said(self):
        return open(self.log.name).read()

    def expect(self, words, times=1, timeout=60):
        deadline = time.time() + timeout
        while self.said().count(words) < times:
            if self.process.poll() is not None or time.time() > deadline:
                raise AssertionError(f"{words!r} expected: {self.said()}")
            time.sleep(0.02)

    def get(self, path):
        """Status and text."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metrics(self):
        status, text = self.get("/metrics")
        assert status == 200, status
        return read_metrics(text)

    def value(self, name, **labels):
        return self.metrics().get((name, tuple(labels.items())))

    def wait_for(self, number, name, timeout=60, **labels):
        """What is told comes once a second."""
        deadline = time.time() + timeout
        while self.value(name, **labels) != number:
            if time.time() > deadline:
                raise AssertionError(f"{name}{labels}: {self.value(name, **labels)}, not {number}")
            time.sleep(0.1)

    def hang_up(self):
        self.process.send_signal(signal.SIGHUP)

    def end(self, timeout=60):
        self.process.terminate()
        return self.process.wait(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder)


class Counted(Target):
    """Spans that are known by number. The first is waited for, so that its probes stand."""

    def __init__(self, path=None, **kwargs):
        super().__init__(path or program("counted"), **kwargs)

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return int(self.expect("done").split()[1])


UNIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../user/service/spantrace.service")
STEP = {"provider": "count", "span": "step"}
LONG = {"provider": "count", "span": "long"}
TICK = {"provider": "count", "event": "tick"}
COUNT = "spantrace_span_duration_seconds_count"
LISTEN = "listen = 127.0.0.1:0"
