# SPDX-License-Identifier: Apache-2.0
"""Executable graphs under the shim: results, grants, partitions."""
import os
import shutil
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from probe_case import PROBE, ProbeCase, device_log, probe_stack, random_granter, wait_until  # noqa: E402

KERNELS = 12
LAUNCHES = 60


class Graphs(ProbeCase):
    """What a graph computes does not depend on who launches it, and where."""

    def test_replayed(self):
        task = self.everywhere("replay", str(KERNELS), str(LAUNCHES))
        self.assertEqual(task["counters"]["bypassed"], 0)
        # Every kernel of every launch is counted.
        self.assertEqual(task["counters"]["kernels"], KERNELS * LAUNCHES)

    def test_stages_end_at_graph_launches(self):
        """A job of twelve launches is learnt, cut into stages, and moved at each."""
        with probe_stack(policy="sgprs", partitions=3, env={"SGPRS_FORCE_SWITCH": "1"}) as stack:
            self.ran(stack.run(PROBE, "replay", "6", "480", "20", "30", "5000", "12", period_ns=20_000_000, cls="low",
                               name="probe"))
            task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "probe")
        counters = task["counters"]
        self.assertEqual(counters["kernels"], 6 * 480)
        self.assertGreater(counters["stages_completed"], 2 * counters["jobs_completed"], counters)
        self.assertGreater(counters["switches"], counters["jobs_completed"], counters)

    def test_on_two_streams_and_destroyed_while_held(self):
        self.everywhere("graph-two-streams")

    def test_changed_kernel(self):
        self.everywhere("graph-params")

    def test_updated(self):
        self.everywhere("graph-update")

    def test_copies_fills_and_host_functions(self):
        self.everywhere("graph-mixed")

    def test_child_graphs(self):
        self.everywhere("graph-mixed", "30", "1", lacking="CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")

    def test_made_by_hand(self):
        self.everywhere("graph-by-hand")


class Grants(ProbeCase):
    """B15: graphs do not escape."""

    def held(self, *scenario, kernels):
        """Nothing runs before it is granted, everything after."""
        with probe_stack(daemon=False) as stack:
            log = os.path.join(stack.dir, "shim.log")
            stack.env["SGPRS_SHIM_LOG"] = log
            random_granter(stack, "--hold-ms", "1500")
            child = stack.start(PROBE, *scenario)
            wait_until(lambda: os.path.exists(log) and "registered" in stack.log("shim.log"), what="registration")
            for _ in range(8):
                self.assertEqual(stack.device_stats()["kernels_total"], 0)
                time.sleep(0.05)
            out, err = child.communicate(timeout=60)
            self.assertEqual((child.returncode, out), (0, "ok\n"), err)
            self.assertEqual(stack.device_stats()["kernels_total"], kernels)

    def test_b15_a_graph_waits_like_eager_launches(self):
        self.held("eager", str(KERNELS), "10", kernels=KERNELS * 10)
        self.held("replay", str(KERNELS), "10", kernels=KERNELS * 10)

    def test_b15_its_kernels_run_in_the_granted_partition(self):
        # Four partitions of a quarter each, never the whole device.
        log = os.path.join(tempfile.mkdtemp(prefix="sgprs-test-"), "device.log")
        self.addCleanup(shutil.rmtree, os.path.dirname(log))
        with probe_stack(policy="sgprs", partitions=4, oversubscription="1.0",
                         simgpu_args=("--log", log)) as stack:
            # 40 blocks can fill more SMs than any partition has.
            done = stack.run(PROBE, "replay", str(KERNELS), str(LAUNCHES), "40", "272", "2000", cls="low",
                             period_ns=20_000_000, name="probe")
            self.ran(done)
            sizes = {p["sm_count"] for p in stack.json("partitions")["partitions"]}
            self.assertLess(max(sizes), 68)
            task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "probe")
            self.assertEqual(task["counters"]["bypassed"], 0)
            self.assertEqual(task["counters"]["recorded"], task["counters"]["granted"])
        kernels = [row for row in device_log(log) if row["kind"] == "kernel"]
        self.assertEqual(len(kernels), KERNELS * LAUNCHES)
        # The first launches find no copy yet: they run where the graph was captured.
        late = kernels[KERNELS * LAUNCHES // 2:]
        self.assertLessEqual({round(row["sms"]) for row in late}, sizes, late[:3])


if __name__ == "__main__":
    unittest.main()
