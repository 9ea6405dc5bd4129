# SPDX-License-Identifier: MIT
"""Drives tests/programs/views.c, and builds it in the ways that a test needs."""
import os
import subprocess

from harness import ROOT, Target, innermost, program

VIEWS = program("views")


def build(path, *flags, compiler="gcc"):
    """views.c, built in another way."""
    subprocess.run([compiler, "-O2", "-D_GNU_SOURCE", "-I", os.path.join(ROOT, "usdt"),
                    os.path.join(ROOT, "tests", "programs", "views.c"), "-o", path, *flags], check=True)
    return path


def static(place):
    """The program without libraries, for places that have none."""
    return build(os.path.join(place, "views"), "-static", "-DVIEWS_STATIC")


class Views(Target):
    """Runs the program, by PREFIX if need be, up to the point where it takes orders."""

    def __init__(self, path=VIEWS, prefix=(), **kwargs):
        super().__init__(*prefix, path, **kwargs)
        self.expect("ready")

    def say(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def do(self, *words):
        self.say(*words)
        self.expect("done")

    def child(self):
        """The pid of the process that the prefix has started."""
        return innermost(self.pid)
