# SPDX-License-Identifier: Apache-2.0
"""`sgprs doctor -- CMD`: every driver call of a program, and what became of it."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from probe_case import PROBE, probe_stack  # noqa: E402
from stack import program  # noqa: E402


class Doctor(unittest.TestCase):
    """A program is run once, counted, and told."""

    def doctor(self, stack, *command, **how):
        """Runs it; (exit code, report, stderr)."""
        done = subprocess.run([program("sgprs"), "doctor", "--json", "--socket", stack.socket, "--", *command],
                              env=stack.environment(shim=False, **how), capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertTrue(done.stdout.startswith("{"), done.stderr)
        return done.returncode, json.loads(done.stdout), done.stderr

    def test_everything_is_recorded(self):
        with probe_stack(policy="sgprs") as stack:
            code, report, said = self.doctor(stack, PROBE, "replay", "10", "20")
            task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "driver_probe")
        self.assertEqual((code, report["escaped"], report["exit_code"], said), (0, 0, 0, "ok\n"))
        [process] = report["processes"]
        self.assertTrue(process["scheduled"])
        calls = {row["name"]: row for row in process["calls"]}
        self.assertEqual((calls["cuGraphLaunch"]["calls"], calls["cuGraphLaunch"]["recorded"]), (20, 20))
        self.assertEqual(calls["cuGraphLaunch"]["treatment"], "record")
        self.assertEqual(calls["cuMemcpyDtoH_v2"]["drained"], 1)
        # Captured launches are not launches yet.
        self.assertEqual((calls["cuLaunchKernel"]["calls"], calls["cuLaunchKernel"]["recorded"]), (10, 0))
        self.assertEqual(sum(row["recorded"] for row in calls.values()), task["counters"]["recorded"])
        self.assertGreater(process["graphs"]["copies"], 0)

    def test_a_process_without_a_runtime_escapes(self):
        with probe_stack(daemon=False) as stack:
            code, report, said = self.doctor(stack, PROBE, "eager", "10", "20")
        self.assertEqual((code, report["escaped"], report["exit_code"]), (1, 200, 0))
        [process] = report["processes"]
        self.assertFalse(process["scheduled"])
        self.assertIn("no sgprsd answers", process["said"])
        self.assertEqual(process["escapes"], [{"launches": 200, "why": "the process is not scheduled"}])
        self.assertIn("ok\n", said)

    def test_refused_launches_are_no_escapes(self):
        with probe_stack(policy="sgprs") as stack:
            code, report, _ = self.doctor(stack, PROBE, "launches")
        self.assertEqual((code, report["escaped"]), (0, 0))

    def test_killed_program_is_told_all_the_same(self):
        with probe_stack(policy="sgprs") as stack:
            code, report, _ = self.doctor(stack, "/bin/sh", "-c", f"'{PROBE}' eager 10 20; kill -9 $$")
        self.assertEqual((code, report["exit_code"]), (137, 137))
        self.assertEqual(len(report["processes"]), 1)

    def test_program_without_cuda(self):
        with probe_stack(daemon=False) as stack:
            code, report, _ = self.doctor(stack, "true")
        self.assertEqual((code, report["processes"]), (0, []))

    def test_for_people(self):
        with probe_stack(policy="sgprs") as stack:
            done = subprocess.run([program("sgprs"), "doctor", "--socket", stack.socket, "--", PROBE, "eager"],
                                  env=stack.environment(shim=False), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"cuLaunchKernel +record +200 +200\n")


if __name__ == "__main__":
    unittest.main()
