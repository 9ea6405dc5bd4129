# SPDX-License-Identifier: MIT
"""A short soak (tests/bench/soak.py) with its truth: processes come and go, every span is counted once, in files of
intervals and out of them, and nothing is left of what has ended."""
import os
import sys

import harness

sys.path.insert(0, os.path.join(harness.ROOT, "tests/bench"))
import soak


class Short(harness.LiveTest):
    def check(self, seconds, *options):
        run, memory, threads = soak.Soak(seconds, 20000, 20, 300, options), [], []

        def tell(_, metrics):
            memory.append(metrics["spantrace_resident_memory_bytes"])
            threads.append(metrics["spantrace_threads"])

        truth, last = run.run(tell, 1)
        self.assertEqual(run.lost(last), {})
        self.assertGreater(truth["processes"], 40)
        # Two threads of each. A tracer that is held up looks late, but not so late that it has seen most of them.
        self.assertLess(max(threads), 2 * truth["processes"])
        return memory

    def test_added_up_in_the_kernel(self):
        memory = self.check(20)
        # Room for what the first use of a table takes; rows that were kept would take as much every second.
        self.assertLess(memory[-1] - memory[len(memory) // 2], 8 << 20)

    def test_single_spans(self):
        self.check(5, "--stream")

    def test_few_rows(self):
        """The kernel has room for few rows: those of processes that have ended are used again, and what finds none is
        told span by span."""
        self.check(5, "--rows", "64")
