#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is computed on the simulated device is what the CPU computes, for small shapes (values.py)."""
import json
import unittest

import programs


class Values(unittest.TestCase):
    def test_small_networks_give_the_cpu_s_numbers(self):
        with programs.new_stack(daemon=False) as stack:
            done = stack.run(*programs.command("values"), shim=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            for name, error in json.loads(done.stdout).items():
                with self.subTest(name):
                    self.assertLess(error, 1e-4)

    def test_the_device_says_that_it_is_simulated(self):
        text = "import torch; print(torch.cuda.is_available(), torch.cuda.get_device_name(0))"
        with programs.new_stack(daemon=False) as stack:
            done = stack.run(programs.PYTHON, "-c", text, shim=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"^True simulated ")

    def test_no_device_is_said_as_on_a_machine_without_one(self):
        text = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"
        with programs.new_stack(daemon=False) as stack:
            done = stack.run(programs.PYTHON, "-W", "ignore", "-c", text, shim=False,
                             env={"SGPRS_SIMGPU_SOCKET": "/nonexistent/socket"})
            self.assertEqual((done.returncode, done.stdout), (0, "False 0\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
