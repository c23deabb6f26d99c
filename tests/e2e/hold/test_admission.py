# SPDX-License-Identifier: Apache-2.0
"""--admission: a task that does not fit is said, or turned away."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import Stack, wait_until  # noqa: E402

# Longer than its period, whatever the machine: 64 x 5 ms of a simulated kernel.
HEAVY = ("resnet18", "--period", "1ms", "--seconds", "600")
PERIOD_NS = 1_000_000


def rows(stack):
    """Rows of living tasks."""
    return [t for t in stack.json("tasks")["tasks"] if t["state"] != "gone"]


class Admission(unittest.TestCase):
    """A job that takes longer than its deadline can never fit."""

    def test_warn_says_so_and_lets_it_run(self):
        with Stack(policy="sgprs", admission="warn") as stack:
            child = stack.start(*HEAVY, period_ns=PERIOD_NS, name="heavy")
            wait_until(lambda: [t for t in rows(stack) if t["over_admission"]], 60, what="the warning")
            self.assertIsNone(child.poll())
            status = stack.json("status")
            self.assertEqual(status["admission"], "warn")
            self.assertTrue(any("does not fit" in line for line in status["degraded"]), status)
            self.assertIn("its deadline is 1.0 ms", stack.log("sgprsd.log"))

    def test_reject_cuts_what_was_learnt_and_refuses_it_next_time(self):
        with Stack(policy="sgprs", admission="reject") as stack:
            child = stack.start(*HEAVY, period_ns=PERIOD_NS, name="heavy")
            wait_until(lambda: stack.json("status")["clients"]["cut"] == 1, 60, what="the cut")
            # The process goes on without us.
            self.assertIsNone(child.poll())
            child.kill()
            child.wait()
            again = stack.start("resnet18", "--period", "1ms", "--frames", "20", period_ns=PERIOD_NS, name="heavy")
            _, err = again.communicate(timeout=60)
            self.assertEqual(again.returncode, 0, err)
            self.assertGreaterEqual(stack.json("status")["clients"]["refused"], 1)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn("its deadline is 1.0 ms", err)

    def test_off_says_nothing(self):
        with Stack(policy="sgprs") as stack:
            stack.start(*HEAVY, period_ns=PERIOD_NS, name="heavy")
            wait_until(lambda: [t for t in rows(stack) if t["counters"]["jobs_completed"] > 20], 60, what="jobs")
            self.assertFalse([t for t in rows(stack) if t["over_admission"]])


if __name__ == "__main__":
    unittest.main()
