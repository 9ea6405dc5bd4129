# SPDX-License-Identifier: MIT
"""A trace as a service: /metrics and /healthz, hostile clients, SIGHUP."""
import glob
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import Attached, LiveTest, run
from service import COUNT, LISTEN, LONG, STEP, TICK, Counted, Service, finished


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

    def test_a_trace_that_does_not_begin(self):
        """What only shows when it begins: back to how it was."""
        with Counted() as target, Service(f"pid = {target.pid}", LISTEN) as service:
            service.write(f"pid = {target.pid}", LISTEN, "output = /nowhere/out.json")
            service.hang_up()
            service.expect("back to the options before")
            service.expect("tracing ", 2)
            target.do("run 100")
            service.wait_for(100, COUNT, **STEP)
            self.assertEqual(service.value("spantrace_reloads_total"), 0)
            self.assertEqual(service.value("spantrace_reloads_refused_total"), 1)
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
            # Whoever runs this under nohup has it ignored.
            tracer = Attached(target.pid, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
            target.do("run 100")
            tracer.process.send_signal(signal.SIGHUP)
            t = tracer.wait()
        self.assertEqual((t.status, t.count("count:step")), (0, 100))
