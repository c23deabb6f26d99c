# SPDX-License-Identifier: Apache-2.0
"""Nonsense in sgprsd's configuration: one line, FILE:LINE: what, exit code 2."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import program  # noqa: E402

# text, line of the error, what the message names
WRONG = [
    ("policy = \n", 1, ""),
    ("policy = 'sgprs\n", 1, ""),
    ("\n\n[pool\n", 3, ""),
    ("= 5\n", 1, ""),
    ("policy = 'sgprs'\npolicy = 'fifo'\n", 2, "policy"),
    ("[pool]\n[pool]\n", 2, "pool"),
    ("nonsense = 1\n", 1, '"nonsense"'),
    ("[nonsense]\nkey = 1\n", 1, "nonsense"),
    ("[pool]\ncolour = 'red'\n", 2, '"pool.colour"'),
    ("pool = 5\n", 1, "pool is a section"),
    ("policy = 5\n", 1, "policy = 5"),
    ("policy = 'nonsense'\n", 1, "must be one of sgprs"),
    ("log = 'loud'\n", 1, "must be one of trace"),
    ("[pool]\npartitions = 0\n", 2, "partitions"),
    ("[pool]\npartitions = 33\n", 2, "partitions"),
    ("[pool]\npartitions = 1.5\n", 2, "partitions"),
    ("[pool]\npartitions = []\n", 2, "partitions"),
    ("[pool]\npartitions = [30, 'x']\n", 2, "partitions"),
    ("[pool]\npartitions = [-1]\n", 2, "partitions"),
    ("[pool]\noversubscription = nan\n", 2, "oversubscription"),
    ("[pool]\noversubscription = '2'\n", 2, "oversubscription"),
    ("[policy_options]\ncapacity = 'many'\n", 2, "capacity"),
    ("[pool]\nbackend = 'cuda'\n", 2, "backend"),
    ("\n[stages]\ncount = 99999999999999999999\n", 3, ""),
    ("[stages]\ncount = 33\n", 2, "count"),
    ("[policy_options]\ndeadline_margin = 0.0\n", 2, "margin"),
    ("overload = 'drop'\n", 1, "must be one of late, hold"),
    ("[stages]\nforce_switch = 1\n", 2, "force_switch"),
    ("[stages]\nleast = 5\n", 2, "in quotes"),
    ("[limits]\nmax_wait = '5'\n", 2, "has no unit"),
    ("[limits]\nmax_wait = '5 parsecs'\n", 2, "unknown unit"),
    ("[limits]\nmax_wait = '-1s'\n", 2, "not a duration"),
    ("[limits]\nmax_clients = 0\n", 2, "max_clients"),
    ("[limits]\nmax_clients = true\n", 2, "max_clients"),
    ("[trace]\nfile = 5\n", 2, "in quotes"),
    ("\n\n\n\0", 4, ""),
    ("policy = \"\\q\"\n", 1, ""),
    ("x = " + "[" * 3000 + "\n", 1, ""),
]


class Config(unittest.TestCase):
    """sgprsd --config FILE --check."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="sgprs-test-")
        self.addCleanup(self.directory.cleanup)
        self.path = os.path.join(self.directory.name, "sgprsd.toml")

    def run_check(self, *args, path=None):
        """sgprsd's end."""
        return subprocess.run([program("sgprsd"), "--config", path or self.path, *args, "--check"], capture_output=True,
                              text=True, errors="replace", timeout=60, check=False)

    def write(self, data):
        """Writes the file."""
        with open(self.path, "wb") as file:
            file.write(data)

    def assert_line(self, done, part):
        """One line on stderr, exit code 2."""
        self.assertEqual((done.returncode, done.stdout), (2, ""), done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertLess(len(done.stderr), 500)
        self.assertIn(part, done.stderr)

    def test_each_kind_of_error(self):
        for text, line, part in WRONG:
            with self.subTest(text=text[:60]):
                self.write(text.encode())
                done = self.run_check()
                self.assert_line(done, f"sgprsd: {self.path}:{line}: ")
                self.assertIn(part, done.stderr)

    def test_bytes_that_are_no_text(self):
        for data in (b"\xff\xfe\x00", b"policy = '\x80'\n", os.urandom(2000), b"\0" * 100):
            self.write(data)
            self.assert_line(self.run_check(), f"sgprsd: {self.path}:")

    def test_no_file(self):
        self.assert_line(self.run_check(path=self.path + ".missing"), "No such file")
        self.assert_line(self.run_check(path=self.directory.name), "Is a directory")
        self.assert_line(self.run_check(path="/dev/zero"), "too large")

    def test_a_file_that_may_not_be_read(self):
        self.write(b"policy = 'sgprs'\n")
        os.chmod(self.path, 0)
        os.chmod(self.directory.name, 0o755)
        done = subprocess.run([program("sgprsd"), "--config", self.path, "--check"], capture_output=True, text=True,
                              timeout=60, check=False, user=None if os.geteuid() else 65534)
        self.assert_line(done, "Permission denied")

    def test_a_pool_that_does_not_fit(self):
        self.write(b"[pool]\npartitions = [30, 500]\n")
        done = self.run_check("--device", "rtx2080ti")
        self.assert_line(done, "500 SMs")

    def test_what_is_right_is_taken(self):
        self.write(subprocess.run([program("sgprsd"), "--help-config"], capture_output=True, timeout=60,
                                  check=True).stdout)
        done = self.run_check()
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
