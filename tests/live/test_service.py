# SPDX-License-Identifier: MIT
"""A trace as a service: a configuration file, /metrics and /healthz, SIGHUP, hostile clients, what systemd is told."""
import glob
import gzip
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from harness import SPANTRACE, Attached, LiveTest, Target, program, run


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

    def __init__(self):
        super().__init__(program("counted"))

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return int(self.expect("done").split()[1])


STEP = {"provider": "count", "span": "step"}
LONG = {"provider": "count", "span": "long"}
TICK = {"provider": "count", "event": "tick"}
COUNT = "spantrace_span_duration_seconds_count"
LISTEN = "listen = 127.0.0.1:0"


class Metrics(LiveTest):
    def check(self, *options):
        with Counted() as target, Service(f"pid = {target.pid}", LISTEN, options=options) as service:
            target.do("run 5000")
            target.do("long 20")
            target.do("long 300")
            service.wait_for(2, COUNT, **LONG)
            service.wait_for(5000, COUNT, **STEP)
            service.wait_for(5000, "spantrace_events_total", **TICK)
            metrics = service.metrics()
            text = service.get("/metrics")[1]
            self.assertEqual(service.get("/healthz"), (200, "ok\n"))
            self.assertEqual(service.get("/nothing")[0], 404)
            self.assertEqual(service.end(), 0)
        buckets = {labels[2][1]: value for (name, labels), value in metrics.items()
                   if name == "spantrace_span_duration_seconds_bucket" and labels[1] == ("span", "long")}
        # 20 and 300 ms and what a loaded machine adds, which may be much, but time only gets longer.
        self.assertEqual(buckets["0.016777215"], 0)
        self.assertLessEqual(buckets["0.268435455"], 1)
        self.assertEqual(buckets["+Inf"], 2)
        self.assertEqual(list(buckets.values()), sorted(buckets.values()))
        total = metrics["spantrace_span_duration_seconds_sum", tuple(LONG.items())]
        self.assertGreaterEqual(total, 0.32)
        self.assertEqual(metrics["spantrace_span_self_seconds_total", tuple(LONG.items())], total)
        lost = {labels[0][1]: value for (name, labels), value in metrics.items() if name == "spantrace_lost_total"}
        self.assertGreater(len(lost), 10)
        self.assertEqual({cause for cause, value in lost.items() if value}, set())
        self.assertGreater(metrics["spantrace_resident_memory_bytes", ()], 1 << 20)
        self.assertEqual(metrics["spantrace_outputs_failed", ()], 0)
        return text

    def test_truth_added_up_in_the_kernel(self):
        self.check()

    def test_truth_of_single_spans(self):
        self.check("--stream")

    def test_prometheus_reads_it(self):
        if not shutil.which("promtool"):
            self.skipTest("left out: no promtool (package prometheus)")
        text = self.check()
        done = subprocess.run(["promtool", "check", "metrics"], input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_an_output_that_fails(self):
        """The disk is full: the trace goes on for the other output, and says that it is not well."""
        with tempfile.TemporaryDirectory() as folder, Counted() as target, \
                Service(f"pid = {target.pid}", LISTEN, "output = recording:/dev/full",
                        f"output = json:{folder}/out.json") as service:
            target.do("run 200000")
            service.wait_for(1, "spantrace_outputs_failed")
            self.assertEqual(service.value("spantrace_outputs"), 2)
            status, text = service.get("/healthz")
            self.assertEqual(status, 503)
            self.assertIn("/dev/full", text)

    def test_refused_address(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = run("-a", "-d", "1s", "--listen", taken.getsockname()[1])
            self.assertEqual(done.returncode, 1)
            self.assertIn("Address already in use", done.stderr)
        done = run("-a", "--listen", "0.0.0.0:0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("0.0.0.0:0,public", done.stderr)

    def test_hostile_clients(self):
        """Connections that say nothing, too much, or too many: the trace goes on, and the next one that asks is answered."""
        with Counted() as target, Service(f"pid = {target.pid}", LISTEN) as service:
            address = service.url.removeprefix("http://").split(":")
            address = address[0], int(address[1])
            silent = [socket.create_connection(address) for _ in range(10)]
            for client in silent:
                client.sendall(b"GET /met")
            big = socket.create_connection(address)
            try:
                big.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 1000000 + b"\r\n\r\n")
                answer = big.recv(4096)
            except (BrokenPipeError, ConnectionResetError):
                answer = b""
            self.assertNotIn(b" 200 ", answer)
            target.do("run 1000")
            service.wait_for(1000, COUNT, **STEP)
            for method, status in (("HEAD", b" 200 "), ("POST", b" 405 "), ("\x00\xff", b"")):
                with socket.create_connection(address) as odd:
                    odd.sendall(method.encode("latin1") + b" /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                    self.assertIn(status, odd.recv(64))
            crowd = []
            for _ in range(200):
                try:
                    crowd.append(socket.create_connection(address, timeout=1))
                except OSError:
                    break
            target.do("run 1000")
            for client in (*crowd, *silent, big):
                client.close()
            service.wait_for(2000, COUNT, **STEP)
            self.assertLess(service.value("spantrace_open_fds"), 200)
            self.assertEqual(service.end(), 0)


class Reload(LiveTest):
    def test_filters_change(self):
        with Counted() as target, Service(f"pid = {target.pid}", LISTEN) as service:
            target.do("run 100")
            target.do("long 1")
            service.wait_for(1, COUNT, **LONG)
            service.write(f"pid = {target.pid}", LISTEN, "exclude = count:step")
            service.hang_up()
            service.expect("tracing ", 2)
            target.do("run 1000")
            target.do("long 1")
            service.wait_for(2, COUNT, **LONG) # what was counted before is kept
            self.assertEqual(service.value(COUNT, **STEP), 100)
            self.assertEqual(service.value("spantrace_events_total", **TICK), 1100)
            self.assertEqual(service.value("spantrace_reloads_total"), 1)
            self.assertEqual(service.value("spantrace_last_reload_successful"), 1)
            self.assertEqual(service.end(), 0)

    def test_a_mistake_changes_nothing(self):
        with Counted() as target, Service(f"pid = {target.pid}", LISTEN) as service:
            service.write(f"pid = {target.pid}", "", "duration = soon")
            service.hang_up()
            service.expect("the trace goes on as it was")
            self.assertIn(f"{service.config}:4: -d: \"soon\"", service.said())
            target.do("run 100")
            service.wait_for(100, COUNT, **STEP)
            self.assertEqual(service.value("spantrace_reloads_refused_total"), 1)
            self.assertEqual(service.value("spantrace_last_reload_successful"), 0)
            self.assertEqual(service.end(), 0)

    def test_a_file_of_the_whole_trace_is_not_written_over(self):
        with tempfile.TemporaryDirectory() as folder, Counted() as target, \
                Service(f"pid = {target.pid}", f"output = json:{folder}/out.json") as service:
            service.hang_up()
            service.expect("the trace goes on as it was")
            self.assertIn("--interval", service.said())
            self.assertEqual(service.end(), 0)

    def test_intervals_add_up_over_it(self):
        """Files of intervals hold every span once, before and after."""
        with tempfile.TemporaryDirectory() as folder, Counted() as target, \
                Service(f"pid = {target.pid}", f"output = pprof:{folder}/", "interval = 200ms", LISTEN) as service:
            target.do("run 1000")
            service.hang_up()
            service.expect("tracing ", 2)
            target.do("run 2000")
            service.wait_for(3000, COUNT, **STEP)
            self.assertEqual(service.end(), 0)
            files = glob.glob(folder + "/*.pb.gz")
            self.assertGreater(len(files), 1)
            self.assertEqual(sum(map(finished, files)), 3000)

    def test_without_a_file_it_ends(self):
        """A terminal that closes ends a trace as Ctrl-C does: what was recorded is written."""
        with Counted() as target:
            tracer = Attached(target.pid)
            target.do("run 100")
            tracer.process.send_signal(signal.SIGHUP)
            t = tracer.wait()
        self.assertEqual((t.status, t.count("count:step")), (0, 100))


class Systemd(LiveTest):
    def told(self, server):
        return server.recv(4096).decode()

    def test_notifications(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
            server.bind(folder + "/notify")
            server.settimeout(60)
            env = dict(os.environ, NOTIFY_SOCKET=folder + "/notify")
            with Counted() as target, Service(f"pid = {target.pid}", env=env) as service:
                self.assertEqual(self.told(server), "READY=1")
                service.hang_up()
                self.assertRegex(self.told(server), r"\ARELOADING=1\nMONOTONIC_USEC=\d+\Z")
                self.assertEqual(self.told(server), "READY=1")
                service.process.terminate()
                self.assertEqual(self.told(server), "STOPPING=1")
                self.assertEqual(service.process.wait(60), 0)

    def test_journal(self):
        """Where stderr is the journal's stream, lines begin with their priority."""
        with tempfile.NamedTemporaryFile() as journal:
            status = os.fstat(journal.fileno())
            env = dict(os.environ, JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
            subprocess.run([SPANTRACE, "-p", "0"], stderr=journal, env=env)
            self.assertRegex(open(journal.name).read(), r'\A<3>-p: "0"')
            done = run("-p", "0", env=env)
            self.assertRegex(done.stderr, r'\Aspantrace: -p: "0"')

    def test_unit(self):
        unit = os.path.join(os.path.dirname(__file__), "../../user/service/spantrace.service")
        if not shutil.which("systemd-analyze"):
            self.skipTest("left out: no systemd-analyze")
        text = open(unit).read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "spantrace.service")
            with open(path, "w") as out:
                out.write(text.replace("/usr/local/bin/spantrace", SPANTRACE))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        self.assertEqual([line for line in done.stdout.splitlines() if "spantrace.service" in line], [])


class Configuration(LiveTest):
    def check(self, status, words, *lines, options=()):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
            config.write("\n".join(lines))
            config.flush()
            done = run("--config", config.name, *options)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(words.replace("FILE", config.name), done.stderr)
            return done

    def test_mistakes(self):
        self.check(2, 'FILE:2: unknown option "colour"', "all", "colour = red")
        self.check(2, "FILE:1: \"--all\": options stand here without the dashes", "--all")
        self.check(2, "FILE:3: duration needs a value; write duration = TIME", "", "all", "duration")
        self.check(2, "FILE:1: all takes no value but yes and no", "all = maybe")
        self.check(2, "FILE:1: there is no place here for \"config\"", "config = other.conf")
        self.check(2, "nothing to trace", "all = no")
        done = run("--config", "/nowhere/spantrace.conf")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nowhere/spantrace.conf: No such file", done.stderr)

    def test_the_line_wins(self):
        with Counted() as target, tempfile.TemporaryDirectory() as folder:
            with open(folder + "/conf", "w") as config:
                config.write(f"# of the service\nall\nprovider = no_such\noutput = json:{folder}/not.json\n"
                             "duration = 10h\n")
            done = run("--config", folder + "/conf", "-p", target.pid, "-P", "count", "-o", f"json:{folder}/out.json",
                       "-d", "100ms")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(os.listdir(folder).count("not.json"), 0)
            self.assertTrue(os.path.getsize(folder + "/out.json"))
