# SPDX-License-Identifier: MIT
"""`spantrace top`: intervals that add up to what the program did, on a terminal no larger than it is."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

from harness import SPANTRACE, LiveTest, program, run

CLEAR = "\033[H\033[J"
COLOUR = re.compile(r"\033\[[0-9;]*m")


def truth(text):
    """What soak says that it did: {"request": N, …}."""
    words = re.search(r"^processes .*$", text, re.M).group().split()
    return dict(zip(words[::2], map(int, words[1::2])))


def counts(text):
    """{span: [its count in each line]}"""
    found = {}
    for name, count in re.findall(r"^ *soak:(\w+) +([0-9,]+) ", text, re.M):
        found.setdefault(name, []).append(int(count.replace(",", "")))
    return found


class Top(LiveTest):
    SOAK = (program("soak"), "2", "20000", "2", "300")

    def check_sums(self, text):
        did = truth(text)
        found = counts(text)
        for name in ("request", "query", "job"):
            self.assertEqual(sum(found[name]), did[name], name)
            self.assertGreater(len(found[name]), 3, name)

    def test_intervals_add_up(self):
        for options in ([], ["--stream"]):
            with self.subTest(options=options):
                done = run("top", "--interval", "200ms", *options, "--", *self.SOAK)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.check_sums(done.stdout)
                self.assertNotIn(CLEAR, done.stdout)
                blocks = done.stdout.count(": the last ")
                self.assertGreaterEqual(blocks, 5)
                self.assertEqual(done.stdout.count("nothing lost"), blocks)

    def test_terminal(self):
        main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 7, 80, 0, 0))
        with subprocess.Popen([SPANTRACE, "top", "--interval", "200ms", "--", *self.SOAK], stdin=subprocess.DEVNULL,
                              stdout=other, stderr=other) as process:
            os.close(other)
            text = b""
            while True:
                try:
                    part = os.read(main, 65536)
                except OSError:  # the other end is closed
                    break
                text += part
        os.close(main)
        self.assertEqual(process.returncode, 0)
        screens = COLOUR.sub("", text.decode()).split(CLEAR)[1:]
        self.assertGreaterEqual(len(screens), 5)
        for screen in screens:
            if "processes" in screen:  # what soak itself says stands in it
                break
            lines = screen.split("\r\n")
            self.assertLessEqual(len(lines), 7, screen)
            self.assertTrue(all(len(line) <= 80 for line in lines), screen)
            self.assertIn(": the last ", lines[0])
            self.assertRegex(lines[2], "^span +count .* busy ")

    def test_what_it_does_not_take(self):
        for option in ("-o", "--json", "--pyroscope", "--max-size"):
            with self.subTest(option=option):
                done = run("top", option, "x", "-a")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(option, done.stderr)
                self.assertIn("spantrace help top", done.stderr)


if __name__ == "__main__":
    unittest.main()
