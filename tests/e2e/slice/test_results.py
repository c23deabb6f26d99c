# SPDX-License-Identifier: Apache-2.0
"""What a program computes does not depend on who schedules it."""
import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import Stack  # noqa: E402

COMMAND = ("resnet18", "--input", "32x32", "--frames", "12", "--period", "20ms", "--json")
PERIOD_NS = 20_000_000


def checksum(done):
    """Checksum of a workload's run, which must have ended well and said nothing on stderr."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["checksum"]


class Results(unittest.TestCase):
    """Bit-identical outputs, in all ways of running."""

    @classmethod
    def setUpClass(cls):
        with Stack(daemon=False) as stack:
            cls.bare = checksum(stack.run(*COMMAND, shim=False))

    def test_the_computation_is_real(self):
        with Stack(daemon=False) as stack:
            other = stack.run(*COMMAND, "--seed", "2", shim=False)
        self.assertNotEqual(checksum(other), self.bare)

    def test_b44_without_a_daemon(self):
        with Stack(daemon=False) as stack:
            done = stack.run(*COMMAND)
            self.assertEqual(checksum(done), self.bare)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def under_daemon(self, env=None, stream="own", run_env=None):
        """Runs under sgprsd; returns the task's row."""
        with Stack(env=env, policy="sgprs", partitions=3) as stack:
            done = stack.run(*COMMAND, "--stream", stream, period_ns=PERIOD_NS, name="net", env=run_env)
            self.assertEqual(checksum(done), self.bare)
            self.assertEqual(done.stderr, "")
            task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "net")
            counters = task["counters"]
            self.assertEqual(counters["recorded"], counters["completed"])
            self.assertEqual(counters["recorded"], counters["granted"])
            self.assertEqual(counters["recorded"], counters["issued"])
            self.assertEqual(counters["bypassed"], 0)
            self.assertGreater(counters["recorded"], 12 * 40)
            return counters

    def test_under_the_daemon(self):
        self.under_daemon()

    def test_null_stream(self):
        self.under_daemon(stream="null")

    def test_blocking_stream(self):
        self.under_daemon(stream="blocking")

    def test_switch_forced_at_every_stage(self):
        counters = self.under_daemon(env={"SGPRS_FORCE_SWITCH": "1"})
        self.assertGreater(counters["switches"], 12)

    def test_switch_forced_null_stream(self):
        self.under_daemon(env={"SGPRS_FORCE_SWITCH": "1"}, stream="null")

    def test_every_backend(self):
        for backend in ("green", "mps", "priority", "none"):
            with self.subTest(backend=backend):
                self.under_daemon(env={"SGPRS_FORCE_SWITCH": "1"}, run_env={"SGPRS_BACKEND": backend})


if __name__ == "__main__":
    unittest.main()
