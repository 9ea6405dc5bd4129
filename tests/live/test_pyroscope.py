# SPDX-License-Identifier: MIT
"""`--pyroscope`: what a server with the real Push API takes adds up to our own totals, number by number, whatever the
server did in between. Left out where Go or its modules are not to be had.

With SPANTRACE_TEST_PYROSCOPE=URL the same is pushed to the Pyroscope there as well, and read back by its API.
"""
import contextlib
import json
import os
import socket
import time
import unittest
import urllib.request

import pyroscope
from harness import Attached, Target, program, run
from pyroscope import MEMORY, PyroscopeTest, SAME, of_json

SERVER = program("usdt/server")
PUSHED = program("pushed")
REAL = os.environ.get("SPANTRACE_TEST_PYROSCOPE")

class Push(PyroscopeTest):
    def test_intervals(self):
        trace = self.push("--", SERVER, "--seconds", 3)
        self.assertEqual(trace.status, 0, trace.stderr)
        profiles = self.server.profiles()
        self.assertGreaterEqual(len({p["time"] // 1000000000 for p in profiles}), 3)
        self.assert_same(trace, profiles)
        self.assertEqual(trace.stderr, "")
        for profile in profiles:
            cpu = profile["labels"]["__name__"] == "process_cpu"
            self.assertEqual(profile["types"], [f"{t}/nanoseconds" for t in (
                ("cpu", "cpu_user", "cpu_system") if cpu else ("wall", "wall_busy", "wall_idle"))] +
                ([] if cpu else ["count/count"]))
            self.assertEqual(profile["period"], "cpu/nanoseconds" if cpu else "wall/nanoseconds")
            self.assertEqual(profile["labels"], {
                "__name__": "process_cpu" if cpu else "wall", "service_name": "server", "comm": "server",
                "hostname": socket.gethostname(), **({"cgroup": profile["labels"]["cgroup"]}
                                                     if "cgroup" in profile["labels"] else {})})
            self.assertEqual(profile["headers"]["Content-Encoding"], "gzip")
            self.assertLess(abs(profile["time"] / 1e9 - time.time()), 300)
        total = pyroscope.sums(profiles, "cpu")
        for path, value in pyroscope.sums(profiles, "cpu_user").items():
            total[path] -= value
        for path, value in pyroscope.sums(profiles, "cpu_system").items():
            total[path] -= value
        self.assertEqual(set(total.values()), {0})

    def test_memory(self):
        trace = self.push("-m", "all", "--", SERVER, "--requests", 2000)
        self.assertEqual(trace.status, 0, trace.stderr)
        profiles = self.server.profiles(__name__="memory")
        alloc = [p for p in profiles if p["types"] == ["alloc_objects/count", "alloc_space/bytes"]]
        heap = [p for p in profiles if p["types"] == ["inuse_objects/count", "inuse_space/bytes"]]
        self.assertEqual(len(profiles), len(alloc) + len(heap))
        self.assertEqual({p["period"] for p in profiles}, {"space/bytes"})
        self.assert_same(trace, self.server.profiles(), SAME)
        self.assertGreater(sum(of_json(trace, "alloc_bytes").values()), 0)
        self.assert_same(trace, alloc, MEMORY)
        # What is in use is not of an interval, but at its end.
        last = max(p["time"] for p in heap) if heap else 0
        ended = of_json(trace, "inuse_bytes")
        self.assertEqual(pyroscope.sums([p for p in heap if p["time"] == last], "inuse_space") if ended else {}, ended)

    def push_attached(self, targets, *words):
        """Attached to TARGETS, programs that wait, which then work to their end."""
        with contextlib.ExitStack() as stack:
            for target in targets:
                stack.enter_context(target)
                target.expect("done")
            attached = Attached(*(target.pid for target in targets),
                                options=["--pyroscope", self.server.url, "--interval", "1s", *words])
            for target in targets:
                target.go()
                target.process.wait(60)
            return attached.wait()

    def test_processes(self):
        """Who is who: by the environment, or by name; and --tag for all."""
        def start(count, **env):
            return Target(PUSHED, count, "wait", env={**os.environ, **env})
        trace = self.push_attached(
            [start(4, OTEL_RESOURCE_ATTRIBUTES="a=b,service.name=shop%20cart,c=d"), start(8),
             start(16, OTEL_SERVICE_NAME="till", OTEL_RESOURCE_ATTRIBUTES="service.name=no")],
            "--tag", "env=test", "--tag", "k8s.pod=p-1")
        self.assertEqual(trace.status, 0, trace.stderr)
        for service, count in {"shop cart": 4, "pushed": 8, "till": 16}.items():
            profiles = self.server.profiles(__name__="wall", service_name=service, comm="pushed", env="test",
                                            k8s_pod="p-1")
            self.assertEqual(pyroscope.sums(profiles, "count"),
                             {"pushed:request": count, "pushed:request;pushed:part": count}, service)
        self.assert_same(trace, self.server.profiles())

    def test_app(self):
        """Processes with the same labels are one series, and none of it is lost for that."""
        trace = self.push_attached([Target(PUSHED, 4, "wait") for _ in range(5)], "--app", "all", "--tag",
                                   "hostname=here")
        self.assertEqual(trace.status, 0, trace.stderr)
        self.assertEqual({p["labels"]["service_name"] for p in self.server.profiles()}, {"all"})
        self.assertEqual({p["labels"]["hostname"] for p in self.server.profiles()}, {"here"})
        self.assertEqual(self.server.sums("count")["pushed:request"], 20)
        self.assert_same(trace, self.server.profiles())

    def test_labels(self):
        """Labels asked for become series, numbers as text; ids of traces travel in their own columns."""
        trace = self.push("--by", "shard", "--by", "trace_id", "--by", "span_id", "--", PUSHED, 8)
        self.assertEqual(trace.status, 0, trace.stderr)
        self.assert_same(trace, self.server.profiles())
        got = {}
        for profile in self.server.profiles(__name__="wall"):
            for sample in profile["samples"]:
                if sample["stack"][0] == "pushed:request":
                    labels = tuple(sorted(sample["labels"].items()))
                    got[labels] = got.get(labels, 0) + sample["values"]["count"]
        expected = {}
        for number in range(8):
            labels = {"shard": str(number % 2), "trace_id": f"{number + 0xabc:032x}"}
            if number % 4 != 3:  # what is no id is none
                labels["span_id"] = f"{number:016x}"
            expected[tuple(sorted(labels.items()))] = 1
        self.assertEqual(got, expected)

    def by_id(self, key, value, profiles):
        """{id: {"outer;inner": total}} of the samples with label KEY; those without it under None."""
        got = {}
        for profile in profiles:
            for sample in profile["samples"]:
                paths = got.setdefault(sample["labels"].get(key), {})
                path = ";".join(name.removeprefix("pushed:") for name in reversed(sample["stack"]))
                paths[path] = paths.get(path, 0) + sample["values"][value]
        return got

    def test_spans_inside(self):
        """The profile of a span with an id is all that ran inside it, on whatever thread; but not what has its own id."""
        count = 20
        trace = self.push("--by", "trace_id", "--by", "span_id", "--", PUSHED, count, "tree")
        self.assertEqual((trace.status, trace.stderr), (0, ""))
        profiles = self.server.profiles(__name__="wall")
        self.assert_same(trace, self.server.profiles())
        own = {"call": 1, "call;part": 1, "call;job": 1, "call;job;part": 1, "call;job;task": 1}
        query = {"call;query": 1, "call;query;part": 1}
        spans = self.by_id("span_id", "count", profiles)
        self.assertEqual(spans, {None: {"part": 1}, **{f"{n + 0x100:016x}": own for n in range(count)},
                                 **{f"{n + 0x1000:016x}": query for n in range(count)}})
        self.assertEqual(self.by_id("trace_id", "count", profiles),
                         {None: {"part": 1}, **{f"{n + 0xabc:032x}": {**own, **query} for n in range(count)}})
        # What ran on the call's own thread is all that it was busy with.
        busy = {row["labels"]["trace_id"]: row["busy_ns"] for row in trace.rows("pushed:call")}
        self.assertEqual({id_: sum(v for path, v in paths.items() if path != "call;job;part" and path != "call;job")
                          for id_, paths in self.by_id("trace_id", "wall_busy", profiles).items() if id_}, busy)
        self.assertEqual({label for p in profiles for s in p["samples"] for label in s["labels"]},
                         {"trace_id", "span_id"})

    def test_losses_are_said(self):
        """Where nothing else tells of them."""
        trace = run("--pyroscope", self.server.url, "--", program("rules"), "orphan")
        self.assertEqual(trace.returncode, 0, trace.stderr)
        self.assertRegex(trace.stderr, r"lost: orphan_exit [1-9]\d*: an exit without its enter")

    def test_split(self):
        """More samples than the server takes in one profile."""
        trace = self.push("--by", "number", "--", PUSHED, 20000, interval="100s")
        self.assertEqual(trace.status, 0, trace.stderr)
        profiles = self.server.profiles(__name__="wall")
        self.assertGreaterEqual(len(profiles), 2)
        self.assertEqual(sum(len(p["samples"]) for p in profiles), 20001)
        self.assert_same(trace, self.server.profiles())


class Access(PyroscopeTest):
    def test_secrets(self):
        """They reach the server, and neither the command line nor the program that is traced has them."""
        with open(self.path("secret"), "w") as file:
            file.write("file-secret\n")
        env = {**os.environ, "SPANTRACE_PUSH_PASSWORD": "env-secret", "SPANTRACE_PUSH_TOKEN": "other-secret"}
        trace = self.push("--push-user", "me", "--push-tenant", "blue", "--push-header",
                          "X-Key:@" + self.path("secret"), "--push-header", "X-Plain: words", "--", "sh", "-c",
                          f"env > {self.path('env')}; tr '\\0' ' ' < /proc/$PPID/cmdline > {self.path('ps')}; "
                          f"exec {PUSHED}", env=env)
        self.assertEqual(trace.status, 0, trace.stderr)
        headers = self.server.profiles()[0]["headers"]
        self.assertEqual(headers["Authorization"], "Basic bWU6ZW52LXNlY3JldA==")
        self.assertEqual(headers["X-Scope-Orgid"], "blue")
        self.assertEqual(headers["X-Key"], "file-secret")
        self.assertEqual(headers["X-Plain"], "words")
        for name in ("env", "ps"):
            with open(self.path(name)) as text:
                self.assertNotIn("-secret", text.read(), name)

    def test_proxy(self):
        """The server is only known to the proxy."""
        trace = self.push("--", PUSHED, 10, url="http://nowhere.invalid/below",
                          env={**os.environ, "http_proxy": self.server.url, "no_proxy": ""})
        # Our server knows no /below.
        self.assertIn("HTTP 404", trace.stderr)
        trace = self.push("--", PUSHED, 10, url="http://nowhere.invalid/",
                          env={**os.environ, "http_proxy": self.server.url, "no_proxy": ""})
        self.assertEqual(trace.stderr, "")
        self.assert_same(trace, self.server.profiles())

    def test_mistakes(self):
        for words, message in (
                (["--push-token-file", "/none"], "cannot read /none"),
                (["--push-header", "a b: c"], "a header is NAME:VALUE"),
                (["--spool", "/proc/none"], "--spool /proc/none:"),
                (["--tag", ".=x"], None)):
            done = run("--pyroscope", self.server.url, *words, "--", PUSHED)
            if message:
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn(message, done.stderr)
        done = run("--pyroscope", "http://me:hush@host", "--", PUSHED)
        self.assertEqual(done.returncode, 125)
        self.assertIn("--push-password-file", done.stderr)
        self.assertNotIn("hush", done.stderr)


if REAL:
    class Real(PyroscopeTest):
        """A Pyroscope of one's own: pushed, and queried back."""

        def ask(self, method, **what):
            now = int(time.time() * 1000)
            request = urllib.request.Request(f"{REAL}/querier.v1.QuerierService/{method}", json.dumps(
                {"start": now - 600000, "end": now + 60000, **what}).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())

        def wait_for(self, method, found, **what):
            """What was pushed can be asked for a little later."""
            deadline = time.time() + 60
            while True:
                answer = self.ask(method, **what)
                if found(answer) or time.time() > deadline:
                    return answer
                time.sleep(0.5)

        def totals(self, type_, selector, expected, **what):
            """{"outer;inner": self value} of a merged flame graph; waits for EXPECTED, or for anything."""
            def flatten(answer):
                graph = answer.get("flamegraph", {})
                names, sums_, above = graph.get("names", []), {}, []
                for level in graph.get("levels", []):
                    values = [int(v) for v in level["values"]]
                    at, row = 0, []
                    for offset, total, own, name in zip(*[iter(values)] * 4):
                        at += offset
                        outer = next((path for begin, end, path in above if begin <= at < end or
                                      (begin == at == end)), "")
                        path = names[name] if not outer else outer + ";" + names[name]
                        row.append((at, at + total, path))
                        if own:
                            sums_[path] = sums_.get(path, 0) + own
                        at += total
                    above = row
                return {path.partition(";")[2]: value for path, value in sums_.items()}
            answer = self.wait_for("SelectMergeStacktraces", lambda a: flatten(a) == expected or (not expected and flatten(a)),
                                   profileTypeID=type_, labelSelector=selector, maxNodes=16384, **what)
            return flatten(answer)

        def test_query(self):
            tag = f"t{time.time_ns()}"
            trace = self.push("-m", "all", "--tag", f"run={tag}", "--", SERVER, "--seconds", 3, url=REAL)
            self.assertEqual((trace.status, trace.stderr), (0, ""))
            selector = f'{{service_name="server",run="{tag}"}}'
            for type_, key in (("wall:wall_busy:nanoseconds:wall:nanoseconds", "self_ns"),
                               ("wall:wall_idle:nanoseconds:wall:nanoseconds", "idle_ns"),
                               ("wall:count:count:wall:nanoseconds", "count"),
                               ("process_cpu:cpu:nanoseconds:cpu:nanoseconds", "self_cpu_ns"),
                               ("memory:alloc_space:bytes:space:bytes", "alloc_bytes"),
                               ("memory:alloc_objects:count:space:bytes", "alloc_objects")):
                expected = of_json(trace, key)
                self.assertEqual(self.totals(type_, selector, expected), expected, type_)
            types = {t["ID"] for t in self.ask("ProfileTypes")["profileTypes"]}
            self.assertLessEqual({"wall:wall:nanoseconds:wall:nanoseconds",
                                  "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
                                  "memory:alloc_space:bytes:space:bytes"}, types)
            self.assertIn(tag, self.ask("LabelValues", name="run")["names"])
            self.assertIn("hostname", self.ask("LabelNames")["names"])

        def test_ids(self):
            """A span's own profile by its id, which is no series: with what ran inside it."""
            tag = f"t{time.time_ns()}"
            trace = self.push("--by", "span_id", "--by", "trace_id", "--tag", f"run={tag}", "--", PUSHED, 4, "tree",
                              url=REAL)
            self.assertEqual((trace.status, trace.stderr), (0, ""))
            selector = f'{{run="{tag}"}}'
            own = {"pushed:call" + below: 1 for below in (
                "", ";pushed:part", ";pushed:job", ";pushed:job;pushed:part", ";pushed:job;pushed:task")}
            query = {"pushed:call;pushed:query": 1, "pushed:call;pushed:query;pushed:part": 1}
            type_ = "wall:count:count:wall:nanoseconds"
            for selected, expected in (({"spanSelector": [f"{0x102:016x}"]}, own),
                                       ({"spanSelector": [f"{0x1002:016x}"]}, query),
                                       ({"traceIdSelector": [f"{2 + 0xabc:032x}"]}, {**own, **query})):
                self.assertEqual(self.totals(type_, selector, expected, **selected), expected)
            # All of its time, however short it was.
            busy = {row["labels"]["span_id"]: row for row in trace.rows("pushed:call")}[f"{0x102:016x}"]
            got = self.totals("wall:wall_busy:nanoseconds:wall:nanoseconds", selector, None,
                              traceIdSelector=[busy["labels"]["trace_id"]])
            self.assertEqual(sum(value for path, value in got.items() if path not in (
                "pushed:call;pushed:job", "pushed:call;pushed:job;pushed:part")), busy["busy_ns"])
            names = self.ask("LabelNames", matchers=[selector])["names"]
            self.assertFalse({"span_id", "trace_id"} & set(names))


if __name__ == "__main__":
    unittest.main()
