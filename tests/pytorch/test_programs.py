#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch programs, bare on the simulated device and under sgprs: the same exit code, the same output, the same number
of kernels on the device; nothing recorded that was not completed."""
import json
import os
import signal
import time
import unittest

import programs

PERIOD_NS = 50_000_000


class Programs(unittest.TestCase):
    """One private stack a program; the bare run first."""

    def both(self, name, *arguments, clients=1, same_output=True):
        """Runs it both ways; returns the parsed outputs (or texts)."""
        with programs.new_stack(policy="sgprs") as stack:
            kernels, done = [], []
            for shim in (False, True):
                before = stack.device_stats()["kernels_total"]
                how = {"period_ns": PERIOD_NS, "name": "net"} if shim else {}
                done.append(stack.run(*programs.command(name, *arguments), shim=shim, timeout=300, **how))
                kernels.append(stack.device_stats()["kernels_total"] - before)
            bare, wrapped = done
            self.assertEqual(bare.returncode, wrapped.returncode, bare.stderr + wrapped.stderr)
            self.assertEqual(kernels[0], kernels[1])
            self.assertGreater(kernels[0], 0)
            if same_output:
                self.assertEqual(bare.stdout, wrapped.stdout)
            self.assertEqual(stack.json("status")["clients"]["total"], clients)
            self.check_counters(stack)
            return bare, wrapped

    def check_counters(self, stack):
        """What was recorded was granted, issued and is complete; nothing went past."""
        for task in stack.json("tasks")["tasks"]:
            counters = task["counters"]
            moments = {counters[name] for name in ("recorded", "granted", "issued", "completed")}
            self.assertEqual(len(moments), 1, counters)
            self.assertEqual((counters["bypassed"], counters["self_granted"]), (0, 0), counters)

    def json_of(self, done):
        """What a program that ended well printed."""
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_b18_resnet18(self):
        """The math libraries' handles are made under the shim."""
        for mode in ([], ["--graph"]):
            with self.subTest(mode=mode):
                bare, wrapped = self.both("resnet18", "--frames", "10", "--size", "64", *mode, same_output=False)
                for done in (bare, wrapped):
                    result = self.json_of(done)
                    self.assertEqual((result["frames"], result["shape"]), (10, [1, 1000]))

    def test_detector(self):
        bare, _ = self.both("detector")
        self.assertEqual(self.json_of(bare), {"frames": 20, "shapes": [[4, 1]]})

    def test_streams(self):
        bare, _ = self.both("streams")
        self.assertEqual(self.json_of(bare), {"shape": [256, 256], "same": True, "took_time": True, "ready": True})

    def test_loader(self):
        """Worker processes are no clients."""
        bare, _ = self.both("loader")
        self.assertEqual(self.json_of(bare), {"batches": 8, "labels": 276, "shape": [8, 10]})

    def test_graphs(self):
        bare, _ = self.both("graphs")
        self.assertEqual(self.json_of(bare), {"shape": [8, 8], "grad": [64, 64]})

    def test_borders_of_programs_that_only_launch_graphs(self):
        """A job is a frame, with and without a synchronisation in it, with and without a period, whatever releases it."""
        for how, period_ns, release in (("sync", PERIOD_NS, None), ("sleep", PERIOD_NS, None), ("sleep", None, None),
                                        ("sleep", PERIOD_NS, "timer"), ("input", PERIOD_NS, None),
                                        ("two", PERIOD_NS, None), ("two", None, None), ("poll", PERIOD_NS, None)):
            with self.subTest(how=how, period_ns=period_ns, release=release), programs.new_stack(policy="sgprs") as stack:
                env = {"SGPRS_RELEASE": release} if release else {}
                done = stack.run(*programs.command("graph_loops", how, "--fps", "20"), name="net", period_ns=period_ns,
                                 cls=None if period_ns else "best-effort", env=env)
                self.assertEqual(self.json_of(done), {"frames": 40})
                self.check_counters(stack)
                task = stack.json("tasks")["tasks"][0]
                # The first frames of one that never synchronises are one job: it has to be known for what it is.
                self.assertIn(task["counters"]["jobs_completed"], range(25, 43), task)
                self.assertEqual(task["job_launches"], {"sync": 1, "sleep": 1, "input": 2, "two": 2, "poll": 2}[how])

    def test_ranges(self):
        bare, _ = self.both("ranges")
        self.assertEqual(self.json_of(bare), {"shape": [4, 64]})

    def test_ranges_are_jobs(self):
        """`--job nvtx:NAME`: a job each range of that name, and one of what was before the first; no other range, no mark."""
        with programs.new_stack(policy="sgprs") as stack:
            for rule, jobs in (("nvtx:frame", 1 + 20), ("nvtx:network 3", 1 + 1), ("nvtx:copied", 1)):
                with self.subTest(rule=rule):
                    name = rule.replace(":", "-").replace(" ", "-")
                    done = stack.sgprs("run", "--simulate", "--name", name, "--period", f"{PERIOD_NS}ns", "--job", rule, "--",
                                       *programs.command("ranges"), timeout=300, check=False)
                    self.assertEqual(self.json_of(done), {"shape": [4, 64]})
                    task = next(task for task in stack.json("tasks")["tasks"] if task["name"] == name)
                    counters = task["counters"]
                    self.assertEqual((counters["jobs_released"], counters["jobs_completed"]), (jobs, jobs), task)
                    if rule == "nvtx:frame":  # one kernel made the input, the network's are the signature
                        self.assertEqual(counters["recorded"], 1 + 20 * task["job_launches"], task)
            self.check_counters(stack)

    def test_training(self):
        bare, _ = self.both("train")
        self.assertEqual(self.json_of(bare), {"steps": 6, "grads": 62, "peak": True})

    def test_spawn_and_fork(self):
        bare, _ = self.both("spawned", clients=3)
        self.assertEqual(self.json_of(bare), {"answers": [[0, [64, 64]], [1, [64, 64]]], "codes": [0, 0], "forked": 7})

    def test_compile(self):
        with programs.new_stack(daemon=False) as stack:
            done = stack.run(*programs.command("compiled"), shim=False)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.json_of(done)


class Ends(unittest.TestCase):
    """Programs that end with work in flight."""

    def ends(self, how, code):
        """Both ways, with this exit code; the stack is usable afterwards."""
        with programs.new_stack(policy="sgprs") as stack:
            for shim in (False, True):
                done = stack.run(*programs.command("ends", how), shim=shim, name="net" if shim else None)
                self.assertEqual((done.returncode, done.stdout), (code, "running\n"), done.stderr)
            self.assertEqual(stack.device_stats()["clients_alive"], 0)
            self.assertEqual(stack.json("status")["clients"]["now"], 0)

    def test_exit(self):
        self.ends("exit", 3)

    def test_hard_exit(self):
        self.ends("hard", 4)

    def test_exception(self):
        self.ends("error", 1)

    def test_keyboard_interrupt(self):
        # A shell's background jobs ignore SIGINT, and what they start inherits it.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        with programs.new_stack(policy="sgprs") as stack:
            for shim in (False, True):
                child = stack.start(*programs.command("ends", "interrupt"), shim=shim, name="net" if shim else None)
                self.assertEqual(child.stdout.readline(), "running\n")
                time.sleep(0.3)  # into the loop; before it, Ctrl-C must end it just as well
                os.kill(child.pid, signal.SIGINT)
                _, errors = child.communicate(timeout=60)
                self.assertEqual(child.returncode, -signal.SIGINT, errors)
                self.assertIn("KeyboardInterrupt", errors)


if __name__ == "__main__":
    unittest.main()
