# SPDX-License-Identifier: Apache-2.0
"""Nothing slips past: the device process counts the kernels that the shim counted, on every way in."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import Stack  # noqa: E402


class LaunchCounts(unittest.TestCase):
    """B1: launches counted by the shim == launches made, per route."""

    def check(self, entry):
        """One program by one route."""
        program = "resnet18" if entry == "direct" else "resnet18-dlopen"
        with Stack(policy="sgprs") as stack:
            done = stack.run(program, "--input", "32x32", "--frames", "5", "--period", "20ms", "--json",
                             "--entry", entry, period_ns=20_000_000, name="net")
            self.assertEqual(done.returncode, 0, done.stderr)
            made = json.loads(done.stdout)["launches"]
            task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "net")
            counters = task["counters"]
            self.assertEqual(counters["kernels"], made)
            self.assertEqual(counters["bypassed"], 0)
            self.assertEqual(stack.device_stats()["kernels_total"], made)

    def test_b1_direct(self):
        self.check("direct")

    def test_b1_dlopen(self):
        self.check("dlopen")

    def test_b1_getproc(self):
        self.check("getproc")

    def test_b1_getproc_v1(self):
        self.check("getproc-v1")

    def test_b1_deepbind(self):
        self.check("deepbind")


if __name__ == "__main__":
    unittest.main()
