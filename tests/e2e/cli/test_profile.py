#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sgprs profile`, and what `sgprs run` and sgprsd do with what it wrote."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import stack  # noqa: E402


class Profile(unittest.TestCase):
    """A private stack, whose directory is the home where profiles lie."""

    def setUp(self):
        self.stack = stack.Stack(policy="sgprs")
        self.addCleanup(self.stack.close)
        self.stack.env.update(HOME=self.stack.dir)
        self.stack.env.pop("XDG_DATA_HOME", None)

    def sgprs(self, *arguments):
        return self.stack.sgprs(*arguments, check=False, timeout=120)

    def profile(self, *arguments, name="net", program=("--fps", "60", "--frames", "40")):
        """`sgprs profile` of the workload; its JSON."""
        done = self.sgprs("profile", "--simulate", "--fps", "60", "--name", name, "--json", *arguments, "--",
                          stack.program("resnet18"), *program)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout[done.stdout.index('{"version":1,"kind":"sgprs profile"'):])

    def run_net(self, *arguments, frames="30"):
        """The workload under the stack's own daemon, by `sgprs run`."""
        return self.sgprs("run", "--simulate", "--name", "net", "--fps", "60", *arguments, "--",
                          stack.program("resnet18"), "--fps", "60", "--frames", frames)

    def test_what_is_written(self):
        profile = self.profile()
        path = os.path.join(self.stack.dir, ".local/share/sgprs/profiles/net.profile.json")
        self.assertEqual(json.loads(pathlib.Path(path).read_text("utf-8")), profile)
        self.assertEqual(profile["stages"][-1]["end"], len(profile["launches"]))
        sizes = {cost["sms"] for stage in profile["stages"] for cost in stage["costs"]}
        self.assertGreater(len(sizes), 3, "stages are measured in several sizes")
        self.assertIn(68, sizes)
        for stage in profile["stages"]:  # which size is how fast is up to the machine: they are the longest seen
            self.assertTrue(all(cost["ns"] > 0 for cost in stage["costs"]), stage)
        self.assertGreater(profile["period_seen_ns"], 0)  # how near to the period: that is up to the machine
        shown = self.sgprs("profile", "--show", path, "--launches")
        self.assertIn(profile["signature"], shown.stdout)
        self.assertEqual(self.stack.json("status")["clients"]["total"], 0, "the daemon of the user is left alone")

    def test_run_takes_it_up(self):
        """One job of the signature (after the warm-up) is enough; without the profile two more are measured."""
        self.profile()
        self.assertEqual(self.run_net("--profile", "none", frames="60").returncode, 0)
        self.assertNotIn("runs by profile", self.stack.log("sgprsd.log"))
        self.assertEqual(self.run_net(frames="2").returncode, 0)
        latest = max(self.stack.json("tasks")["tasks"], key=lambda task: task["client_id"])
        self.assertGreater(latest["stages"], 1)
        self.assertEqual(self.run_net(frames="60").returncode, 0)
        self.assertIn("runs by profile", self.stack.log("sgprsd.log"))
        for task in self.stack.json("tasks")["tasks"]:
            moments = {task["counters"][name] for name in ("recorded", "granted", "issued", "completed")}
            self.assertEqual(len(moments), 1, task["counters"])

    def test_refusals(self):
        path = os.path.join(self.stack.dir, "p.json")
        self.profile("-o", path)
        self.run_net()  # now the daemon knows its device

        def refusal(change):
            text = json.loads(pathlib.Path(path).read_text("utf-8"))
            change(text)
            other = os.path.join(self.stack.dir, "other.json")
            pathlib.Path(other).write_text(json.dumps(text), "utf-8")
            done = self.run_net("--profile", other)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            return done.stderr
        self.assertIn("version 7", refusal(lambda p: p.update(version=7)))
        self.assertIn("another device: X (12 SMs)", refusal(lambda p: p.update(device={"name": "X", "sms": 12})))
        self.assertIn("signature", refusal(lambda p: p.update(signature="00" * 8)))
        self.assertIn("no such file", self.run_net("--profile", "/nonexistent").stderr.lower())
        # A good one of another network: not used, said once, the task learns.
        wrong = os.path.join(self.stack.dir, "wrong.json")
        self.profile("-o", wrong, program=("--fps", "60", "--frames", "40", "--blocks", "3"))
        self.assertEqual(self.run_net("--profile", wrong).returncode, 0)
        self.assertIn("it is of another signature", self.stack.log("sgprsd.log"))

    def test_stages_of_a_task_that_runs(self):
        self.assertIn("\nno task is alive: ", self.sgprs("tasks", "--stages").stdout)
        child = self.stack.start(stack.program("resnet18"), "--fps", "60", "--seconds", "60", period_ns=16_666_667, name="net")
        stack.wait_until(lambda: any(task["stages"] for task in self.stack.json("tasks")["tasks"]), what="stages")
        task = stack.wait_until(lambda: [task for task in self.stack.json("tasks", "--stages")["stages"]
                                         if task["stages"] and all(stage["kernels"] for stage in task["stages"])],
                                what="a whole job in the lane")[0]
        self.assertEqual(task["pid"], child.pid)
        self.assertTrue(all(cost["ns"] for stage in task["stages"] for cost in stage["costs"]))
        self.assertIn(task["stages"][0]["kernels"][0]["name"], self.sgprs("tasks", "--stages").stdout)

    def test_not_learnt(self):
        done = self.sgprs("profile", "--simulate", "--fps", "60", "--", stack.program("resnet18"), "--frames", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing was learnt of resnet18", done.stderr)
        done = self.sgprs("profile", "--simulate", "--", "/bin/true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("it used no GPU", done.stderr)
        done = self.sgprs("profile", "--simulate", "--", "/nonexistent")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^sgprs run: .*\nsgprs profile: .*\(exit code 127\): it did not start\n$")
        self.assertEqual(self.sgprs("profile").returncode, 2)
        self.assertEqual(self.sgprs("profile", "--show", "x", "--", "y").returncode, 2)
        self.assertEqual(self.sgprs("profile", "--show", "/nonexistent").returncode, 1)

    def test_ctrl_c_ends_the_program_not_the_profile(self):
        child = subprocess.Popen(
            [stack.program("sgprs"), "profile", "--simulate", "--fps", "60", "--name", "net", "--",
             stack.program("resnet18"), "--fps", "60", "--seconds", "100"],
            env=self.stack.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        time.sleep(3)
        os.killpg(child.pid, signal.SIGINT)
        out, errors = child.communicate(timeout=60)
        self.assertIn("signature", out, errors)


if __name__ == "__main__":
    unittest.main()
