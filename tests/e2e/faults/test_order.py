# SPDX-License-Identifier: Apache-2.0
"""Order, answers, errors and lifetimes under the shim: as bare, whatever is held."""
import os
import subprocess
import unittest

from probe_case import PROBE, ProbeCase, probe_stack, random_granter


class Order(ProbeCase):
    """What waits for what, and what the host may know when."""

    def test_b22_crossed_event_waits(self):
        task = self.everywhere("crossed", "200")
        self.assertEqual(task["counters"]["bypassed"], 0)

    def test_b22_crossed_event_waits_under_tight_deadlines(self):
        # Beside two tasks that take the partitions away all the time; no stall in 1000 rounds.
        with probe_stack(policy="sgprs", partitions=3, env={"SGPRS_FORCE_SWITCH": "1"}) as stack:
            others = [stack.start(PROBE, "replay", "6", "100000", "30", "100", "500", period_ns=2_000_000, cls="high",
                                  name=f"other{i}") for i in range(2)]
            done = stack.run(PROBE, "crossed", "1000", period_ns=1_000_000, name="probe", timeout=100)
            self.ran(done)
            task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "probe")
            self.assertEqual(task["counters"]["self_granted"], 0)
            self.assertEqual(task["counters"]["bypassed"], 0)
            for other in others:
                self.assertIsNone(other.poll())

    def test_queries_and_events_recorded_again(self):
        self.everywhere("queries")

    def test_null_stream(self):
        self.everywhere("null-order")

    def test_threads(self):
        self.everywhere("threads")

    def test_signals(self):
        self.everywhere("signals")

    def test_handles_destroyed_while_held(self):
        self.everywhere("handles")

    def test_b2_errors_and_calls_before_init(self):
        self.everywhere("errors")


    def test_sticky_errors_stay_sticky(self):
        """After a kernel that faults, each call answers what it answers bare, at once."""
        with probe_stack(daemon=False, env={"SGPRS_SIMGPU_FAULT": "so_step:5:700"}) as stack:
            bare = stack.run(PROBE, "sticky", shim=False)
            self.ran(bare)
            self.assertIn("700", bare.stdout)
            random_granter(stack, "--most", "3")
            for _ in range(3):
                self.assertEqual(stack.run(PROBE, "sticky", timeout=30).stdout, bare.stdout)


class Contexts(ProbeCase):
    """One context is scheduled; others work, and their launches are counted."""

    def test_second_context(self):
        task = self.everywhere("contexts")
        self.assertEqual(task["counters"]["bypassed"], 30)

    def test_null_streams_of_two_contexts(self):
        self.everywhere("contexts-null")

    def test_b26_second_device(self):
        """B26: state is per device; the second one is not judged by the first."""
        with probe_stack(policy="sgprs", simgpu_args=("--devices", "2")) as stack:
            self.ran(stack.run(PROBE, "contexts", "1", shim=False))
            self.ran(stack.run(PROBE, "contexts", "1", name="probe"))
            task = next(t for t in stack.json("tasks")["tasks"] if t["name"] == "probe")
            self.assertEqual(task["counters"]["bypassed"], 30)

    def test_reset(self):
        self.everywhere("reset")

    def test_destroyed_with_work_queued(self):
        self.everywhere("destroy-context")


class Lifetime(ProbeCase):
    """Processes that end, fork and become others."""

    def test_exit_with_work_queued_and_threads_running(self):
        with probe_stack(daemon=False) as stack:
            self.assertEqual(stack.run(PROBE, "exit-queued", shim=False).returncode, 0)
            random_granter(stack, "--most", "2")
            for _ in range(5):
                done = stack.run(PROBE, "exit-queued", timeout=30)
                self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), done.stderr)

    def test_exec(self):
        with probe_stack(policy="sgprs") as stack:
            done = stack.run(PROBE, "exec-queued", name="probe")
            self.ran(done)
            rows = [t for t in stack.json("tasks")["tasks"] if t["name"] == "probe"]
            self.assertIn(100, [t["counters"]["kernels"] for t in rows])  # of what it became

    def test_b40_fork_before_init(self):
        """B40: parent and child register, each for itself."""
        with probe_stack(policy="sgprs") as stack:
            self.ran(stack.run(PROBE, "fork-before", name="probe"))
            rows = [t for t in stack.json("tasks")["tasks"] if t["name"].startswith("probe")]
            self.assertEqual([t["counters"]["kernels"] for t in rows], [100, 100], rows)

    def test_b40_fork_after_init(self):
        """B40: the parent is unaffected; children that do not touch CUDA make no entry."""
        with probe_stack(policy="sgprs") as stack:
            self.ran(stack.run(PROBE, "fork-after", name="probe"))
            rows = [t for t in stack.json("tasks")["tasks"] if t["name"].startswith("probe")]
            self.assertEqual([t["counters"]["kernels"] for t in rows], [250], rows)

    def test_vfork(self):
        self.everywhere("vfork")


class OtherDrivers(ProbeCase):
    """B20: drivers of other versions."""

    def test_b20_driver_without_optional_symbols(self):
        # No green contexts, no graphs to be captured into, no parameter layouts: it runs, and says so.
        hidden = "cuGreenCtxCreate:cuStreamBeginCaptureToGraph:cuFuncGetParamInfo:cuKernelGetParamInfo"
        with probe_stack(policy="sgprs") as stack:
            old = os.path.join(stack.dir, "old")
            os.mkdir(old)
            subprocess.run(["python3", os.path.join(os.path.dirname(os.path.abspath(__file__)), "hide_symbols.py"),
                            os.path.join(os.environ["SGPRS_LIB_DIR"], "simgpu", "libcuda.so.1"),
                            os.path.join(old, "libcuda.so.1"), *hidden.split(":")], check=True)
            done = stack.run(PROBE, "replay", "5", "20", name="probe",
                             env={"SGPRS_DRIVER": os.path.join(old, "libcuda.so.1")})
            self.ran(done)


if __name__ == "__main__":
    unittest.main()
