# SPDX-License-Identifier: MIT
"""A PostgreSQL server of Debian's package, made for one test and gone after it, and a client that speaks its
protocol, so that a test knows which messages were sent."""
import glob
import os
import pwd
import shutil
import socket
import struct
import subprocess
import tempfile
import time


def binaries():
    """The newest /usr/lib/postgresql/N/bin."""
    return max(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))


class Postgres:
    def __init__(self, *settings):
        self.bin = binaries()
        self.user = pwd.getpwnam("postgres")
        self.dir = tempfile.mkdtemp(prefix="spantrace-pg-")
        os.chown(self.dir, self.user.pw_uid, self.user.pw_gid)
        self.as_user(os.path.join(self.bin, "initdb"), "-D", self.dir + "/data", "-A", "trust", "-U", "postgres",
                     "--no-sync", "-E", "UTF8")
        self.log = open(self.dir + "/log", "w")
        self.server = subprocess.Popen(
            [os.path.join(self.bin, "postgres"), "-D", self.dir + "/data", "-k", self.dir, "-c", "listen_addresses=",
             "-c", "fsync=off", "-c", "autovacuum=off", *settings],
            user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[], stdout=self.log, stderr=self.log,
            cwd=self.dir)
        self.pid = self.server.pid
        for _ in range(200):
            if os.path.exists(self.dir + "/.s.PGSQL.5432"):
                try:
                    self.connect().close()
                    return
                except OSError:
                    pass
            time.sleep(0.05)
        raise AssertionError("PostgreSQL does not start: " + open(self.dir + "/log").read())

    def as_user(self, *command):
        subprocess.run(command, user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[], cwd=self.dir,
                       stdout=subprocess.DEVNULL, check=True)

    def connect(self):
        return Connection(self.dir + "/.s.PGSQL.5432")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait(timeout=30)
        self.log.close()
        shutil.rmtree(self.dir)


class Connection:
    """The protocol, version 3: simple queries, and extended ones without parameters."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        body = struct.pack("!i", 196608) + b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!i", len(body) + 4) + body)
        self.pid = None
        self.ready()

    def receive(self, n):
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                raise OSError("the server closed the connection")
            data += more
        return data

    def ready(self):
        """Reads up to ReadyForQuery. Returns whether there was no error."""
        good = True
        while True:
            kind, length = struct.unpack("!ci", self.receive(5))
            body = self.receive(length - 4)
            if kind == b"E":
                good = False
            elif kind == b"K":
                self.pid = struct.unpack("!i", body[:4])[0]
            elif kind == b"Z":
                return good

    def query(self, text):
        """One Query message. Returns whether the server did it."""
        self.send(text)
        return self.ready()

    def send(self, text):
        """The Query message alone: the answer is left to ready()."""
        body = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)

    def extended(self, text):
        """The same by the extended protocol: Parse, Bind, Execute, Sync. Returns whether the server did it."""
        parts = ((b"P", b"\0" + text.encode() + b"\0\0\0"), (b"B", b"\0\0" + b"\0" * 6),
                 (b"E", b"\0" + b"\0" * 4), (b"S", b""))
        self.socket.sendall(b"".join(kind + struct.pack("!i", len(body) + 4) + body for kind, body in parts))
        return self.ready()

    def close(self):
        try:
            self.socket.sendall(b"X" + struct.pack("!i", 4))
        finally:
            self.socket.close()

    def wait_closed(self):
        """Says goodbye and waits until the backend has gone."""
        self.socket.sendall(b"X" + struct.pack("!i", 4))
        while self.socket.recv(4096):
            pass
        self.socket.close()
