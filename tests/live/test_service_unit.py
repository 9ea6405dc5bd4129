# SPDX-License-Identifier: MIT
"""What is around a service: its unit and capabilities, what systemd is told, the journal, the configuration file."""
import http.server
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading

from harness import SPANTRACE, LiveTest, program, run
from service import COUNT, LISTEN, STEP, UNIT, Counted, Service


def with_capabilities():
    """Runs a command with those of the unit, and no others."""
    capabilities = re.search(r"^CapabilityBoundingSet=(.*)$", open(UNIT).read(), re.M)[1].lower()
    bounds = ",".join(["-all", *("+" + name.removeprefix("cap_") for name in capabilities.split())])
    return ["setpriv", "--no-new-privs", "--bounding-set=" + bounds, "--inh-caps=-all"]


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

    def test_capabilities(self):
        """Those of the unit, and no others, are enough: for other users' programs that only they can read, and for one that
        was deleted; also the second time."""
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o711)
            paths = [f"{folder}/private", f"{folder}/gone"]
            for path in paths:
                shutil.copy(program("counted"), path)
                os.chown(path, 65534, 65534)
                os.chmod(path, 0o500)
            with Counted(paths[0], **nobody) as private, Counted(paths[1], **nobody) as gone:
                private.do("run 0")
                gone.do("run 0")
                os.unlink(paths[1])
                with Service("all", "provider = count", LISTEN, prefix=with_capabilities()) as service:
                    private.do("run 100")
                    gone.do("run 1000")
                    service.wait_for(1100, COUNT, **STEP)
                    service.hang_up()
                    service.expect("tracing ", 2)
                    private.do("run 100")
                    gone.do("run 1000")
                    service.wait_for(2200, COUNT, **STEP)
                    self.assertEqual(service.end(), 0)

    def test_push(self):
        """The same capabilities are enough for a push, and for a spool of one's own."""
        taken = []

        class Server(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                taken.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        with tempfile.TemporaryDirectory() as folder, \
                http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.addCleanup(server.shutdown)
            with Counted() as target, Service(
                    f"pid = {target.pid}", LISTEN, f"pyroscope = http://127.0.0.1:{server.server_port}",
                    f"spool = {folder}/spool", "interval = 1s", prefix=with_capabilities()) as service:
                target.do("run 100")
                service.wait_for(100, COUNT, **STEP)
                self.assertEqual(service.end(), 0)
                self.assertNotIn("warning", service.said())
            self.assertTrue(taken)
            self.assertEqual(os.listdir(folder + "/spool"), ["pyroscope.lock"])

    def test_example(self):
        """The file that is installed."""
        example = os.path.join(os.path.dirname(UNIT), "spantrace.conf")
        done = run("--config", example, "--listen", "0", "-P", "no_such_provider", "-d", "100ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        commented = re.sub(r"^#(\w+ = )", r"\1", open(example).read(), flags=re.M)
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w") as config:
            config.write(commented.replace("/var/lib/spantrace", folder))
            config.flush()
            done = run("--config", config.name, "--listen", "0", "-d", "100ms")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_unit(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("left out: no systemd-analyze")
        text = open(UNIT).read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "spantrace.service")
            with open(path, "w") as out:
                out.write(text.replace("/usr/local/bin/spantrace", SPANTRACE))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            self.assertEqual([line for line in done.stdout.splitlines() if "spantrace.service" in line], [])
            # 0: locked up; 9.6: a unit that says nothing. What is open to it are capabilities, networks and other processes.
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=35", "--no-pager", path],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)


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
