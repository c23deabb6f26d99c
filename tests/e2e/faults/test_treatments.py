# SPDX-License-Identifier: Apache-2.0
"""Each treatment of the driver's calls, bare and under every kind of runtime."""
import unittest

from probe_case import ProbeCase

# What is drained, or goes to the driver for its own answer, counts there as a launch past the lane.
SCENARIOS = {
    "callbacks": 0, "shaped": 0, "pools": 0, "cooperative": 0, "managed": 0, "registered": 0, "values": 0,
    "stream-attributes": 0, "large-arguments": 0, "per-thread": 0,
    "launches": 0,  # those that the driver refuses are none
    "shared-memory": 0, "batches": 0, "arrays": 0, "peers": 0, "value-batches": 0, "semaphores": 0,
}  # fmt: skip
TWO_DEVICES = {"simgpu_args": ("--devices", "2")}


class Treatments(ProbeCase):
    """B14: nothing that is launched goes past the lane, whatever it is launched with."""

    def check(self, scenario):
        task = self.everywhere(scenario, stack=TWO_DEVICES if scenario == "peers" else {})
        self.assertEqual(task["counters"]["bypassed"], SCENARIOS[scenario])


for name in SCENARIOS:
    setattr(Treatments, "test_b14_" + name.replace("-", "_"), lambda self, name=name: self.check(name))

if __name__ == "__main__":
    unittest.main()
