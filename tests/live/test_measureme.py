# SPDX-License-Identifier: MIT
"""Event files against measureme's own library: what it writes is read by us, what we write is read by it, number by
number. tests/programs/rust-measureme is the library's side, tests/programs/mmprofdata.c ours. Needs cargo and the
registry's crates; is left out without them.
"""
import os
import shutil
import subprocess
import tempfile
import unittest

import harness

SOURCE = os.path.join(harness.ROOT, "tests/programs/rust-measureme")
TARGET = os.path.join(harness.OUTPUT, "rust-measureme")
OURS = harness.program("mmprofdata")
THEIRS = os.path.join(TARGET, "release/rust-measureme")


def output(*command, cwd=None):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, timeout=300)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout.decode()


@unittest.skipUnless(shutil.which("cargo"), "measureme's own library is left out: cargo is not installed")
class Measureme(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        built = subprocess.run(["cargo", "build", "--release", "--locked", "--jobs", "2", "--target-dir", TARGET],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=SOURCE, timeout=600, text=True)
        if built.returncode and ("failed to download" in built.stdout or "download of" in built.stdout):
            raise unittest.SkipTest("measureme's own library is left out: its crates cannot be downloaded")
        if built.returncode:
            raise AssertionError(built.stdout)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_what_it_writes(self):
        """Strings in pieces, arguments, virtual ids, threads, instants, integers, detached intervals: each event."""
        output(THEIRS, "write", "./it", cwd=self.folder.name)
        path = os.path.join(self.folder.name, "it.mm_profdata")
        theirs = output(THEIRS, "dump", "./it", cwd=self.folder.name).splitlines()
        self.assertEqual(len(theirs), 1 + 3 * 100 + 3 * 2 * 50 + 2)
        self.assertEqual(output(OURS, "dump", path).splitlines(), theirs)
        self.assertEqual(output(OURS, "totals", path), output(THEIRS, "totals", "./it", cwd=self.folder.name))

    def test_what_we_write(self):
        """Its analysis of our file has the counts, times and self times that were put in, and panics nowhere."""
        path = os.path.join(self.folder.name, "we.mm_profdata")
        for rounds in 1, 2, 1001, 20000:
            ours = output(OURS, "make", path, str(rounds))
            self.assertEqual(output(THEIRS, "totals", "./we", cwd=self.folder.name), ours, f"{rounds} rounds")
        lines = output(THEIRS, "dump", "./we", cwd=self.folder.name).splitlines()
        self.assertEqual(sum(line.startswith("AsyncSpan|app:job|id=") for line in lines), 20000)
        self.assertEqual(sum(line.startswith("app|app:tick||") for line in lines), 20000 * 4)
        number = (5000000000 + 110) % 7
        self.assertIn(f"lib|lib:inner ünd; \"so\"|number={number},text=GET /|100|110-150", lines)


if __name__ == "__main__":
    unittest.main()
