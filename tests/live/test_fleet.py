# SPDX-License-Identifier: MIT
"""Two hosts, each in a network and with a name of its own, push to one server: what each of them measured is told apart by
labels, and complete. A Prometheus that stands outside cannot reach their /metrics, which are on loopback."""
import os
import shutil
import subprocess
import unittest
import urllib.error
import urllib.request

import pyroscope
from harness import Attached, LiveTest
from service import Counted


def ip(*words):
    subprocess.run(["ip", *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Host:
    """A network namespace, a wire to here, and whatever runs() says under the name NAME."""

    def __init__(self, name, number):
        self.name, self.space = name, f"st{number}-{os.getpid()}"
        self.here, self.address = f"198.18.{number}.1", f"198.18.{number}.2"
        ip("netns", "add", self.space)
        try:
            ip("link", "add", self.space, "type", "veth", "peer", "name", "eth0", "netns", self.space)
            ip("address", "add", self.here + "/30", "dev", self.space)
            ip("link", "set", self.space, "up")
            for words in ("address", "add", self.address + "/30", "dev", "eth0"), ("link", "set", "eth0", "up"), \
                    ("link", "set", "lo", "up"):
                ip("-n", self.space, *words)
        except subprocess.CalledProcessError:
            self.close()
            raise

    def runs(self):
        """Only the network and the name are its own: `ip netns exec` would hide cgroups too."""
        return ["nsenter", f"--net=/run/netns/{self.space}", "unshare", "--uts", "sh", "-c",
                f'hostname {self.name} && exec "$@"', "sh"]

    def close(self):
        subprocess.run(["ip", "netns", "delete", self.space], stderr=subprocess.DEVNULL)


@unittest.skipUnless(shutil.which("ip"), "left out: no ip (package iproute2)")
class Fleet(LiveTest):
    @classmethod
    def setUpClass(cls):
        pyroscope.build()

    def test_two_hosts(self):
        server = pyroscope.Server("-listen", "0.0.0.0:0")
        self.addCleanup(server.close)
        port = server.address.rsplit(":", 1)[1]
        hosts = []
        for name, number in ("host-a", 91), ("host-b", 92):
            hosts.append(Host(name, number))
            self.addCleanup(hosts[-1].close)
        spans = {"host-a": 1000, "host-b": 2500}
        tracers, targets = [], []
        for host in hosts:
            target = Counted()
            self.addCleanup(target.__exit__)
            tracers.append(Attached(target.pid, prefix=host.runs(), options=[
                "--pyroscope", f"http://{host.here}:{port}", "--interval", "1s", "--tag", f"site={host.name[-1]}",
                "--listen", "127.0.0.1:9437"])) # the same port twice: each has its own loopback
            targets.append(target)
        for host, target in zip(hosts, targets):
            target.do(f"run {spans[host.name]}")
        with self.assertRaises(urllib.error.URLError):
            urllib.request.urlopen(f"http://{hosts[0].address}:9437/metrics", timeout=30)
        for tracer, host in zip(tracers, hosts):
            t = tracer.stop()
            self.assertEqual(t.status, 0, t.stderr)
            self.assertEqual(t.count("count:step"), spans[host.name])
        server.stop()
        for host in hosts:
            for labels in {"hostname": host.name}, {"site": host.name[-1]}:
                self.assertEqual(server.sums("count", **labels), {"count:step": spans[host.name]})
        self.assertEqual(server.sums("count"), {"count:step": sum(spans.values())})
