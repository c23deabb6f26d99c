# SPDX-License-Identifier: Apache-2.0
"""Capture in all three modes while other streams are busy and held."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from probe_case import ProbeCase  # noqa: E402

GLOBAL, THREAD_LOCAL, RELAXED = "0", "1", "2"


class Capture(ProbeCase):
    """B5: a capture stays valid, its graph right, whatever is held of other streams."""

    def test_b5_global(self):
        task = self.everywhere("capture", GLOBAL)
        # Nothing of the busy stream went past meanwhile.
        self.assertEqual(task["counters"]["bypassed"], 0)

    def test_b5_thread_local(self):
        self.everywhere("capture", THREAD_LOCAL)

    def test_b5_relaxed(self):
        self.everywhere("capture", RELAXED)

    def test_what_a_capture_refuses(self):
        self.everywhere("capture-refused")


if __name__ == "__main__":
    unittest.main()
