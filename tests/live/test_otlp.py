# SPDX-License-Identifier: MIT
"""Traces for OpenTelemetry: every span's place, attributes, events and links against what the programs do and what
`spantrace view` tells; protobuf against JSON; collectors that misbehave; and a real Jaeger, which has to give back all that
it was sent. Jaeger is built from the Go module proxy, once, into the build tree; without Go it is left out.
"""
import base64
import collections
import gzip
import http.server
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

import harness
from harness import LiveTest, program, run

SOURCE = os.path.join(harness.ROOT, "tests/programs/jaeger")
JAEGER = os.path.join(harness.OUTPUT, "jaeger", "all-in-one")
SERVER, ASYNC, LABELLED = program("usdt/server"), program("usdt/async"), program("labelled")


# --- what a file or a request holds ---------------------------------------------------------------------------------

def number(data, at):
    """A varint and what is behind it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """[(field, value)] of a protobuf message; every byte has to make sense."""
    at, found = 0, []
    while at < len(data):
        tag, at = number(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = number(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif kind == 2:
            length, at = number(data, at)
            value, at = data[at:at + length], at + length
        else:
            raise AssertionError(f"wire type {kind}")
        if at > len(data):
            raise AssertionError("a field goes beyond its message")
        found.append((tag >> 3, value))
    return found


def only(found, field, otherwise=None):
    values = [value for name, value in found if name == field]
    return values[0] if values else otherwise


def every(found, field):
    return [value for name, value in found if name == field]


def attributes_of(messages):
    got = {}
    for message in messages:
        pair = fields(message)
        value = fields(only(pair, 2))
        text, whole = only(value, 1), only(value, 3)
        key = only(pair, 1).decode()
        got[key] = text.decode() if text is not None else whole - (1 << 64) if whole >> 63 else whole
    return got


def of_protobuf(data):
    """The spans of a request, or of several behind each other, as plain values."""
    for resource_spans in every(fields(data), 1):
        parts = fields(resource_spans)
        resource = attributes_of(every(fields(only(parts, 1, b"")), 1))
        for scope in every(parts, 2):
            for message in every(fields(scope), 2):
                span = fields(message)
                yield {
                    "resource": resource,
                    "trace": only(span, 1).hex(), "id": only(span, 2).hex(), "parent": only(span, 4, b"").hex(),
                    "name": only(span, 5).decode(), "kind": only(span, 6), "start": only(span, 7), "end": only(span, 8),
                    "attributes": attributes_of(every(span, 9)),
                    "events": [(only(e, 1), only(e, 2).decode(), attributes_of(every(e, 3)))
                               for e in map(fields, every(span, 11))],
                    "links": [(only(link, 1).hex(), only(link, 2).hex()) for link in map(fields, every(span, 13))],
                }


def attributes_of_json(pairs):
    return {pair["key"]: pair["value"]["stringValue"] if "stringValue" in pair["value"] else
            int(pair["value"]["intValue"]) for pair in pairs}


def of_json(text):
    """The same; each line is a request."""
    for line in text.removesuffix("\n").split("\n"):
        for resource_spans in json.loads(line)["resourceSpans"]:
            resource = attributes_of_json(resource_spans["resource"]["attributes"])
            for scope in resource_spans["scopeSpans"]:
                for span in scope["spans"]:
                    yield {
                        "resource": resource,
                        "trace": span["traceId"], "id": span["spanId"], "parent": span.get("parentSpanId", ""),
                        "name": span["name"], "kind": span["kind"],
                        "start": int(span["startTimeUnixNano"]), "end": int(span["endTimeUnixNano"]),
                        "attributes": attributes_of_json(span.get("attributes", [])),
                        "events": [(int(e["timeUnixNano"]), e["name"], attributes_of_json(e.get("attributes", [])))
                                   for e in span.get("events", [])],
                        "links": [(link["traceId"], link["spanId"]) for link in span.get("links", [])],
                    }


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    return list(of_protobuf(data) if path.endswith(".pb") else of_json(data.decode()))


# --- collectors -----------------------------------------------------------------------------------------------------

class Collector:
    """Takes requests and answers as ANSWER(n) says: (status, headers, body); None: not at all."""

    def __init__(self, answer=lambda n: (200, {}, b"")):
        self.requests, self.tried, self.over = [], 0, threading.Event()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                said = answer(collector.tried)
                collector.tried += 1
                if said is None:
                    collector.over.wait()
                    return
                status, headers, text = said
                if status == 200:
                    collector.requests.append((self.path, self.headers["Content-Type"], body))
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self):
        return [span for _, kind, body in self.requests
                for span in (of_json(body.decode()) if "json" in kind else of_protobuf(body))]

    def close(self):
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OtlpTest(LiveTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def record(self, *command, outputs=()):
        """Traces COMMAND into run.spans, and what OUTPUTS say."""
        done = run("-o", self.path("run.spans"), "-o", "json:" + self.path("json"),
                   *[word for output in outputs for word in ("-o", output)], "--", *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("json")) as text:
            return harness.Trace(text.read(), done.returncode, done.stderr, done.stdout)

    def export(self, output, *options, status=0):
        done = run("export", *options, self.path("run.spans"), "-o", output)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def view(self):
        done = run("view", "--json", self.path("run.spans"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def collector(self, *args):
        collector = Collector(*args)
        self.addCleanup(collector.close)
        return collector


class Files(OtlpTest):
    def edges(self, spans):
        """How often one name stands under another, and that each trace is a tree."""
        by_id = {span["id"]: span for span in spans}
        self.assertEqual(len(by_id), len(spans), "ids are unique")
        edges, roots = collections.Counter(), collections.Counter()
        for span in spans:
            parent = by_id[span["parent"]] if span["parent"] else None
            edges[(parent["name"] if parent else "", span["name"])] += 1
            if parent:
                self.assertEqual(parent["trace"], span["trace"])
                self.assertLessEqual(parent["start"], span["start"])
            else:
                roots[span["trace"]] += 1
            for trace, link in span["links"]:
                self.assertEqual(by_id[link]["trace"], trace)
        self.assertEqual(set(roots.values()), {1}, "a trace has one root")
        return edges, by_id

    def test_thread_spans(self):
        trace = self.record(SERVER, "--requests", "400", outputs=["otlp:" + self.path("live.json")])
        self.assert_lossless(trace)
        spans = read(self.path("live.json"))
        edges, by_id = self.edges(spans)
        want = collections.Counter()
        for row in trace.json["paths"]:
            above = row["path"][-2] if len(row["path"]) > 1 else ""
            want[(above, row["path"][-1])] += row["count"] + row["open"]
        stretches = edges.pop(("server:job", "server:job"))
        self.assertEqual(edges, want)
        self.assertEqual(stretches, 2 * trace.count("server:request", "server:job"))
        for span in spans:
            parent = by_id.get(span["parent"])
            if parent and "span.id" not in span["attributes"]:
                self.assertLessEqual(span["end"], parent["end"], "a thread span ends before what it stands in")
                self.assertEqual(span["attributes"]["thread.id"], parent["attributes"]["thread.id"])
        events = collections.Counter(name for span in spans for _, name, _ in span["events"])
        self.assertEqual(events, {e["name"]: sum(f["count"] for f in trace.events(e["name"]))
                                  for e in trace.json["events"]})
        for span in spans:
            for when, _, _ in span["events"]:
                self.assertTrue(span["start"] <= when <= span["end"], "an event lies in its span")

    def test_times_and_attributes(self):
        """Each span has the times and counters that `view` tells of it."""
        self.record(SERVER, "--requests", "50")
        self.export("otlp:" + self.path("a.json"))
        got = collections.Counter()
        view = [item for item in self.view() if item["kind"] != "event"]
        spans = read(self.path("a.json"))
        first = min(item["start_ns"] for item in view)
        offset = min(span["start"] for span in spans) - first
        for span in spans:
            got[(span["name"], span["start"] - offset, span["end"] - span["start"], span["attributes"]["thread.id"],
                 span["attributes"].get("span.cpu_ns", 0), span["attributes"].get("span.vol_switches", 0))] += 1
        want = collections.Counter((item["path"][-1], item["start_ns"], item["wall_ns"], item["tid"],
                                    item.get("cpu_ns", 0), item.get("vol_switches", 0)) for item in view)
        self.assertEqual(got, want)

    def test_async(self):
        trace = self.record(ASYNC, "--spans", "300", outputs=["otlp:" + self.path("live.json")])
        self.assert_lossless(trace)
        spans = read(self.path("live.json"))
        edges, by_id = self.edges(spans)
        self.assertEqual(edges, {("", "demo:request"): 300, ("demo:request", "demo:request"): 900,
                                 ("demo:request", "demo:stage"): 900, ("demo:request", "demo:fetch"): 300})
        stretches = [span for span in spans if span["name"] == "demo:request" and span["parent"]]
        linked = [span for span in stretches if span["links"]]
        self.assertEqual(len(linked), 600, "each stretch but the first follows another")
        for span in linked:
            before = by_id[span["links"][0][1]]
            self.assertEqual(before["parent"], span["parent"])
            self.assertLessEqual(before["end"], span["end"])
            self.assertNotEqual(before["attributes"]["thread.id"], span["attributes"]["thread.id"])
        self.assertEqual(len({span["trace"] for span in spans}), 300)

    def test_stable(self):
        """The same spans have the same ids: live, from the recording, again, and in the other encoding."""
        self.record(SERVER, "--requests", "200", outputs=["otlp:" + self.path("live.json")])
        for name in "a.json", "b.json", "a.pb":
            self.export("otlp:" + self.path(name))
        with open(self.path("a.json")) as a, open(self.path("b.json")) as b:
            self.assertEqual(a.read(), b.read())

        def order(spans):
            return sorted(spans, key=lambda span: span["id"])
        a = order(read(self.path("a.json")))
        self.assertEqual(a, order(read(self.path("a.pb"))))
        ids = ["trace", "id", "parent", "links"]
        self.assertEqual([[span[key] for key in ids] for span in a],
                         [[span[key] for key in ids] for span in order(read(self.path("live.json")))])

    def test_options(self):
        self.record(SERVER, "--requests", "10")
        self.export("otlp:" + self.path("y.json"))
        self.assertEqual({span["resource"]["service.name"] for span in read(self.path("y.json"))}, {"server"})
        self.export("otlp,service=shop,args=0,module_path=0,encoding=protobuf:" + self.path("x.json"))
        with open(self.path("x.json"), "rb") as file:
            spans = list(of_protobuf(file.read()))
        self.assertEqual({span["resource"]["service.name"] for span in spans}, {"shop"})
        self.assertIn("request", {span["name"] for span in spans})
        self.assertEqual({json.dumps(span["attributes"]) for span in spans}, {"{}"})
        done = run("export", self.path("run.spans"), "-o", "otlp,encoding=xml:x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("encoding=json or protobuf", done.stderr)


class Delivery(OtlpTest):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        done = run("-o", os.path.join(cls.kept.name, "run.spans"), "--", SERVER, "--requests", "200")
        if done.returncode:
            raise AssertionError(done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(self.kept.name, "run.spans"), self.folder)
        self.export("otlp:" + self.path("want.pb"))
        self.want = {span["id"] for span in read(self.path("want.pb"))}

    def ids(self, collector):
        return [span["id"] for span in collector.spans()]

    def test_protobuf_and_json(self):
        for options, kind in ("", "application/x-protobuf"), (",encoding=json", "application/json"):
            collector = self.collector()
            self.export(f"otlp{options}:{collector.url}")
            self.assertEqual({(path, got) for path, got, _ in collector.requests}, {("/v1/traces", kind)})
            self.assertEqual(sorted(self.ids(collector)), sorted(self.want))

    def test_path(self):
        collector = self.collector()
        self.export(f"otlp:{collector.url}/tenant/v1/traces")
        self.assertEqual({path for path, _, _ in collector.requests}, {"/tenant/v1/traces"})

    def test_later(self):
        """5xx and 429 are tried again, and nothing comes twice."""
        collector = self.collector(lambda n: (200, {}, b"") if n > 1 else
                                   (503, {}, b"busy") if n else (429, {"Retry-After": "1"}, b""))
        self.export(f"otlp:{collector.url}")
        self.assertEqual(sorted(self.ids(collector)), sorted(self.want))
        self.assertGreaterEqual(collector.tried, 3)

    def test_refused(self):
        collector = self.collector(lambda n: (400, {}, b"no such tenant"))
        done = self.export(f"otlp:{collector.url}", status=1)
        self.assertIn("no such tenant", done.stderr)
        self.assertIn("0 were sent, 1 refused", done.stderr)
        self.assertEqual(collector.tried, 1)

    def test_left_out(self):
        for body in (b'{"partialSuccess":{"rejectedSpans":"7","errorMessage":"too old"}}',
                     b"\x0a\x0b\x08\x07\x12\x07too old"):
            collector = self.collector(lambda n, body=body: (200, {}, body))
            done = self.export(f"otlp:{collector.url}", status=1)
            self.assertIn("left out 7 spans", done.stderr)
            self.assertIn("too old", done.stderr)

    def test_nobody_there(self):
        begin = time.monotonic()
        done = self.export(f"otlp:http://127.0.0.1:{closed_port()}", status=1)
        self.assertLess(time.monotonic() - begin, 60)
        self.assertIn("1 dropped", done.stderr)

    def test_silent(self):
        """A server that never answers delays the end by what is promised, and the rest is written."""
        collector = self.collector(lambda n: None)
        begin = time.monotonic()
        done = run("-o", "json:" + self.path("json"), "--otlp", collector.url, "--push-timeout", "500ms", "--push-wait",
                   "1s", "--", SERVER, "--requests", "100")
        self.assertLess(time.monotonic() - begin, 60)
        self.assertIn("dropped", done.stderr)
        with open(self.path("json")) as text:
            self.assertEqual(sum(row["count"] for row in json.load(text)["paths"]
                                 if row["path"] == ["server:request"]), 100)

    def test_live(self):
        collector = self.collector()
        done = run("-o", "json:" + self.path("json"), "--otlp", collector.url, "--", SERVER, "--requests", "300")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = collections.Counter(span["name"] for span in collector.spans() if not span["parent"])
        self.assertEqual(names, {"server:request": 300})
        self.assertEqual({span["resource"]["service.name"] for span in collector.spans()}, {"server"})

    def test_spool(self):
        """What a server does not take waits on disk for the next run."""
        spool = self.path("spool")
        port = closed_port()
        done = run("--otlp", f"http://127.0.0.1:{port}", "--spool", spool, "--push-wait", "1s", "--", SERVER,
                   "--requests", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        collector = self.collector()
        done = run("--otlp", collector.url, "--spool", spool, "--", SERVER, "--requests", "10")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = collections.Counter(span["name"] for span in collector.spans() if not span["parent"])
        self.assertEqual(names, {"server:request": 30})

    def test_usage(self):
        for words, text in ((["--otlp", "collector:4318"], "is no URL"), (["--otlp", ""], "no file")):
            done = run(*words, "--", SERVER)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)


@unittest.skipUnless(shutil.which("go"), "Jaeger is left out: go is not installed")
class Jaeger(OtlpTest):
    @classmethod
    def setUpClass(cls):
        os.makedirs(os.path.dirname(JAEGER), exist_ok=True)
        built = subprocess.run(["go", "build", "-mod=readonly", "-p", "2", "-o", JAEGER,
                                "github.com/jaegertracing/jaeger/cmd/all-in-one"], env={**os.environ, "CGO_ENABLED": "0"},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=SOURCE, timeout=1500, text=True)
        if built.returncode and any(word in built.stdout for word in ("dial tcp", "proxy", "toolchain not available")):
            raise unittest.SkipTest("Jaeger is left out: its modules cannot be downloaded")
        if built.returncode:
            raise AssertionError(built.stdout)
        cls.ports = {}
        flags = []
        for flag in ("collector.otlp.http", "collector.otlp.grpc", "query.http-server", "query.grpc-server",
                     "admin.http", "collector.http-server", "collector.grpc-server"):
            cls.ports[flag] = closed_port()
            flags.append(f"--{flag}.host-port=127.0.0.1:{cls.ports[flag]}")
        cls.log = tempfile.TemporaryFile()
        cls.process = subprocess.Popen([JAEGER, "--memory.max-traces=100000", *flags], stdout=cls.log, stderr=cls.log)
        cls.url = f"http://127.0.0.1:{cls.ports['collector.otlp.http']}"
        for _ in range(600):
            try:
                cls.ask("services")
                return
            except OSError:
                time.sleep(0.1)
        cls.tearDownClass()
        raise AssertionError("Jaeger does not start")

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.log.close()

    @classmethod
    def ask(cls, what):
        with urllib.request.urlopen(f"http://127.0.0.1:{cls.ports['query.http-server']}/api/{what}", timeout=60) as answer:
            return json.load(answer)["data"]

    def stored(self, spans):
        """{id: span} of all traces of SPANS, once Jaeger has them all: it answers before it stores."""
        deadline = time.monotonic() + 120
        while True:
            got = {}
            for trace in {span["trace"] for span in spans}:
                try:
                    for found in self.ask("traces/" + trace):
                        got.update({span["spanID"]: (span, found["processes"][span["processID"]]) for span in found["spans"]})
                except urllib.error.HTTPError:
                    pass # not yet
            if len(got) >= len(spans) or time.monotonic() > deadline:
                return got

    def assert_stored(self, spans):
        stored = self.stored(spans)
        self.assertEqual(set(stored), {span["id"] for span in spans})
        for span in spans:
            got, process = stored[span["id"]]
            references = {(r["refType"], r["traceID"], r["spanID"]) for r in got["references"]}
            want = {("FOLLOWS_FROM", trace, link) for trace, link in span["links"]}
            if span["parent"]:
                want.add(("CHILD_OF", span["trace"], span["parent"]))
            self.assertEqual(references, want)
            self.assertEqual((got["traceID"], got["operationName"]), (span["trace"], span["name"]))
            self.assertEqual(got["startTime"], span["start"] // 1000)
            self.assertEqual(got["duration"], (span["end"] - span["start"]) // 1000)
            tags = {tag["key"]: tag["value"] for tag in got["tags"]}
            for key, value in span["attributes"].items():
                self.assertEqual(tags[key], value)
            logs = [(log["timestamp"], {field["key"]: field["value"] for field in log["fields"]}) for log in got["logs"]]
            self.assertEqual(logs, [(when // 1000, {"event": name, **values}) for when, name, values in span["events"]])
            self.assertEqual(process["serviceName"], span["resource"]["service.name"])
            resource = {tag["key"]: tag["value"] for tag in process["tags"]}
            self.assertEqual(resource["process.pid"], span["resource"]["process.pid"])
            # Of spans without length, and of async spans that go on when what made them is over.
            odd = [words for words in got["warnings"] or () if not words.startswith("clock skew adjustment disabled") and
                   not (span["start"] == span["end"] and words.startswith("Negative duration"))]
            self.assertEqual(odd, [])

    def test_accepted(self):
        for encoding in "protobuf", "json":
            self.record(SERVER, "--requests", "60")
            self.export("otlp:" + self.path("a.json"))
            self.export(f"otlp,encoding={encoding}:{self.url}")
            self.assert_stored(read(self.path("a.json")))

    def test_async(self):
        self.record(ASYNC, "--spans", "40", outputs=["otlp:" + self.path("a.json"), "otlp:" + self.url])
        self.assert_stored(read(self.path("a.json")))

    def test_labels_and_names(self):
        self.record(LABELLED, outputs=["otlp:" + self.path("a.pb"), "otlp:" + self.url])
        spans = read(self.path("a.pb"))
        self.assertTrue(spans)
        self.assert_stored(spans)


if __name__ == "__main__":
    unittest.main()
