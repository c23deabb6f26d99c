# SPDX-License-Identifier: Apache-2.0
"""Processes that share the device, the runtime, the shim's file: each on its own feet."""
import os
import shutil
import signal
import tempfile
import time
import unittest

from probe_case import PROBE, ProbeCase, device_log, probe_stack, wait_until
from stack import SHIM


class Shared(ProbeCase):
    """facts/faults.md, "Scheduling correctness" and "Shared state"."""

    def test_b23_two_processes_in_one_collective(self):
        """Each needs the other's round; a third one takes the device whenever it can."""
        with probe_stack(policy="sgprs", partitions=2) as stack:
            hog = stack.start(PROBE, "replay", "10", "100000", "200", "200", "0", cls="high", period_ns=5_000_000,
                              name="hog")
            wait_until(lambda: any(t["name"] == "hog" for t in stack.json("tasks")["tasks"]), what="the hog")
            file = os.path.join(stack.dir, "turns")
            pair = [stack.start(PROBE, "collective", file, str(i), "150", cls="low", period_ns=10_000_000, name=f"pair{i}")
                    for i in range(2)]
            for child in pair:
                out, err = child.communicate(timeout=60)
                self.assertEqual((child.returncode, out), (0, "ok\n"), err)
            self.assertIsNone(hog.poll())

    def logged_device(self, run, **how):
        """What ran on the device, by pid, while `run(stack)` went on; and what that returned."""
        log = os.path.join(tempfile.mkdtemp(prefix="sgprs-test-"), "device.log")
        self.addCleanup(shutil.rmtree, os.path.dirname(log))
        with probe_stack(simgpu_args=("--log", log), **how) as stack:
            result = run(stack)
        kernels = {}
        for row in device_log(log):
            if row["kind"] == "kernel":
                kernels.setdefault(row["pid"], []).append(row)
        return kernels, result

    def test_b25_shares_are_those_of_the_partitions(self):
        """Two that always have work, each in a half of the device: each has half of what is done, second by second."""
        def run(stack):
            children = [stack.start(PROBE, "replay", "4", "100000", "60000", "272", "0", "8", name=f"half{i}")
                        for i in range(2)]  # fmt: skip
            wait_until(lambda: len(stack.json("tasks")["tasks"]) == 2, what="both")
            time.sleep(4)
            for child in children:
                self.assertIsNone(child.poll())
            return [child.pid for child in children]

        kernels, pids = self.logged_device(run, policy="static", partitions=2, oversubscription="1.0")
        start = max(kernels[pid][0]["start_ns"] for pid in pids) + 500_000_000
        for window in range(start, start + 3_000_000_000, 1_000_000_000):
            work = [sum(row["sms"] * (row["end_ns"] - row["start_ns"]) for row in kernels[pid]
                        if window <= row["start_ns"] < window + 1_000_000_000) for pid in pids]  # fmt: skip
            self.assertGreater(min(work), 0)
            self.assertLess(abs(work[0] / sum(work) - 0.5), 0.1, work)

    def test_b29_unknown_shapes_are_learnt_and_never_stall(self):
        task = self.everywhere("shapes")
        counters = task["counters"]
        self.assertEqual(counters["recorded"], counters["completed"])
        self.assertEqual((counters["self_granted"], counters["bypassed"]), (0, 0))

    def test_b30_one_long_kernel_keeps_to_its_partition(self):
        """It can not be stopped; what is urgent runs beside it."""
        def run(stack):
            long = stack.start(PROBE, "replay", "1", "100000", "1500000", "4000", "0", name="long", cls="low")
            wait_until(lambda: any(t["name"] == "long" for t in stack.json("tasks")["tasks"]), what="the long one")
            time.sleep(1)
            urgent = stack.start(PROBE, "replay", "4", "100", "5", "30", "1000", name="urgent", cls="high",
                                 period_ns=20_000_000)
            out, err = urgent.communicate(timeout=100)
            self.assertEqual((urgent.returncode, out), (0, "ok\n"), err)
            sizes = {p["sm_count"] for p in stack.json("partitions")["partitions"]}
            time.sleep(1)
            return long.pid, urgent.pid, sizes

        kernels, (long, urgent, sizes) = self.logged_device(run, policy="sgprs", partitions=2, oversubscription="1.0")
        late = kernels[long][2:]  # the first finds no copy of the graph in the partition yet
        self.assertTrue(all(row["sms"] <= max(sizes) + 0.5 for row in late), late[:3])
        beside = [row for row in kernels[urgent]
                  if any(x["start_ns"] < row["start_ns"] and row["end_ns"] < x["end_ns"] for x in kernels[long])]
        self.assertGreater(len(beside), len(kernels[urgent]) // 2)

    def test_b37_fresh_state_after_a_kill(self):
        with probe_stack(policy="sgprs", partitions=2) as stack:
            self.ran(stack.run(PROBE, "eager", "5", "5"))
            self.assertEqual(len(stack.json("partitions")["partitions"]), 2)
            stack.daemon.kill()
            stack.daemon.wait()
            stack.sgprsd_args = ["--policy", "sgprs", "--partitions", "3"]
            stack.start_daemon()
            self.ran(stack.run(PROBE, "eager", "5", "5", name="second"))
            self.assertEqual(len(stack.json("partitions")["partitions"]), 3)
            self.assertEqual([t["name"] for t in stack.json("tasks")["tasks"]], ["second"])

    def test_b39_upgrade_by_rename_under_a_live_process(self):
        with probe_stack(policy="sgprs") as stack:
            mine = os.path.join(stack.dir, "libsgprs-shim.so")
            shutil.copy(SHIM, mine)
            child = stack.start(PROBE, "replay", "4", "400", "5", "1", "3000", env={"LD_PRELOAD": mine}, name="live")
            wait_until(lambda: any(t["name"] == "live" for t in stack.json("tasks")["tasks"]), what="the process")
            shutil.copy(SHIM, mine + ".new")
            os.rename(mine + ".new", mine)
            stack.daemon.send_signal(signal.SIGTERM)
            stack.daemon.wait()
            stack.start_daemon()
            self.ran(stack.run(PROBE, "eager", "5", "5", env={"LD_PRELOAD": mine}, name="after"))
            out, err = child.communicate(timeout=60)
            self.assertEqual((child.returncode, out), (0, "ok\n"), err)

    def test_b42_devices_go_by_uuid(self):
        """The second device, seen as number 0, is not taken for the first."""
        with probe_stack(policy="sgprs", simgpu_args=("--devices", "2")) as stack:
            log = os.path.join(stack.dir, "shim.log")
            done = stack.run(PROBE, "eager", "5", "5", name="one", env={"CUDA_VISIBLE_DEVICES": "1"})
            self.ran(done)
            other = stack.run(PROBE, "eager", "5", "5", name="zero", env={"CUDA_VISIBLE_DEVICES": "0",
                                                                           "SGPRS_SHIM_LOG": log})
            # sgprsd schedules one device; a process on the other is told so, and runs as without us.
            self.ran(other, silent=False)
            names = [t["name"] for t in stack.json("tasks")["tasks"]]
            if other.stderr:
                self.assertIn("device", other.stderr)
                self.assertEqual(names, ["one"])
            else:
                self.assertEqual(sorted(names), ["one", "zero"])

    def test_b43_nothing_in_dev_shm(self):
        before = set(os.listdir("/dev/shm"))
        with probe_stack(policy="sgprs") as stack:
            child = stack.start(PROBE, "replay", "4", "400", "5", "1", "3000", name="live")
            wait_until(lambda: any(t["name"] == "live" for t in stack.json("tasks")["tasks"]), what="the process")
            with open(f"/proc/{child.pid}/maps", encoding="utf-8") as maps:
                self.assertIn("/memfd:", maps.read())
            mine = [n for n in set(os.listdir("/dev/shm")) - before if "sgprs" in n]
            self.assertEqual(mine, [])

    def test_b46_memory_looks_as_it_is(self):
        """Kinds of memory, sizes and the error of too large an allocation are the driver's."""
        with probe_stack(policy="sgprs") as stack:
            bare = stack.run(PROBE, "memory-view", shim=False)
            shim = stack.run(PROBE, "memory-view")
            self.ran(bare)
            self.ran(shim)
            self.assertEqual(shim.stdout, bare.stdout)


if __name__ == "__main__":
    unittest.main()
