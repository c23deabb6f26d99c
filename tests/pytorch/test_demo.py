#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight PyTorch ResNet18 processes at 30 fps that share one simulated device (`sgprs demo -- python resnet18.py`), and
what becomes of the driver calls of one (`sgprs doctor`)."""
import json
import os
import subprocess
import unittest

import programs
import stack

EIGHT = 8


class Demo(unittest.TestCase):
    """The rates depend on this machine's CPUs: nothing is asked of them but that there are some."""

    def demo(self, *arguments):
        """The JSON of a demo with one policy; stops after the test."""
        with programs.new_stack(daemon=False) as private:
            done = subprocess.run(
                [stack.program("sgprs"), "demo", "--json", "--policies", "sgprs", *arguments], env=private.env,
                cwd=private.dir, capture_output=True, text=True, timeout=500, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["policies"][0]

    def test_eight_processes(self):
        for mode in ([], ["--graph"]):
            with self.subTest(mode=mode):
                result = self.demo("--tasks", str(EIGHT), "--fps", "30", "--seconds", "4", "--",
                                   *programs.command("resnet18", "--frames", "0", *mode))
                self.assertEqual(len(result["tasks"]), EIGHT)
                self.assertGreater(result["completed_fps"], 0)
                for task in result["tasks"]:
                    launches = task["launches"]
                    counts = {launches[name] for name in ("recorded", "granted", "issued", "completed")}
                    self.assertEqual(len(counts), 1, launches)
                    self.assertEqual(launches["bypassed"], 0)
                    self.assertEqual(task["workload"]["shape"], [1, 1000])
                    self.assertGreaterEqual(launches["recorded"], task["workload"]["frames"])

    def test_profile(self):
        """A job's kernels by their names, its stages' costs by SMs; a later run is scheduled by it."""
        with programs.new_stack(policy="sgprs") as private:
            private.env.pop("XDG_DATA_HOME", None)
            net = programs.command("resnet18", "--size", "64", "--frames")
            done = private.sgprs("profile", "--simulate", "--fps", "30", "--name", "net", "--json", "--", *net, "40",
                                 timeout=200)
            profile = json.loads(done.stdout[done.stdout.index('{"version":1,"kind"'):])
            names = {kernel["name"] for kernel in profile["kernels"]}
            self.assertTrue(any(name.startswith("void at::native::vectorized_elementwise_kernel<") for name in names), names)
            self.assertEqual([name for name in names if name.startswith("_Z")], [])
            self.assertGreater(len({cost["sms"] for stage in profile["stages"] for cost in stage["costs"]}), 3)
            private.sgprs("run", "--simulate", "--fps", "30", "--name", "net", "--", *net, "10", timeout=200)
            self.assertIn("runs by profile", private.log("sgprsd.log"))
            task = private.json("tasks")["tasks"][0]
            self.assertEqual((task["stages"], task["job_launches"]), (len(profile["stages"]), len(profile["launches"])))

    def test_program_that_ends_by_itself(self):
        with programs.new_stack(daemon=False) as private:
            done = subprocess.run(
                [stack.program("sgprs"), "demo", "--tasks", "1", "--policies", "sgprs", "--seconds", "60", "--",
                 *programs.command("resnet18", "--frames", "3", "--size", "64")],
                env=private.env, cwd=private.dir, capture_output=True, text=True, timeout=200, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("ended by itself", done.stderr)
            self.assertEqual([name for name in os.listdir(private.dir) if name.endswith(".svg")], [])

    def test_no_call_is_unknown(self):
        with programs.new_stack(policy="sgprs") as private:
            done = private.sgprs("doctor", "--simulate", "--json", "--",
                                 *programs.command("resnet18", "--frames", "5", "--size", "64"), timeout=200)
        found = json.loads(done.stdout)
        self.assertEqual((found["exit_code"], found["escaped"], len(found["processes"])), (0, 0, 1))
        calls = found["processes"][0]["calls"]
        self.assertEqual([call["name"] for call in calls if call["treatment"] == "unknown"], [])
        self.assertIn("record", {call["treatment"] for call in calls})


if __name__ == "__main__":
    unittest.main()
