#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules, the truths and the CPU times once more in the batched lane: by programs that differ in nothing but having
been compiled with SPANTRACE_BATCHED."""
import os
import unittest

import harness
import test_cpu
import test_rules
import test_truth

MODULES = (test_rules, test_truth, test_cpu)


def batched(name):
    """The program's other build."""
    return os.path.join(harness.OUTPUT, "batched", os.path.basename(name))


class Batched(unittest.TestSuite):
    def run(self, result, debug=False):
        was = [dict(vars(module)) for module in MODULES]
        for module in MODULES:
            module.program = batched
        test_rules.RULES = batched("rules")
        test_cpu.CPU = batched("cpu")
        # The README: page faults are charged to the nearest op fetched with them.
        test_cpu.BRACKETED = [key for key in test_cpu.BRACKETED if not key.endswith("_faults")]
        try:
            return super().run(result, debug)
        finally:
            for module, names in zip(MODULES, was):
                vars(module).update(names)


def load_tests(loader, _tests, _pattern):
    return Batched(loader.loadTestsFromModule(module) for module in MODULES)


if __name__ == "__main__":
    unittest.main()
