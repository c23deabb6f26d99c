# SPDX-License-Identifier: Apache-2.0
"""A periodic program on a stack of its own, beside which something goes wrong."""
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import Stack, wait_until  # noqa: E402

PERIOD_NS = 50_000_000


class BesideCase(unittest.TestCase):
    """Each test: the program runs, goes on, ends with 0; sgprsd's descriptors come back."""

    sgprsd_args = ()

    def setUp(self):
        self.stack = Stack(policy="sgprs", sgprsd_args=self.sgprsd_args)
        self.addCleanup(self.stack.close)
        self.steady = self.stack.start("resnet18", "--input", "32x32", "--period", "50ms", "--seconds", "600",
                                       "--json", period_ns=PERIOD_NS, name="steady")
        self.assert_goes_on()
        self.fds = self.count_fds()

    def count_fds(self):
        """Descriptors of sgprsd."""
        return len(os.listdir(f"/proc/{self.stack.daemon.pid}/fd"))

    def clients(self):
        """Counts of `sgprs status`."""
        return self.stack.json("status")["clients"]

    def jobs(self):
        """Jobs of the program that are complete."""
        rows = [t for t in self.stack.json("tasks")["tasks"] if t["name"] == "steady" and t["state"] != "gone"]
        return rows[0]["counters"]["jobs_completed"] if rows else 0

    def assert_goes_on(self, jobs=3):
        """The program completes `jobs` more jobs."""
        before = self.jobs()
        wait_until(lambda: self.jobs() >= before + jobs, seconds=60, what="the program beside to go on")
        self.assertIsNone(self.stack.daemon.poll(), self.stack.log("sgprsd.log")[-2000:])

    def assert_all_is_well(self):
        """Nothing stayed behind, and the program ends as if alone."""
        self.assert_goes_on()
        wait_until(lambda: self.count_fds() <= self.fds, what="sgprsd's descriptors")
        rows = [t for t in self.stack.json("tasks")["tasks"] if t["name"] == "steady"]
        self.assertEqual([t["counters"]["bypassed"] for t in rows], [0])
        self.steady.send_signal(signal.SIGTERM)
        _, error = self.steady.communicate(timeout=60)
        self.assertEqual((self.steady.returncode, error), (0, ""))
