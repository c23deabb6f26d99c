#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sgprs status | tasks | partitions | policy | doctor` against a daemon with a task."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from stack import Stack, program, wait_until  # noqa: E402


class Read(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(policy="sgprs")
        cls.addClassCleanup(cls.stack.close)
        cls.stack.start("resnet18", "--seconds", "300", "--fps", "50", name="cam", period_ns=20_000_000)
        wait_until(cls.scheduled, seconds=60, what="task is learnt")

    @classmethod
    def scheduled(cls):
        tasks = cls.stack.json("tasks")["tasks"]
        return len(tasks) == 1 and tasks[0]["state"] == "scheduled"

    def test_tasks(self):
        task = self.stack.json("tasks", "--window", "200ms")["tasks"][0]
        self.assertEqual(task["name"], "cam")
        self.assertGreater(task["stages"], 1)
        self.assertGreater(task["completed_fps"], 0)
        text = self.stack.sgprs("tasks").stdout
        self.assertIn("cam", text)
        self.assertIn("scheduled", text)

    def test_status(self):
        status = self.stack.json("status")
        self.assertEqual(status["version"], 1)
        self.assertEqual(status["pid"], self.stack.daemon.pid)
        self.assertEqual(status["tasks"]["scheduled"], 1)
        self.assertEqual(status["degraded"], [])
        self.assertIn("health      good", self.stack.sgprs("status").stdout)

    def test_partitions(self):
        partitions = self.stack.json("partitions")["partitions"]
        self.assertEqual(len(partitions), self.stack.json("status")["partitions"])
        self.assertGreater(sum(row["stages_completed"] for row in partitions), 0)
        self.assertIn("PARTITION", self.stack.sgprs("partitions").stdout)

    def test_policy_is_swapped_and_back(self):
        known = {row["name"] for row in self.stack.json("policy")["policies"]}
        self.assertLessEqual({"sgprs", "naive", "fifo", "edf", "static"}, known)
        try:
            self.assertRegex(self.stack.sgprs("policy", "edf").stdout, r"^policy is now edf \(was sgprs\).*\n$")
            self.assertRegex(self.stack.sgprs("policy", "edf", "--overload", "late").stdout,
                             r"^policy is edf already, overload is late already.*\n$")
            self.assertEqual(self.stack.json("policy")["policy"], "edf")
            wait_until(lambda: self.stack.json("status")["policy"] == "edf", what="status follows")
        finally:
            self.stack.sgprs("policy", "sgprs")

    def test_a_policy_that_is_none(self):
        done = self.stack.sgprs("policy", "egprs", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("egprs", done.stderr)

    def test_watch_prints_a_line_each_time_until_nobody_reads(self):
        watch = subprocess.Popen([program("sgprs"), "tasks", "--json", "--watch", "--window", "50ms"],
                                 env=self.stack.env, stdout=subprocess.PIPE, text=True)
        try:
            for _ in range(3):
                self.assertEqual(json.loads(watch.stdout.readline())["version"], 1)
        finally:
            watch.stdout.close()
            watch.wait(30)

    def test_watch_ends_when_its_output_is_not_taken(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([program("sgprs"), "tasks", "--watch"], env=self.stack.env, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (1, "sgprs: standard output: No space left on device\n"))

    def test_doctor(self):
        done = self.stack.sgprs("doctor", "--json")
        found = {row["check"]: row["result"] for row in json.loads(done.stdout)["checks"]}
        for check in ("shim", "sgprsd", "simgpu", "daemon", "simulated device"):
            self.assertEqual(found[check], "ok", done.stdout)


if __name__ == "__main__":
    unittest.main()
