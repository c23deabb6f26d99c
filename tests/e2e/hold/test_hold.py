# SPDX-License-Identifier: Apache-2.0
"""--overload hold: processes that know nothing of it wait for their next release, and all else stays true."""
import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import Stack, wait_until  # noqa: E402

LOW_PERIOD_NS = 4_000_000
HIGH_PERIOD_NS = 100_000_000
LOW = ("resnet18", "--period", "4ms", "--seconds", "600")
HIGH = ("resnet18", "--period", "100ms", "--seconds", "600")


def tasks(stack):
    """Rows by name."""
    return {t["name"]: t for t in stack.json("tasks")["tasks"]}


class Hold(unittest.TestCase):
    """Four times more work than the device can do."""

    def start(self, stack, lows=8):
        """One high-class task that needs little, and far too many low ones; all learnt."""
        stack.start(*HIGH, period_ns=HIGH_PERIOD_NS, name="high", cls="high")
        for i in range(lows):
            stack.start(*LOW, period_ns=LOW_PERIOD_NS, name=f"low{i}")
        wait_until(lambda: sum(t["state"] == "scheduled" for t in tasks(stack).values()) == lows + 1, 60,
                   what="tasks to be learnt")

    def test_low_class_is_held_and_high_is_not(self):
        with Stack(policy="sgprs", overload="hold") as stack:
            self.start(stack)
            before = tasks(stack)
            wait_until(lambda: all(t["counters"]["jobs_completed"] >= before[n]["counters"]["jobs_completed"] + 20
                                   for n, t in tasks(stack).items()), 60, what="everybody to get on")
            rows = tasks(stack)
            self.assertEqual(rows["high"]["jobs_held"], 0)
            for name, row in rows.items():
                counters = row["counters"]
                self.assertEqual(counters["self_granted"], 0, name)
                self.assertEqual(counters["bypassed"], 0, name)
                self.assertGreaterEqual(counters["jobs_skipped"], row["jobs_held"], name)
                if name != "high":
                    self.assertGreater(row["jobs_held"], 0, name)
            self.assertEqual(stack.json("status")["overload"], "hold")

    def test_results_are_those_of_a_bare_run(self):
        frames = ("--frames", "40", "--json")
        with Stack(daemon=False) as stack:
            bare = json.loads(stack.run(*LOW[:3], *frames, shim=False).stdout)
        with Stack(policy="sgprs", overload="hold") as stack:
            children = [stack.start(*LOW[:3], *frames, period_ns=LOW_PERIOD_NS, name=f"low{i}") for i in range(6)]
            for child in children:
                out, err = child.communicate(timeout=120)
                self.assertEqual((child.returncode, err), (0, ""))
                self.assertEqual(json.loads(out)["checksum"], bare["checksum"])

    def test_swapped_while_jobs_are_held(self):
        with Stack(policy="sgprs", overload="hold") as stack:
            self.start(stack, lows=6)
            for mode in ("late", "hold", "late"):
                answer = json.loads(stack.sgprs("policy", "--overload", mode, "--json").stdout)
                self.assertEqual(answer["overload"], mode)
                time.sleep(0.3)
            held = {n: t["jobs_held"] for n, t in tasks(stack).items()}
            before = tasks(stack)
            wait_until(lambda: all(t["counters"]["jobs_completed"] >= before[n]["counters"]["jobs_completed"] + 5
                                   for n, t in tasks(stack).items()), 60, what="everybody to get on")
            self.assertEqual({n: t["jobs_held"] for n, t in tasks(stack).items()}, held)
            wrong = stack.sgprs("policy", "--overload", "drop", check=False)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn("late, hold", wrong.stderr)

    def test_policy_that_wants_another_pool_says_so(self):
        with Stack(policy="sgprs") as stack:
            done = stack.sgprs("policy", "naive")
            self.assertEqual((done.stdout, done.stderr), ("policy is now naive (was sgprs)\n", ""))
            child = stack.start(*HIGH, period_ns=HIGH_PERIOD_NS, name="net")
            wait_until(lambda: "net" in tasks(stack), what="the task")
            sizes = [p["sm_count"] for p in stack.json("partitions")["partitions"]]
            self.assertEqual(sizes, [68, 68, 68])
            done = stack.sgprs("policy", "sgprs")
            self.assertRegex(done.stdout, r"^policy is now sgprs \(was naive\); the pool stays.*\n$")
            self.assertEqual(done.stderr, "")
            child.kill()
            child.wait()
            wait_until(lambda: stack.json("status")["clients"]["now"] == 0, what="the task to be gone")
            child = stack.start(*HIGH, period_ns=HIGH_PERIOD_NS, name="next")
            wait_until(lambda: "next" in tasks(stack), what="the next task")
            sizes = [p["sm_count"] for p in stack.json("partitions")["partitions"]]
            self.assertEqual(sizes, [34, 34, 34])
            child.kill()
            child.wait()
            wait_until(lambda: stack.json("status")["clients"]["now"] == 0, what="the task to be gone")
            self.assertIn("anew", stack.sgprs("policy", "edf").stdout)


if __name__ == "__main__":
    unittest.main()
