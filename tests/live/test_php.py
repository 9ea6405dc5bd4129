# SPDX-License-Identifier: MIT
"""PHP 8.2 as Debian ships it, by the built-in rules: requests, functions by name, exceptions; php-fpm too."""
import glob
import os
import subprocess
import tempfile
import time

import fastcgi
from harness import Attached, LiveTest, trace

ON = {"USE_ZEND_DTRACE": "1"}
SCRIPT = """<?php
class Shop {
    static function open($n) { return str_repeat("x", $n); }
    function sell() { throw new RuntimeException("none left"); }
}
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
for ($i = 0; $i < 100; $i++) Shop::open($i);
for ($i = 0; $i < 10; $i++) { try { (new Shop)->sell(); } catch (RuntimeException $e) {} }
echo fib(5);
"""
END = {"/good": "echo greet();", "/exit": "greet(); exit(3);", "/die": "greet(); throw new Exception('no');"}


def binary(pattern):
    return max(glob.glob(pattern))


class PhpTest(LiveTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.chmod(self.folder.name, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def by_last_name(self, t, key="count"):
        got = {}
        for row in t.json["paths"]:
            name = row["path"][-1].removeprefix("php:")
            got[name] = got.get(name, 0) + row[key]
        return got

    def test_functions_by_name(self):
        script = self.write("shop.php", SCRIPT)
        t = trace("env", *(f"{k}={v}" for k, v in ON.items()), binary("/usr/bin/php8.*"), "-n", script)
        self.assertEqual(t.stdout, "5")
        self.assertEqual(self.by_last_name(t), {"request": 1, "compile " + script: 1, "main": 1, "Shop::open": 100,
                                                "Shop::sell": 10, "fib": 15})
        # fib(5) calls itself 15 times, five deep.
        depths = {}
        for row in t.json["paths"]:
            if row["path"][-1] == "php:fib":
                depths[row["path"].count("php:fib")] = row["count"]
        self.assertEqual(depths, {1: 1, 2: 2, 3: 4, 4: 6, 5: 2})
        events = {event["name"]: event["count"] for event in t.json["events"]}
        self.assertEqual(events, {"php:exception__thrown RuntimeException": 10, "php:exception__caught": 10})
        self.assertEqual(sum(row["open"] for row in t.json["paths"]), 0)
        self.assert_lossless(t)

    def test_hint_where_it_is_not_switched_on(self):
        t = trace(binary("/usr/bin/php8.*"), "-n", self.write("shop.php", SCRIPT))
        self.assertEqual(self.by_last_name(t), {"request": 1})
        self.assertIn("never fired: start PHP with USE_ZEND_DTRACE=1 in its environment", t.stderr)

    def test_functions_by_file_and_line(self):
        script = self.write("shop.php", SCRIPT)
        t = trace("env", "USE_ZEND_DTRACE=1", binary("/usr/bin/php8.*"), "-n", script,
                  options=["--by", "file", "--by", "line", "-x", "request", "-x", "compile*"])
        rows = [row for row in t.json["paths"] if row["path"][-1] == "php:Shop::open"]
        self.assertEqual({row["labels"]["file"] for row in rows}, {script})
        self.assertEqual(sum(row["count"] for row in rows), 100)

    def test_fpm(self):
        path = os.path.join(self.folder.name, "fpm.sock")
        config = self.write("fpm.conf", "[global]\nerror_log = /dev/null\ndaemonize = no\n"
                            f"[www]\nuser = www-data\ngroup = www-data\nlisten = {path}\n"
                            "pm = static\npm.max_children = 2\n")
        for uri, text in END.items():
            self.write(uri.strip("/") + ".php", f"<?php function greet() {{ return 'hello'; }} {text}")
        # -R: the test runs as root; its workers do not.
        server = subprocess.Popen([binary("/usr/sbin/php-fpm8.*"), "-n", "-R", "-F", "-y", config],
                                  env={**os.environ, **ON}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                if os.path.exists(path):
                    break
                time.sleep(0.05)
            tracer = Attached(server.pid, options=["--by", "uri", "--by", "method"])
            for _ in range(10):
                for uri in END:
                    answer = fastcgi.get(path, f"{self.folder.name}{uri}.php", uri)
                    self.assertEqual("hello" in answer, uri == "/good")
            t = tracer.stop()
        finally:
            server.terminate()
            server.wait(timeout=30)
        requests = {}
        for row in t.json["paths"]:
            if row["path"] == ["php:request"]:
                labels = row["labels"]
                key = (labels["uri"], labels["method"])
                # The answer comes before the request's end: the last one may still be open.
                requests[key] = requests.get(key, 0) + row["count"] + row["open"]
                self.assertNotEqual(row["pid"], server.pid)
        self.assertEqual(requests, {(uri, "GET"): 10 for uri in END})
        self.assertEqual(self.by_last_name(t)["greet"], 30)
        thrown = {e["name"]: 0 for e in t.json["events"]}
        for event in t.json["events"]:
            thrown[event["name"]] += event["count"]
        self.assertEqual(thrown["php:exception__thrown Exception"], 10)
        self.assertEqual(t.losses["ring_full"], 0)
