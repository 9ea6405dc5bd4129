#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules and the truths once more with --stream: the loader adds up records of single spans. Without it the kernel
adds up, and what comes out must be the same."""
import unittest

import harness
import test_rules
import test_truth


class Streamed(unittest.TestSuite):
    def run(self, result, debug=False):
        harness.EXTRA[:] = ["--stream"]
        try:
            return super().run(result, debug)
        finally:
            harness.EXTRA.clear()


def load_tests(loader, _tests, _pattern):
    return Streamed(loader.loadTestsFromModule(module) for module in (test_rules, test_truth))


if __name__ == "__main__":
    unittest.main()
