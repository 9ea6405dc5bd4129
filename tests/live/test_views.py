# SPDX-License-Identifier: MIT
"""Other views of the machine: libraries and programs that come later, PID and mount namespaces, chroots, overlays,
cgroups, files that are deleted or replaced. Counts are exact; what must wait for probes waits for spantrace to say so."""
import ctypes
import errno
import os
import shutil
import struct
import subprocess
import tempfile

from harness import Attached, LiveTest, SPANTRACE, run
from views import VIEWS, Views, build, static

ALL = ["-a", "-P", "views*"]


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def close_perf():
    """For subprocess: the child's perf_event_open() gets EACCES, by a seccomp filter; all else is allowed."""
    code = b"".join(struct.pack("HBBI", *insn) for insn in (
        (0x20, 0, 0, 0),               # load the number of the system call
        (0x15, 0, 1, 298),             # perf_event_open on x86-64
        (0x06, 0, 0, 0x00050000 | errno.EACCES),
        (0x06, 0, 0, 0x7FFF0000)))
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(22, 2, program, 0, 0):  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        raise OSError(ctypes.get_errno(), "prctl")


def umount(path):
    subprocess.run(["umount", "-l", path], check=True)


class Later(LiveTest):
    """What the targets load and start after the attach."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def path(self, name):
        return os.path.join(self.place.name, name)

    def library(self):
        return build(self.path("library.so"), "-shared", "-fPIC", "-DVIEWS_LIBRARY")

    def test_dlopen(self):
        library = self.library()
        for options in ([], ["--no-follow"]):
            with Views() as target, Views() as other:
                tracer = Attached(target.pid, options=options)
                target.do("work", 10)
                for views in (target, other):
                    views.say("open", library, 50)
                    views.expect("opened")
                tracer.expect("/library.so: ")
                target.do()
                other.do()
                t = tracer.stop()
            self.assert_counts(t, {"views:work": 10, "viewslib:work": 50})
            self.assert_lossless(t)

    def test_dlopen_where_there_was_no_marker_before(self):
        library = self.library()
        with Views() as target:
            tracer = Attached(target.pid, options=["-P", "viewslib", "-d", "60s"])
            self.assertIn("no marker", tracer.stderr)
            target.say("open", library, 50)
            target.expect("opened")
            tracer.expect("/library.so: ")
            target.do()
            t = tracer.stop()
        self.assert_counts(t, {"viewslib:work": 50})
        self.assert_lossless(t)

    def test_exec(self):
        other = build(self.path("other"))
        with Views() as target:
            tracer = Attached(target.pid)
            target.do("work", 10)
            target.say("exec", other)
            target.expect("ready")
            tracer.expect("/other: ")
            target.do("work", 20)
            t = tracer.stop()
        self.assertEqual(sorted(row["count"] for row in t.rows("views:work")), [10, 20])
        self.assert_lossless(t)

    def test_without_reports_of_mappings(self):
        """Where perf is closed, what comes later is found all the same, a little later; and it is said."""
        if "by uprobe_multi" not in run("doctor").stdout:
            self.skipTest("this kernel's probes are perf events themselves")
        library = self.library()
        with Views() as target:
            tracer = Attached(target.pid, preexec_fn=close_perf)
            self.assertIn("does not report new mappings", tracer.stderr)
            target.say("open", library, 50)
            target.expect("opened")
            tracer.expect("/library.so: ")
            target.do()
            t = tracer.stop()
        self.assert_counts(t, {"viewslib:work": 50})
        self.assert_lossless(t)

    def test_program_that_a_shell_starts(self):
        """The shell has markers nowhere, and spantrace waits for what it starts."""
        with Views("sh", prefix=["sh", "-c", f"echo ready; read line; {VIEWS}; read line; exec"], ) as shell:
            tracer = Attached(shell.pid, options=["-d", "60s"])
            shell.say("go")
            shell.expect("ready")
            tracer.expect("/views: ")
            shell.do("work", 30)
            t = tracer.stop()
        self.assert_counts(t, {"views:work": 30})
        self.assertNotEqual(t.rows("views:work")[0]["pid"], shell.pid)
        self.assert_lossless(t)

    def test_children_and_daemons(self):
        """Forked once and twice; what the parent has open is not the child's."""
        with Views() as target:
            tracer = Attached(target.pid)
            target.do("child", 5)
            target.do("daemon", 7)
            t = tracer.stop()
        self.assert_counts(t, {"views:around": 1, "views:child": 5, "views:daemon": 7})
        pids = {row["path"][0]: row["pid"] for row in t.json["paths"]}
        self.assertEqual(pids["views:around"], target.pid)
        self.assertEqual(len(set(pids.values())), 3)
        self.assert_lossless(t)

    def test_replaced_while_it_runs(self):
        """An upgrade: the old program runs on, the new one starts; both are traced."""
        old, new = build(self.path("server")), build(self.path("new"), "-O1")
        with Views(old) as before:
            os.rename(new, old)
            with Views(old) as after:
                tracer = Attached(before.pid, after.pid)
                before.do("work", 11)
                after.do("work", 22)
                t = tracer.stop()
        self.assertEqual({row["pid"]: row["count"] for row in t.rows("views:work")},
                         {before.pid: 11, after.pid: 22})
        self.assert_lossless(t)

    def test_program_in_memory(self):
        fd = os.memfd_create("views", 0)
        with open(VIEWS, "rb") as program, os.fdopen(fd, "wb", closefd=False) as memory:
            memory.write(program.read())
        with Views(f"/proc/self/fd/{fd}", pass_fds=[fd]) as target:
            tracer = Attached(target.pid)
            target.do("work", 12)
            t = tracer.stop()
        os.close(fd)
        self.assert_counts(t, {"views:work": 12})

    def test_link_forms(self):
        for name, flags in (("static-pie", ["-static-pie", "-fPIE", "-DVIEWS_STATIC"]), ("stripped", ["-s"]),
                            ("no-pie", ["-no-pie", "-fno-pie"]),
                            ("musl", ["-static", "-DVIEWS_STATIC", "-idirafter", "/usr/include",
                                      "-idirafter", "/usr/include/x86_64-linux-gnu"])):
            compiler = "musl-gcc" if name == "musl" else "gcc"
            with Views(build(self.path(name), *flags, compiler=compiler)) as target:
                tracer = Attached(options=ALL)
                target.do("work", 13)
                t = tracer.stop()
            self.assert_counts(t, {"views:work": 13})


