# SPDX-License-Identifier: Apache-2.0
"""Nonsense on command lines: one clear line on stderr, the right exit code, nothing done."""
import os
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "support"))
from stack import Stack, program  # noqa: E402

FAILED, USAGE, NOT_EXECUTABLE, NOT_FOUND = 1, 2, 126, 127


class CommandLine(unittest.TestCase):
    """Every program, without a daemon."""

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="sgprs-test-")
        cls.addClassCleanup(cls.directory.cleanup)
        cls.env = {k: v for k, v in os.environ.items() if not k.startswith("SGPRS_")}
        cls.env.update(SGPRS_RUNTIME_DIR=cls.directory.name)

    def path(self, name, text=None, mode=0o644):
        """A path in the test's directory; with `text` the file is made."""
        path = os.path.join(self.directory.name, name)
        if text is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, mode)
        return path

    def check(self, code, part, name, *args, codes=None):
        """`part`s must be in the one line."""
        with self.subTest(command=[name, *args]):
            done = subprocess.run([program(name), *args], env=self.env, capture_output=True, text=True, timeout=60,
                                  stdin=subprocess.DEVNULL, check=False)
            self.assertIn(done.returncode, codes or (code,), done)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith(f"{name}"), done.stderr)
            self.assertIn(part, done.stderr)

    def test_unknown_words(self):
        self.check(USAGE, "unknown command 'stauts'", "sgprs", "stauts")
        self.check(USAGE, "unknown option --nonsense", "sgprs", "--nonsense")
        self.check(USAGE, "unknown option --jsno", "sgprs", "tasks", "--jsno")
        self.check(USAGE, "one word too many", "sgprs", "status", "now")
        self.check(USAGE, "'nonsense'", "sgprs", "help", "nonsense")
        for name in ("sgprsd", "simgpu"):
            self.check(USAGE, "--nonsense", name, "--nonsense")
            self.check(USAGE, "nonsense", name, "nonsense")
        self.check(USAGE, "unknown option --polcy (", "sgprsd", "--polcy", "edf")

    def test_durations(self):
        for text, part in (("5", "has no unit"), ("ms", "is not a duration"), ("-5ms", "is not a duration"),
                           ("5 parsecs", "unknown unit"), ("1.2.3s", "is not a duration"), ("0ms", "no time at all"),
                           ("99999999999999999999s", "too long"), ("18446744073709551615ns", "at most a day"),
                           ("1e30s", "is not a duration"), ("33,3ms", "is not a duration"),
                           ("", "missing"), ("nan", "duration")):
            self.check(USAGE, part, "sgprs", "run", f"--period={text}", "--", "true")
        self.check(USAGE, "--fps", "sgprs", "run", "--fps", "0", "--", "true")
        self.check(USAGE, "--fps", "sgprs", "run", "--fps", "inf", "--", "true")
        self.check(USAGE, "--window", "sgprs", "status", "--window", "5")

    def test_values(self):
        self.check(USAGE, "--class", "sgprs", "run", "--class", "middle", "--", "true")
        self.check(USAGE, "--job", "sgprs", "run", "--job", "launches:-1", "--", "true")
        self.check(USAGE, "--backend", "sgprs", "run", "--backend", "cuda", "--", "true")
        self.check(USAGE, "--name", "sgprs", "run", "--name", "n" * 64, "--", "true")
        self.check(USAGE, "--name", "sgprs", "run", "--name", "two\nlines", "--", "true")
        self.check(USAGE, "--policy", "sgprsd", "--policy", "nonsense")
        self.check(USAGE, "--partitions", "sgprsd", "--partitions", "none")
        self.check(USAGE, "--partitions", "sgprsd", "--partitions", "[1,")
        self.check(USAGE, "--partitions", "sgprsd", "--partitions", "[" * 5000)
        self.check(USAGE, "--oversubscription", "sgprsd", "--oversubscription", "1e9")
        self.check(USAGE, "--log", "sgprsd", "--log", "loud")
        self.check(USAGE, "--allow-uid", "sgprsd", "--allow-uid", "nobody")
        self.check(USAGE, "'nonsense'", "sgprsd", "--simulate", "--device", "nonsense")
        self.check(USAGE, "'nonsense'", "simgpu", "--device", "nonsense")
        self.check(USAGE, "--mps", "simgpu", "--mps", "maybe")
        self.check(USAGE, "--tasks", "sgprs", "demo", "--tasks", "0")
        self.check(USAGE, "nonsense", "sgprs", "demo", "--policies", "nonsense")
        self.check(USAGE, "nonsense", "sgprs", "demo", "--device", "nonsense")
        # What it starts says so; the command line as such was understood.
        self.check(USAGE, "nonsense", "sgprs", "run", "--simulate", "--device", "nonsense", "--", "true")

    def test_programs(self):
        self.check(USAGE, "no program", "sgprs", "run")
        self.check(USAGE, "no program", "sgprs", "run", "--fps", "30", "--")
        self.check(NOT_FOUND, "No such file", "sgprs", "run", "--", self.path("missing"))
        self.check(NOT_FOUND, "No such file", "sgprs", "run", "--", "no-such-program-anywhere")
        self.check(NOT_EXECUTABLE, "Permission denied", "sgprs", "run", "--", self.path("text", "text"))
        self.check(NOT_EXECUTABLE, "Permission denied", "sgprs", "run", "--", self.directory.name)
        script = self.path("script", "#!/nonexistent/interpreter\n", 0o755)
        self.check(NOT_FOUND, "No such file", "sgprs", "run", "--", script)

    def test_output_that_nothing_takes(self):
        for name, *args in (["sgprs", "--help"], ["sgprs", "version"], ["sgprs", "sim", "--keys"],
                            ["sgprsd", "--help"], ["sgprsd", "--help-config"], ["sgprsd", "--version"],
                            ["sgprsd", "--check"], ["resnet18-dlopen", "--help"]):
            with self.subTest(command=[name, *args]), open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([program(name), *args], env=self.env, stdout=full, stderr=subprocess.PIPE,
                                      text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
                self.assertEqual(done.returncode, FAILED, done)
                self.assertRegex(done.stderr, r"^[a-z0-9 ]+: standard output: No space left on device\n$")

    def test_no_daemon(self):
        for command in (["status"], ["tasks"], ["partitions"], ["policy"], ["policy", "sgprs"],
                        ["run", "--require", "--", "true"]):
            self.check(FAILED, "no daemon at", "sgprs", *command)
        self.check(FAILED, "no simulated device", "simgpu", "--stats")
        self.check(FAILED, "no simulated device", "simgpu", "--shutdown")

    def test_sockets(self):
        long = "/tmp/" + "s" * 200
        self.check(FAILED, "107 characters", "sgprs", "status", "--socket", long)
        self.check(USAGE, "107 characters", "sgprsd", "--socket", long, codes=(FAILED, USAGE))
        self.check(FAILED, "", "simgpu", "--socket", long, codes=(FAILED, USAGE))
        self.check(FAILED, "no daemon", "sgprs", "status", "--socket", self.path("plain", ""))
        self.check(USAGE, "socket", "sgprsd", "--socket", self.path("plain2", ""), codes=(FAILED, USAGE))
        self.assertTrue(stat.S_ISREG(os.stat(self.path("plain2")).st_mode), "somebody's file was replaced")

    def test_a_second_daemon(self):
        with Stack() as stack:
            for name, socket in (("sgprsd", stack.socket), ("simgpu", stack.sim_socket)):
                done = subprocess.run([program(name), "--socket", socket], env=stack.env, capture_output=True,
                                      text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, FAILED, done)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(socket, done.stderr)
            self.assertEqual(stack.json("status")["pid"], stack.daemon.pid)
            self.assertIn("kernels_total", stack.device_stats())


if __name__ == "__main__":
    unittest.main()
