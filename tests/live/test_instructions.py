#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a hit costs, in instructions: those that the kernel keeps of each program once the verifier has taken out what is
off, and those that the header's macros leave in a function. tests/golden/instructions.json holds what they were; a number
that grows has to be looked at, and written there by hand where it is worth it:

    python3 tests/live/test_instructions.py write

Numbers of another compiler, or of another kernel's verifier, are others: then that part is left out, and says so.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

from harness import ROOT, Attached, Target, program

GOLDEN = os.path.join(ROOT, "tests/golden/instructions.json")
MODES = {
    "rows": [],
    "stream": ["--stream"],
    "wall": ["--stream", "-m", "wall"],
    "alloc": ["--stream", "-m", "wall,cpu,alloc"],
    "sample": ["--sample", "1%"],
}
PROGRAMS = ["span_enter", "span_exit", "event_hit", "async_new", "async_enter", "async_exit", "async_close"]
LANES = {"markers": [], "batched": ["-DSPANTRACE_BATCHED"]}
FUNCTIONS = ["thread_span", "scope", "event", "event_value", "async_span"]
# A compiler's choice of registers, not ours.
SLACK = 1.02


def first_number(*command):
    """The major version that COMMAND prints."""
    return re.search(r"(\d+)\.", subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout).group(1)


def kernel_now():
    return {"clang": first_number("clang", "--version"), "kernel": ".".join(os.uname().release.split(".")[:2]),
            "machine": os.uname().machine}


def header_now():
    return {"gcc": first_number("gcc", "--version"), "machine": os.uname().machine}


def count_programs():
    """{mode: {program: instructions}}"""
    counts = {}
    with Target(program("inlined")) as target:
        for mode, options in MODES.items():
            attached = Attached(target.pid, options=options)
            try:
                held = held_by(attached.process.pid)
                counts[mode] = {one["name"]: one["bytes_xlated"] // 8 for one in loaded()
                                if one["id"] in held and one.get("name") in PROGRAMS}
            finally:
                attached.stop()
    return counts


def held_by(pid):
    """Numbers of the programs that the process has open."""
    ids = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{name}", encoding="utf-8") as file:
            ids.update(map(int, re.findall(r"^prog_id:\t(\d+)$", file.read(), re.M)))
    return ids


def loaded():
    return json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], stdout=subprocess.PIPE, check=True,
                                     env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"}).stdout)


def count_functions():
    """{lane: {function: instructions}}"""
    counts = {}
    source = os.path.join(ROOT, "tests/programs/inlined.c")
    with tempfile.TemporaryDirectory() as scratch:
        for lane, flags in LANES.items():
            compiled = os.path.join(scratch, lane + ".o")
            subprocess.run(["gcc", "-O2", *flags, "-I", os.path.join(ROOT, "usdt"), "-c", source, "-o", compiled],
                           check=True)
            text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", compiled], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout
            bodies = dict(re.findall(r"<(\w+)>:\n((?: +[0-9a-f]+:.*\n)+)", text))
            counts[lane] = {name: len(bodies[name].splitlines()) for name in FUNCTIONS}
    return counts


class Instructions(unittest.TestCase):
    def compare(self, part, setting, count):
        with open(GOLDEN, encoding="utf-8") as file:
            golden = json.load(file)[part]
        if golden["of"] != setting:
            self.skipTest(f"left out: the numbers are of {golden['of']}, this is {setting}")
        counts = count()
        grown = [f"{kind} {name}: {n} instructions, {was}{'' if was == 'none' else ' before'}"
                 for kind, names in counts.items() for name, n in names.items()
                 for was in [golden["counts"].get(kind, {}).get(name, "none")] if was == "none" or n > was * SLACK]
        self.assertEqual(grown, [], "more than tests/golden/instructions.json says; see the head of this file")
        self.assertEqual({kind: set(names) for kind, names in counts.items()},
                         {kind: set(names) for kind, names in golden["counts"].items()})

    def test_programs(self):
        self.compare("programs", kernel_now(), count_programs)

    def test_header(self):
        self.compare("header", header_now(), count_functions)


def write():
    with open(GOLDEN, "w", encoding="utf-8") as file:
        json.dump({"programs": {"of": kernel_now(), "counts": count_programs()},
                   "header": {"of": header_now(), "counts": count_functions()}}, file, indent="\t", sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        write()
    else:
        unittest.main()
