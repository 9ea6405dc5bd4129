#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules once more with what --max-overhead adds to every hit and to how probes are attached, and no limit that can be
reached: what comes out must be the same."""
import unittest

import harness
import test_rules


class Metered(unittest.TestSuite):
    def run(self, result, debug=False):
        harness.EXTRA[:] = ["--max-overhead", "100%"]
        try:
            return super().run(result, debug)
        finally:
            harness.EXTRA.clear()


def load_tests(loader, _tests, _pattern):
    return Metered([loader.loadTestsFromModule(test_rules)])


if __name__ == "__main__":
    unittest.main()
