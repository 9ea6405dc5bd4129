# SPDX-License-Identifier: MIT
"""record: files one after the other, a flight recorder, and what is left when the disk is full or spantrace is killed.

The target numbers its spans, so that it is seen whether any is missing between those in the files."""
import glob
import json
import os
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import zlib

from harness import SPANTRACE, LiveTest, Target, program, run
from test_rules import memory_of

COUNTED = program("counted")
HEADER = struct.Struct("<IIIIIB3xIIQQ")  # include/recording.h: struct recording_block_header


class Recorder:
    """spantrace record on a running process. Ends with SIGINT, or as it likes."""

    def __init__(self, *words, pid=None):
        words = ["record", "-v", *words] + (["-p", pid] if pid else [])
        self.stderr = ""
        self.process = subprocess.Popen([SPANTRACE, *map(str, words)], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        os.set_blocking(self.process.stderr.fileno(), False)

    def expect(self, text, times=1, timeout=60):
        """Waits until it has said TEXT so often."""
        deadline = time.time() + timeout
        while self.stderr.count(text) < times:
            if self.process.poll() is not None or time.time() > deadline:
                self.process.kill()
                raise AssertionError(f"{text!r} was not said: {self.stderr + (self.process.stderr.read() or '')}")
            if select.select([self.process.stderr], [], [], 0.1)[0]:
                self.stderr += self.process.stderr.read() or ""
        return self

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=60):
        deadline = time.time() + timeout
        while self.process.poll() is None and time.time() < deadline:
            if select.select([self.process.stderr], [], [], 0.1)[0]:
                self.stderr += self.process.stderr.read() or ""
        self.stderr += self.process.stderr.read() or ""
        if self.process.poll() is None:
            self.process.kill()
            raise AssertionError(f"no end: {self.stderr}")
        return self.process.returncode

    def stop(self):
        self.signal(signal.SIGINT)
        return self.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()


class Counted(Target):
    """The program that numbers its spans."""

    def __init__(self, **kwargs):
        super().__init__(COUNTED, **kwargs)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def do(self, line):
        """Returns the number of the next span."""
        self.ask(line)
        return int(self.expect("done").split()[1])

    def finish(self):
        """Status at the end of its input."""
        self.process.stdin.close()
        for _ in self.process.stdout:
            pass
        return self.process.wait(60)


class RecordTest(LiveTest):
    def setUp(self):
        self.place = tempfile.mkdtemp()

    def tearDown(self):
        shutil.rmtree(self.place, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.place, name)

    def parts(self, stem="x"):
        """The files of a rotation, the oldest first."""
        found = {}
        for path in glob.glob(self.path(stem + ".*spans")):
            number = os.path.basename(path)[len(stem) + 1:-len(".spans")]
            found[int(number) if number else 0] = path
        return [found[number] for number in sorted(found, reverse=True)]

    def view(self, path):
        """(spans, events) of a file, and what was said about it."""
        done = run("view", "--json", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        items = [json.loads(line) for line in done.stdout.splitlines()]
        return ([i for i in items if i["kind"] == "span"], [i for i in items if i["kind"] == "event"], done.stderr)

    def numbers(self, path):
        _, events, said = self.view(path)
        self.assertEqual(said, "")
        return [event["value"] for event in events]

    def assert_no_gap(self, numbers):
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))


