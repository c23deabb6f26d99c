# SPDX-License-Identifier: Apache-2.0
"""kill -9, of sgprsd and of processes: nobody else notices, nothing stays behind."""
import json
import os
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import Stack, wait_until  # noqa: E402

NET = ("resnet18", "--input", "32x32", "--period", "20ms", "--json")
PERIOD_NS = 20_000_000
KILLS = int(os.environ.get("SGPRS_TEST_KILLS", "60"))
SEED = int(os.environ.get("SGPRS_TEST_SEED", str(random.randrange(1 << 30))))


def live_tasks(stack):
    """Names of the tasks whose process is there."""
    return [t["name"] for t in stack.json("tasks")["tasks"] if t["state"] != "gone"]


class Kill(unittest.TestCase):
    """Crash behaviour of design.md 10."""

    def test_kill_of_the_daemon(self):
        with Stack(daemon=False) as stack:
            bare = stack.run(*NET, "--frames", "150", shim=False)
            expected = json.loads(bare.stdout)["checksum"]
        with Stack(policy="sgprs") as stack:
            children = [stack.start(*NET, "--frames", "150", period_ns=PERIOD_NS, name=f"net{i}") for i in range(3)]
            wait_until(lambda: len(live_tasks(stack)) == 3, what="three tasks")
            time.sleep(0.5)
            stack.daemon.kill()
            stack.daemon.wait()
            time.sleep(0.7)
            stack.start_daemon()
            # They come back by themselves.
            wait_until(lambda: len(live_tasks(stack)) == 3, what="three tasks at the new sgprsd")
            for child in children:
                out, err = child.communicate(timeout=60)
                self.assertEqual(child.returncode, 0, err)
                self.assertEqual(json.loads(out)["checksum"], expected)
                self.assertLessEqual(err.count("\n"), 1, err)

    def test_b33_stopped_daemon_does_not_stop_processes(self):
        with Stack(policy="sgprs") as stack:
            child = stack.start(*NET, "--frames", "100", period_ns=PERIOD_NS, name="net")
            wait_until(lambda: live_tasks(stack) == ["net"], what="the task")
            stack.daemon.send_signal(signal.SIGSTOP)
            try:
                out, err = child.communicate(timeout=60)
            finally:
                stack.daemon.send_signal(signal.SIGCONT)
            self.assertEqual(child.returncode, 0, err)
            self.assertEqual(json.loads(out)["frames"]["completed"], 100)

    def test_b31_kill_of_processes_at_random_points(self):
        print(f"seed {SEED}", flush=True)
        chance = random.Random(SEED)
        with Stack(policy="sgprs") as stack:
            steady = stack.start(*NET, "--seconds", "600", period_ns=PERIOD_NS, name="steady")
            wait_until(lambda: "steady" in live_tasks(stack), what="the steady task")
            fds_before = len(os.listdir(f"/proc/{stack.daemon.pid}/fd"))
            for number in range(KILLS):
                victim = stack.start(*NET, "--frames", "1000", "--warmup", "0", period_ns=PERIOD_NS, name="victim")
                time.sleep(chance.uniform(0, 0.25))
                victim.kill()
                victim.wait()
                stack.children.remove(victim)
                victim.stdout.close()
                victim.stderr.close()
                self.assertIsNone(steady.poll(), f"after kill {number}")
            wait_until(lambda: live_tasks(stack) == ["steady"], what="victims to be forgotten")
            wait_until(lambda: len(os.listdir(f"/proc/{stack.daemon.pid}/fd")) <= fds_before, what="fds")
            rows = stack.json("partitions")["partitions"]
            self.assertLessEqual(sum(p["queued"] for p in rows), 1, rows)
            self.assertLessEqual(sum(p["running"] for p in rows), 1, rows)

            def jobs():
                task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "steady")
                return task["counters"]["jobs_completed"]

            before = jobs()
            wait_until(lambda: jobs() > before + 10, what="the steady task to go on")
            steady.send_signal(signal.SIGTERM)
            _, err = steady.communicate(timeout=20)
            self.assertEqual(steady.returncode, 0, err)


if __name__ == "__main__":
    unittest.main()
