# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges as job borders (design.md 5)."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from probe_case import PROBE, ProbeCase, probe_stack  # noqa: E402
from stack import SHIM  # noqa: E402

FRAMES = 20


class Nvtx(ProbeCase):
    """FRAMES ranges of one name, in each of NVTX's ways of opening one."""

    def jobs(self, stack, way, rule, injection=SHIM):
        """How many jobs sgprsd counted in one run of the scenario."""
        name = f"{way}-{rule.replace(':', '-')}"
        env = {"SGPRS_JOB": rule, "NVTX_INJECTION64_PATH": injection}
        self.ran(stack.run(PROBE, "nvtx", way, str(FRAMES), name=name, env=env))
        counters = next(t["counters"] for t in stack.json("tasks")["tasks"] if t["name"] == name)
        self.assertEqual(counters["jobs_released"], counters["jobs_completed"])
        self.assertEqual(counters["recorded"], counters["completed"])
        return counters["jobs_completed"]

    def test_each_range_is_a_job(self):
        with probe_stack(policy="sgprs") as stack:
            for way in ("push", "wide", "start", "domain"):
                with self.subTest(way):
                    self.assertEqual(self.jobs(stack, way, "nvtx:frame"), FRAMES)

    def test_ranges_of_other_names_are_none(self):
        with probe_stack(policy="sgprs") as stack:
            for rule in ("nvtx:fram", "nvtx:frames", "marked"):
                with self.subTest(rule):
                    self.assertEqual(self.jobs(stack, "push", rule), 1)

    def test_run_sets_it_up_and_refuses_a_second_tool(self):
        with probe_stack(policy="sgprs") as stack:
            command = ("run", "--name", "cam", "--job", "nvtx:frame", "--", PROBE, "nvtx", "push", str(FRAMES))
            stack.env.update(stack.environment(shim=False))
            stack.env["SGPRS_DRIVER"] = stack.environment()["SGPRS_DRIVER"]
            self.assertEqual(stack.sgprs(*command).stdout, "ok\n")
            task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "cam")
            self.assertEqual(task["counters"]["jobs_completed"], FRAMES)
            stack.env["NVTX_INJECTION64_PATH"] = "/other/tool.so"
            done = stack.sgprs(*command, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^sgprs run: --job nvtx:frame: .*'/other/tool.so'.*\n$")


if __name__ == "__main__":
    unittest.main()