class Rotation(RecordTest):
    def test_default_file(self):
        done = subprocess.run([SPANTRACE, "record", "--", COUNTED], input="run 1000\n", text=True, cwd=self.place,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "done 1000\n"))
        self.assertRegex(done.stderr, r"^spantrace: wrote spantrace.spans: 1,000 spans, [0-9.]+ KiB, [0-9,]+ spans/s\n$")
        self.assertEqual(os.listdir(self.place), ["spantrace.spans"])
        self.assertEqual(self.numbers(self.path("spantrace.spans")), list(range(1000)))

    def test_by_size(self):
        """Every span is in one part, and none in two; each part can be read alone."""
        size = 256 << 10
        with Counted() as target, Recorder("--max-size", size, "-o", self.path("x.spans"), pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.do("run 150000")
            self.assertEqual(recorder.stop(), 0)
        parts = self.parts()
        self.assertGreater(len(parts), 3)
        self.assertIn(f"x.spans and {len(parts) - 1} parts before it: 150,000 spans, ", recorder.stderr)
        numbers, spans = [], 0
        for part in parts:
            self.assertLessEqual(os.path.getsize(part), size)
            numbers += self.numbers(part)
            spans += len(self.view(part)[0])
        self.assertEqual(numbers, list(range(150000)))
        self.assertEqual(spans, 150000)
        self.assertEqual(len(glob.glob(self.path("*"))), len(parts))

    def test_by_time_with_keep(self):
        with Counted() as target, Recorder("--max-time", "200ms", "--keep", 2, "-o", self.path("x.spans"),
                                           pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.ask("forever 1000")
            recorder.expect("begins anew", times=4)
            target.ask("run 0")
            target.expect("done")
            target.expect("done")
            last = target.do("run 10")
            self.assertEqual(recorder.stop(), 0)
        self.assertEqual(sorted(os.listdir(self.place)), ["x.1.spans", "x.2.spans", "x.spans"])
        numbers = sum((self.numbers(part) for part in self.parts()), [])
        self.assertGreater(numbers[0], 0)
        self.assertEqual(numbers, list(range(numbers[0], last)))

    def test_by_hand(self):
        """SIGUSR1 ends a part; what is in each is known, and so is its time."""
        with Counted() as target, Recorder("-o", self.path("x.spans"), pid=target.pid) as recorder:
            recorder.expect("tracing")
            for i in range(2):
                target.do("run 100")
                time.sleep(0.5)
                recorder.signal(signal.SIGUSR1)
                recorder.expect("begins anew", times=i + 1)
            target.do("run 50")
            self.assertEqual(recorder.stop(), 0)
        parts = self.parts()
        self.assertEqual([os.path.basename(part) for part in parts], ["x.2.spans", "x.1.spans", "x.spans"])
        self.assertEqual([self.numbers(part) for part in parts],
                         [list(range(100)), list(range(100, 200)), list(range(200, 250))])
        exported = [json.loads(run("export", part, "--json").stdout) for part in parts]
        for part in exported:
            self.assertGreaterEqual(part["duration_ns"], 0)
            self.assertFalse(any(part["losses"].values()))

    def test_open_span_goes_on(self):
        """A span that is open while a part ends is in the next one, whole."""
        with Counted() as target, Recorder("-o", self.path("x.spans"), pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.do("run 1")
            target.ask("long 2000")
            time.sleep(0.3)
            recorder.signal(signal.SIGUSR1)
            recorder.expect("begins anew")
            target.expect("done")
            self.assertEqual(recorder.stop(), 0)
        spans, _, _ = self.view(self.path("x.spans"))
        self.assertEqual([span["path"] for span in spans], [["count:long"]])
        self.assertGreaterEqual(spans[0]["wall_ns"], 2000000000)
        self.assertGreaterEqual(spans[0]["start_ns"], 0)


class FlightRecorder(RecordTest):
    def test_only_the_last(self):
        """What is older than the window, and the second that a block may span, is not in the file."""
        with Counted() as target, Recorder("--last", "5s", "-o", self.path("x.spans"), pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.do("run 500")
            time.sleep(7.5)
            self.assertEqual(os.listdir(self.place), [])
            target.do("run 300")
            recorder.signal(signal.SIGUSR1)
            recorder.expect("wrote ")
            self.assertEqual(os.listdir(self.place), ["x.1.spans"])
            target.do("run 5")
            self.assertEqual(recorder.stop(), 0)
        self.assertEqual(self.numbers(self.path("x.1.spans")), list(range(500, 800)))
        # At the end it writes too.
        self.assertEqual(self.numbers(self.path("x.2.spans"))[-5:], list(range(800, 805)))
        self.assertEqual(sorted(os.listdir(self.place)), ["x.1.spans", "x.2.spans"])

    def test_trigger(self):
        with Counted() as target, Recorder("--last", "60s", "--keep", 2, "--trigger", "count:lo*>200ms", "--trigger",
                                           "step>5m", "-o", self.path("x.spans"), pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.do("run 100")
            target.do("long 1")
            time.sleep(1.5)
            self.assertEqual(os.listdir(self.place), [])
            target.do("long 250")
            recorder.expect("wrote ")
            self.assertRegex(recorder.stderr, r"wrote \S+/x\.1\.spans: the last [0-9.]+ s, [0-9.]+ KiB; "
                                              r"trigger count:lo\*>200ms: count:long took [0-9.]+ ms\n")
            target.do("long 250")
            recorder.expect("wrote ", times=2)
            self.assertEqual(recorder.stop(), 0)
        self.assertEqual(sorted(os.listdir(self.place)), ["x.2.spans", "x.3.spans"])
        for name, longs in (("x.2.spans", 3), ("x.3.spans", 3)):
            spans, events, _ = self.view(self.path(name))
            self.assertEqual([event["value"] for event in events], list(range(100)))
            self.assertEqual(sum(span["path"] == ["count:long"] for span in spans), longs)

    def test_target_ends(self):
        """The end of the target is the trace's, and the flight recorder writes what led to it."""
        done = subprocess.run([SPANTRACE, "record", "--last", "10s", "-o", self.path("x.spans"), "--", COUNTED],
                              input="run 1000\n", text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.numbers(self.path("x.1.spans")), list(range(1000)))


class DiskFull(RecordTest):
    def setUp(self):
        super().setUp()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "spantrace-test", self.place], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.place], check=True)

    def tearDown(self):
        pass

    def check_cut(self, path):
        """Readable up to its last whole block, and what comes behind that is said."""
        blocks, rest = whole_blocks(path)
        spans, events, said = self.view(path)
        self.assertEqual((len(spans), len(events)), (sum(b[0] for b in blocks), sum(b[1] for b in blocks)))
        self.assertGreater(len(spans), 1000)
        self.assertIn("has no end", said)
        if rest:
            self.assertIn(f"{rest} bytes", said)
        self.assert_no_gap([event["value"] for event in events])

    def test_the_only_output(self):
        path = self.path("x.spans")
        with Counted() as target, Recorder("-o", path, pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.ask("forever 100")
            self.assertEqual(recorder.wait(), 1)
            self.assertIn(f"cannot write recording to {path}: No space left on device; what it holds so far can be read",
                          recorder.stderr)
            self.assertIn("no output is left to write to", recorder.stderr)
            self.check_cut(path)
            self.assertIsNone(target.process.poll())
            target.ask("run 1")
            self.assertEqual(target.finish(), 0)

    def test_another_output_goes_on(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as other, Counted() as target, \
                Recorder("-o", self.path("x.spans"), "-o", "json:" + other.name, pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.ask("forever 100")
            recorder.expect("No space left")
            target.ask("run 0")
            target.expect("done")
            target.expect("done")
            made = target.do("run 1000")
            self.assertIsNone(recorder.process.poll())
            self.assertEqual(recorder.stop(), 1)
            self.assertEqual(recorder.stderr.count("No space left"), 1)
            whole = json.load(open(other.name))
            self.assertEqual(sum(row["count"] for row in whole["paths"]), made)
            self.check_cut(self.path("x.spans"))
            self.assertEqual(target.finish(), 0)

    def test_command(self):
        """spantrace failed, which is 125 with -- CMD; CMD runs to its end."""
        done = subprocess.run([SPANTRACE, "record", "-o", self.path("x.spans"), "--", COUNTED], input="run 200000\n",
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (125, "done 200000\n"))
        self.check_cut(self.path("x.spans"))

    def test_rotation_makes_room(self):
        """--keep keeps a small disk from filling."""
        with Counted() as target, Recorder("--max-size", "256K", "--keep", 2, "-o", self.path("x.spans"),
                                           pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.do("run 300000")
            self.assertEqual(recorder.stop(), 0)
        numbers = sum((self.numbers(part) for part in self.parts()), [])
        self.assertEqual(numbers, list(range(numbers[0], 300000)))

    def test_flight_recorder(self):
        """A file that finds no room is said; the next one is written when there is room."""
        with open(self.path("ballast"), "wb") as ballast:
            ballast.write(b"x" * (900 << 10))
        with Counted() as target, Recorder("--last", "60s", "-o", self.path("x.spans"), pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.do("run 40000")
            recorder.signal(signal.SIGUSR1)
            recorder.expect(f"cannot write recording to {self.path('x.1.spans')}: No space left")
            os.unlink(self.path("ballast"))
            recorder.signal(signal.SIGUSR1)
            recorder.expect("wrote ")
            self.assertEqual(recorder.stop(), 1)
        self.assertEqual(self.numbers(self.path("x.2.spans")), list(range(40000)))


class FolderGone(RecordTest):
    def test_while_it_rotates(self):
        sub = self.path("sub")
        os.mkdir(sub)
        with Counted() as target, Recorder("-o", sub + "/x.spans", pid=target.pid) as recorder:
            recorder.expect("tracing")
            target.do("run 100")
            shutil.rmtree(sub)
            recorder.signal(signal.SIGUSR1)
            self.assertEqual(recorder.wait(), 1)
            self.assertIn(f"cannot look for the parts of {sub}/x.spans: No such file or directory", recorder.stderr)
            self.assertEqual(target.finish(), 0)

    def test_before(self):
        done = run("record", "--last", "5s", "-o", self.path("none/x.spans"), "-p", os.getpid())
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write parts of " + self.path("none/x.spans"), done.stderr)


def whole_blocks(path):
    """[(spans, events)] of the SPANS blocks that are whole, and how many bytes come behind the last whole block."""
    with open(path, "rb") as file:
        data = file.read()
    at, blocks = 16, []
    while at + HEADER.size <= len(data):
        magic, header_crc, crc, length, _, kind, spans, events, _, _ = HEADER.unpack_from(data, at)
        payload = data[at + HEADER.size:at + HEADER.size + length]
        if magic != 0x4b425053 or len(payload) < length or zlib.crc32(payload) != crc or \
                zlib.crc32(data[at + 8:at + HEADER.size]) != header_crc:
            break
        at += HEADER.size + length
        if kind == 3:
            blocks.append((spans, events))
    return blocks, max(len(data) - at, 0)


class Killed(RecordTest):
    """kill -9 at a hundred random instants."""

    def read(self, round_):
        """Checks the files of one round; returns how many spans they hold."""
        numbers, spans_in_all = [], 0
        for path in self.parts(f"x{round_}"):
            if not os.path.getsize(path):
                continue
            blocks, rest = whole_blocks(path)
            done = run("view", "--json", path)
            spans, values = done.stdout.count('"kind": "span"'), re.findall('"value": ([0-9]+)', done.stdout)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((spans, len(values)), (sum(b[0] for b in blocks), sum(b[1] for b in blocks)), path)
            if rest:
                self.assertIn(f"{rest} bytes", done.stderr)
            if path.endswith(f"x{round_}.spans") and not (round_ % 2 and self.is_finished(path)):
                self.assertIn("has no end", done.stderr)
            numbers += map(int, values)
            spans_in_all += spans
        if numbers:
            self.assert_no_gap(numbers)
        return spans_in_all

    def is_finished(self, path):
        """Whether it was killed between the end of a part and its new name."""
        with open(path, "rb") as file:
            data = file.read()
        at, kind = 16, 0
        while at + HEADER.size <= len(data):
            _, _, _, length, _, kind, *_ = HEADER.unpack_from(data, at)
            at += HEADER.size + length
        return at == len(data) and kind == 5

    @staticmethod
    def size_of(path):
        try:
            return os.path.getsize(path)
        except FileNotFoundError:
            return 0  # it has got its number since

    def wait_for(self, round_, size):
        """Until the files of a round hold SIZE bytes."""
        deadline = time.time() + 120
        while sum(map(self.size_of, glob.glob(self.path(f"x{round_}.*spans")))) < size:
            self.assertLess(time.time(), deadline, "nothing more is written")
            time.sleep(0.005)

    def test_a_hundred_times(self):
        """Each third at any instant from its start on, the others once some is written; each second while it rotates."""
        dice = random.Random(7)
        filled = 0
        with Counted() as target:
            target.ask("forever 500")
            # Several at once: until probes stand a recorder waits more than it works.
            for first in range(0, 100, 4):
                recorders = []
                for round_ in range(first, first + 4):
                    words = ["--max-time", "20ms"] if round_ % 2 else []
                    recorders.append(Recorder(*words, "-o", self.path(f"x{round_}.spans"), pid=target.pid))
                for round_, recorder in enumerate(recorders, first):
                    if round_ % 3:
                        self.wait_for(round_, dice.randrange(100, 100000))
                    time.sleep(dice.uniform(0, 0.02 if round_ % 3 else 0.3))
                    recorder.signal(signal.SIGKILL)
                    recorder.wait()
                    recorder.process.stderr.close()
            for round_ in range(100):
                filled += self.read(round_) > 0
            self.assertGreater(filled, 50)
            self.assertIsNone(target.process.poll())
            sites = json.loads(run("list", "--json", COUNTED).stdout)["files"][0]["sites"]
            deadline = time.time() + 60  # the kernel takes its time with the links of the dead
            while time.time() < deadline:
                found = {memory_of(target.pid, COUNTED, site["address"], 1) for site in sites}
                if found == {b"\x90"}:
                    break
                time.sleep(0.05)
            self.assertEqual(found, {b"\x90"})
            target.ask("run 1")
            self.assertEqual(target.finish(), 0)
