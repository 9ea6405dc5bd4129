# SPDX-License-Identifier: MIT
"""Bad input: the right exit status, and a message that names the thing and the fix."""
import glob
import json
import os
import pwd
import re
import signal
import subprocess
import tempfile

from harness import LiveTest, SPANTRACE, Target, Trace, program, run

RULES = program("rules")


class BadInput(LiveTest):
    def refused(self, status, words, *args, **kwargs):
        done = run(*args, **kwargs)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertTrue(done.stderr.startswith("spantrace: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_no_such_pid(self):
        self.refused(1, ["no process 4194000"], "-p", 4194000)

    def test_pid_that_has_ended(self):
        child = subprocess.Popen(["true"])
        pid = child.pid
        while open(f"/proc/{pid}/stat").read().split()[2] != "Z":
            pass
        self.refused(1, [str(pid), "has ended"], "-p", pid)
        child.wait()

    def test_thread_in_place_of_a_process(self):
        with Target(RULES, "endless") as target:
            target.expect("ready")
            threads = [int(t) for t in os.listdir(f"/proc/{target.pid}/task") if int(t) != target.pid]
            self.refused(1, [f"thread of process {target.pid}", f"-p {target.pid}"], "-p", threads[0])

    def test_kernel_thread(self):
        self.refused(1, ["kernel"], "-p", 2)

    def test_program_that_ends_at_once(self):
        done = run("--", program("rules"), "no-such-mode")
        self.assertEqual(done.returncode, 2)

    def test_not_root(self):
        nobody = pwd.getpwnam("nobody")
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            binary = os.path.join(place, "spantrace")
            with open(SPANTRACE, "rb") as source, open(binary, "wb") as copy:
                copy.write(source.read())
            os.chmod(binary, 0o755)
            done = subprocess.run([binary, "-p", str(os.getpid())], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], cwd="/")
        self.assertEqual(done.returncode, 1)
        self.assertIn("sudo", done.stderr)

    def test_no_markers(self):
        with Target("sleep", "100") as target:
            self.refused(1, ["no markers", "sleep", "spantrace.h"], "-p", target.pid)

    def test_no_markers_in_a_command(self):
        self.refused(125, ["no markers", "/true"], "--", "true")

    def test_all_markers_left_out(self):
        with Target(RULES, "endless") as target:
            target.expect("ready")
            self.refused(1, ["rules", "-P"], "-P", "nosuch", "-p", target.pid)

    def test_output_that_cannot_be_written(self):
        with tempfile.TemporaryDirectory() as place:
            mark = os.path.join(place, "ran")
            self.refused(125, ["/nonexistent/x.json"], "-o", "/nonexistent/x.json", "--", "touch", mark)
            self.assertFalse(os.path.exists(mark), "the command ran all the same")

    def test_output_that_fills_up(self):
        done = run("-o", "json:/dev/full", "--", RULES, "recursion", "10")
        self.assertEqual(done.returncode, 125)
        self.assertIn("/dev/full", done.stderr)

    def test_unknown_format(self):
        self.refused(2, ["flamegraf", "flamegraph"], "-o", "flamegraf:x.svg", "-p", 1)

    def test_unknown_format_option(self):
        self.refused(2, ["colour"], "-o", "folded,colour=1:x", "-p", 1)

    def test_bad_duration(self):
        self.refused(2, ["10x", "10s"], "-d", "10x", "-p", 1)

    def test_bad_pid(self):
        self.refused(2, ["12a"], "-p", "12a")

    def test_nothing_to_do(self):
        done = run()
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage", done.stderr)

    def test_two_modes(self):
        self.refused(2, ["-p"], "-p", 1, "--", "true")

    def test_command_not_found(self):
        self.refused(127, ["no-such-command", "not found"], "--", "no-such-command")

    def test_command_not_executable(self):
        self.refused(126, ["/etc/passwd"], "--", "/etc/passwd")

    def test_span_that_makes_no_sense(self):
        self.refused(2, ["a..b"], "-s", "a..b", "-p", 1)


class ExitStatus(LiveTest):
    def test_of_the_command(self):
        done = run("--", RULES, "no-such-mode")
        self.assertEqual(done.returncode, 2)
        done = run("--", RULES, "recursion", "1")
        self.assertEqual(done.returncode, 0)

    def test_ctrl_c_gives_what_was_recorded(self):
        with tempfile.NamedTemporaryFile(suffix=".json") as out, Target(RULES, "endless") as target:
            target.expect("ready")
            tracer = subprocess.Popen([SPANTRACE, "-p", str(target.pid), "-o", out.name, "-v"],
                                      stderr=subprocess.PIPE, text=True)
            while "tracing" not in tracer.stderr.readline():
                pass
            tracer.send_signal(signal.SIGTERM)
            tracer.communicate(timeout=30)
            self.assertEqual(tracer.returncode, 0)
            Trace(open(out.name).read())
            self.assertIsNone(target.process.poll())

    def test_duration(self):
        with Target(RULES, "endless") as target:
            target.expect("ready")
            done = run("-p", target.pid, "-d", "300ms", "--json")
            self.assertEqual(done.returncode, 0)
            t = Trace(done.stdout)
            self.assertAlmostEqual(t.json["duration_ns"], 300e6, delta=150e6)
            self.assertGreater(t.count("rules:labelled"), 100)


class List(LiveTest):
    def test_no_such_file(self):
        done = run("list", "/nonexistent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent", done.stderr)

    def test_no_elf(self):
        done = run("list", "/etc/passwd")
        self.assertEqual(done.returncode, 1)
        self.assertIn("ELF", done.stderr)

    def test_cut_elf(self):
        with tempfile.NamedTemporaryFile() as cut, open(RULES, "rb") as whole:
            cut.write(whole.read(2000))
            cut.flush()
            done = run("list", cut.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn(cut.name, done.stderr)

    def test_no_markers(self):
        done = run("list", "/bin/true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no markers", done.stderr)

    def test_no_such_pid(self):
        done = run("list", "-p", "4194000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("4194000", done.stderr)

    def test_all_files_that_readelf_shows(self):
        """list -a against readelf -n over every file mapped as code in any process."""
        with Target(RULES, "endless") as target:
            target.expect("ready")
            listed = {f["path"] for f in json.loads(run("list", "-a", "--json").stdout)["files"] if f["sites"]}
            mapped = set()
            for maps in glob.glob("/proc/[0-9]*/maps"):
                try:
                    with open(maps) as lines:
                        found = [re.match(r"\S+ \S*x\S* \S+ \S+ [1-9]\d* +(/.*)", line) for line in lines]
                except OSError:
                    continue
                mapped |= {match.group(1) for match in found if match and os.path.exists(match.group(1))}
        marked = set()
        for path in mapped:
            notes = subprocess.run(["readelf", "-n", "--", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if b"stapsdt" in notes.stdout:
                marked.add(path)
        self.assertIn(RULES, marked)
        self.assertEqual(marked - listed, set())
