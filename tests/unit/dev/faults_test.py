# SPDX-License-Identifier: Apache-2.0
"""Every known fault of comparable systems (tests/README.md) has a test that carries its number."""
import os
import re
import subprocess
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
# "Getting in", "Scheduling correctness" and "Shared state" of the list of faults; its gaps are its own.
FAULTS = [1, 2, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 18, 20, 21, 22, 23, 24, 25, 26, 27, 29, 30,
          31, 32, 33, 35, 37, 38, 39, 40, 42, 43, 44, 46]  # fmt: skip
NO_VERDICT = {27}  # a benchmark; numbers are never one
NAME = re.compile(r"\bdef test_((?:b\d+_)+)|test_(b\d+)_\" \+|\bTEST(?:_F|_P)?\(\w+, (B\d+)")


def numbers_in_names():
    """The numbers that names of tests carry."""
    files = subprocess.run(["grep", "-rlE", r"test_b[0-9]+_|TEST(_F|_P)?\(\w+, B[0-9]", "tests", "--include=*.py",
                            "--include=*.cc"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = set()
    for file in files:
        with open(os.path.join(ROOT, file), encoding="utf-8") as text:
            for names in NAME.findall(text.read()):
                found.update(int(number) for number in re.findall(r"[bB](\d+)", " ".join(names)))
    return found


class Faults(unittest.TestCase):
    def test_each_is_in_the_table(self):
        with open(os.path.join(ROOT, "tests", "README.md"), encoding="utf-8") as file:
            rows = [line.split("|")[1] for line in file if line.startswith("| B")]
        listed = [int(number) for row in rows for number in re.findall(r"\bB(\d+)", row)]
        self.assertEqual(sorted(listed), FAULTS)

    def test_each_is_in_the_name_of_a_test(self):
        self.assertEqual(set(FAULTS) - numbers_in_names() - NO_VERDICT, set())

    def test_the_benchmarks_are_there(self):
        for name in ("bench_record.py", "bench_flood.py"):
            self.assertTrue(os.path.exists(os.path.join(ROOT, "tests", "bench", name)))


if __name__ == "__main__":
    unittest.main()
