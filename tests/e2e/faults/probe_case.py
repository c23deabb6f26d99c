# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios of driver_probe, bare and under the shim."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from stack import Stack, wait_until  # noqa: E402

TESTS = os.environ.get("SGPRS_TEST_BIN_DIR", os.path.join(os.getcwd(), "build", "tests", "bin"))
PROBE = os.path.join(TESTS, "driver_probe")
KERNELS = os.path.join(TESTS, "libshim_order_kernels.so")
GRANTER = os.path.join(TESTS, "random_granter")


def probe_stack(**how):
    """A private stack whose device knows the probe's kernel."""
    env = {"SGPRS_SIMGPU_KERNELS": KERNELS, **how.pop("env", {})}
    return Stack(env=env, **how)


def random_granter(stack, *arguments):
    """Puts random_granter in sgprsd's place."""
    granter = subprocess.Popen([GRANTER, "--socket", stack.socket, *arguments])
    stack.children.append(granter)
    wait_until(lambda: os.path.exists(stack.socket), what="random_granter")


def device_log(path):
    """What ran on the device."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


class ProbeCase(unittest.TestCase):
    """Helpers for tests of scenarios."""

    def ran(self, done, silent=True):
        """The program ended well, and said nothing but "ok"."""
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "ok")
        if silent:
            self.assertEqual(done.stderr, "")

    def everywhere(self, *scenario, seeds=3, lacking="CUDA_ERROR_NOT_SUPPORTED", stack=None):
        """Bare, under the shim alone, under sgprsd, under a granter without sense. Skipped if the stand-in
        driver answers `lacking` to a bare program. `stack`: how the stacks are made."""
        how = stack or {}
        with probe_stack(daemon=False, **how) as stack:
            bare = stack.run(PROBE, *scenario, shim=False)
            if lacking in bare.stderr:
                self.skipTest(f"the stand-in driver can not do this yet: {bare.stderr.strip()}")
            self.ran(bare)
            self.ran(stack.run(PROBE, *scenario), silent=False)
            random_granter(stack, "--seed", "1", "--most", "3")
            stack.env["SGPRS_SHIM_LOG"] = os.path.join(stack.dir, "shim.log")
            for _ in range(seeds):
                self.ran(stack.run(PROBE, *scenario))
            # Nothing stalled until the shim gave up waiting for the runtime.
            self.assertNotIn("no grant for", stack.log("shim.log"))
            # Every order was made by events, none by waiting in the host.
            self.assertNotIn("no event for", stack.log("shim.log"))
        with probe_stack(policy="sgprs", **how) as stack:
            self.ran(stack.run(PROBE, *scenario, name="probe"))
            return next(t for t in stack.json("tasks")["tasks"] if t["name"] == "probe")