class Containers(LiveTest):
    """A PID and a mount namespace, and a root of its own with one static program in it."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.root = self.place.name
        static(self.root)

    def container(self):
        return Views("/views", prefix=["unshare", "-pfm", "--mount-proc", "chroot", self.root])

    def inside(self, pid):
        """What runs a program of the machine's file system among the processes of the container."""
        return ["nsenter", "-t", str(pid), "-p", "unshare", "-m", "sh", "-c", 'mount -t proc proc /proc && exec "$0" "$@"']

    def test_from_outside_with_its_file_deleted(self):
        with self.container() as target:
            pid = target.child()
            os.unlink(os.path.join(self.root, "views"))
            tracer = Attached(pid)
            target.do("work", 40)
            target.do("child", 5)
            t = tracer.stop()
        self.assert_counts(t, {"views:work": 40, "views:around": 1, "views:child": 5})
        self.assertEqual({(row["pid"], row["nspid"]) for row in t.rows("views:work")}, {(pid, 1)})
        self.assertEqual([row["nspid"] for row in t.rows("views:child")], [2])
        self.assert_lossless(t)

    def test_all_with_a_container_that_comes_later(self):
        tracer = Attached(options=ALL)
        with self.container() as target, Views() as here:
            pid = target.child()
            tracer.expect("/views: ")  # the path that the container knows
            tracer.expect(VIEWS)
            target.do("work", 41)
            here.do("work", 42)
            t = tracer.stop()
        rows = {row["pid"]: row for row in t.rows("views:work")}
        self.assertEqual({pid: row["count"] for pid, row in rows.items()}, {pid: 41, here.pid: 42})
        self.assertEqual(rows[pid]["nspid"], 1)
        self.assertNotIn("nspid", rows[here.pid])
        self.assert_lossless(t)

    def test_from_inside(self):
        """By the container's own numbers: its process 1, and those that it forks."""
        with self.container() as target, Views() as outside:
            tracer = Attached(1, prefix=self.inside(target.child()))
            outside.do("work", 1000)
            target.do("work", 43)
            target.do("daemon", 7)
            t = tracer.stop()
        self.assert_counts(t, {"views:work": 43, "views:daemon": 7})
        self.assertEqual([row["pid"] for row in t.rows("views:work")], [1])
        self.assertNotIn("nspid", t.rows("views:work")[0])
        self.assertGreater(t.rows("views:daemon")[0]["pid"], 1)
        self.assert_lossless(t)

    def test_all_from_inside_is_the_container(self):
        with self.container() as target, Views(os.path.join(self.root, "views")) as outside:
            tracer = Attached(options=ALL, prefix=self.inside(target.child()))
            outside.do("work", 1000)
            target.do("work", 44)
            t = tracer.stop()
        self.assertEqual({row["pid"]: row["count"] for row in t.rows("views:work")}, {1: 44})
        self.assert_lossless(t)

    def test_command_inside(self):
        with self.container() as target:
            done = subprocess.run([*self.inside(target.child()), SPANTRACE, "--json", "--",
                                   os.path.join(self.root, "views"), "once", "9"],
                                  stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn('"path": ["views:once"], "labels": {}, "count": 9', done.stdout)

    def test_without_the_proc_of_its_own(self):
        done = subprocess.run(["unshare", "-pf", SPANTRACE, "-p", "1"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("mount -t proc", done.stderr)

    def test_overlay(self):
        """One file under two devices is one file: a hit counts once, through the one and through the other."""
        for name in ("upper", "work", "merged"):
            os.mkdir(os.path.join(self.root, name))
        lower, merged = os.path.join(self.root, "lower"), os.path.join(self.root, "merged")
        os.mkdir(lower)
        shutil.copy(VIEWS, lower)
        mount("-t", "tmpfs", "none", os.path.join(self.root, "work"))
        try:
            for name in ("u", "w"):
                os.mkdir(os.path.join(self.root, "work", name))
            mount("-t", "overlay", "overlay", "-o",
                  f"lowerdir={lower},upperdir={self.root}/work/u,workdir={self.root}/work/w", merged)
            try:
                with Views(os.path.join(merged, "views")) as above, Views(os.path.join(lower, "views")) as below:
                    tracer = Attached(options=ALL)
                    above.do("work", 45)
                    below.do("work", 46)
                    t = tracer.stop()
                    pids = above.pid, below.pid
            finally:
                umount(merged)
        finally:
            umount(os.path.join(self.root, "work"))
        self.assertEqual({row["pid"]: row["count"] for row in t.rows("views:work")}, dict(zip(pids, (45, 46))))
        self.assert_lossless(t)


class Cgroups(LiveTest):
    """--cgroup: those in it and below, also those that come later; not the others that run the same file."""

    def setUp(self):
        self.mounted = None
        found = subprocess.run(["findmnt", "-t", "cgroup2", "-n", "-o", "TARGET"], stdout=subprocess.PIPE, text=True)
        place = found.stdout.split("\n")[0]
        if not place:
            self.mounted = place = tempfile.mkdtemp()
            mount("-t", "cgroup2", "none", place)
        self.group = os.path.join(place, f"spantrace-test-{os.getpid()}")
        self.below = os.path.join(self.group, "below")
        os.makedirs(self.below)

    def tearDown(self):
        os.rmdir(self.below)
        os.rmdir(self.group)
        if self.mounted:
            umount(self.mounted)
            os.rmdir(self.mounted)

    def enter(self, group):
        """For subprocess: the child moves before it becomes another program."""
        def move():
            with open(os.path.join(group, "cgroup.procs"), "w") as procs:
                procs.write("0")
        return move

    def test_members_now_and_later(self):
        with tempfile.TemporaryDirectory() as place, \
                Views(preexec_fn=self.enter(self.group)) as member, Views() as other:
            tracer = Attached(options=["--cgroup", self.group])
            late = build(os.path.join(place, "late"))
            with Views(late, preexec_fn=self.enter(self.below)) as later, Views(late) as stranger:
                tracer.expect("/late: ")
                for views, n in ((member, 10), (later, 20), (other, 1000), (stranger, 1000)):
                    views.do("work", n)
                later.do("child", 5)
                t = tracer.stop()
                pids = member.pid, later.pid
        self.assertEqual({row["pid"]: row["count"] for row in t.rows("views:work")}, dict(zip(pids, (10, 20))))
        self.assertEqual(t.count("views:child"), 5)
        self.assertIn(self.group, t.json["target"])
        self.assert_lossless(t)

    def test_files_of_others_are_left_alone(self):
        """What only strangers run gets no probe."""
        with tempfile.TemporaryDirectory() as place, Views(preexec_fn=self.enter(self.group)) as member:
            tracer = Attached(options=["--cgroup", self.group])
            first, second = build(os.path.join(place, "first")), build(os.path.join(place, "second"))
            with Views(first), Views(second, preexec_fn=self.enter(self.group)):
                tracer.expect("/second: ")
                member.do("work", 1)
                t = tracer.stop()
        self.assertNotIn("/first: ", t.stderr)
        self.assertEqual(t.count("views:work"), 1)
