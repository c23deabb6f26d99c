#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every symbol of CUDA's headers has a row, and every row is true.

coverage_test.py GEN_CALLS CUDA_INCLUDE SHIM
"""
import re
import subprocess
import sys
import tempfile
import unittest

GEN_CALLS, CUDA_INCLUDE, SHIM = sys.argv[1:4]
COMMAND = [sys.executable, GEN_CALLS, "--cuda-include", CUDA_INCLUDE]
# What takes a stream and is forwarded all the same: it looks at a stream, or is told to it at once.
LOOKS = {"state of a stream", "memory in stream order", "graphs that run"}


def table():
    """{symbol: (base, treatment, how, family)}"""
    text = subprocess.run([*COMMAND, "--table"], capture_output=True, text=True, check=True)
    rows = (line.split(None, 4) for line in text.stdout.splitlines())
    return {row[0]: tuple(row[1:]) for row in rows}, text.stderr


class Coverage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows, cls.warnings = table()
        names = subprocess.run(["nm", SHIM], capture_output=True, text=True, check=True).stdout
        cls.hooks = set(re.findall(r" [tT] Hook_(\w+)$", names, re.M))

    def test_no_symbol_without_a_row(self):
        self.assertGreaterEqual(len(self.rows), 637)
        self.assertEqual([s for s, row in self.rows.items() if row[2] in ("default", "stream")], [])

    def test_no_row_without_a_symbol(self):
        self.assertEqual(self.warnings, "")

    def test_a_row_of_its_own_has_a_hook_and_only_that(self):
        own = {s for s, row in self.rows.items() if row[2] == "row"}
        self.assertEqual(own ^ self.hooks, set())

    def test_what_takes_a_stream_is_not_let_past(self):
        sys.path.insert(0, GEN_CALLS.rpartition("/")[0])
        import gen_calls  # pylint: disable=import-outside-toplevel,import-error

        protos = gen_calls.prototypes("cc", CUDA_INCLUDE)
        past = [s for s, row in self.rows.items()
                if re.search(r"\bCUstream\s+\w+", protos.get(s, "")) and
                row[1] in ("FORWARD", "CREATE", "START") and row[3] not in LOOKS]  # fmt: skip
        self.assertEqual(past, [])

    def test_b10_exports_of_another_driver_are_compared(self):
        """B10: what a driver exports and the shim has not is named."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("0000000000011230 T cuLaunchKernel\n00 T cuLaunchHostFunc_v2@@libcuda\ncudbgMain\n")
            file.flush()
            done = subprocess.run([*COMMAND, "--exports", file.name], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout.split()), (1, ["cuLaunchHostFunc_v2"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
