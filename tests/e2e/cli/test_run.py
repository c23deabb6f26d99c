#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sgprs run`: what the program gets, and what comes back from it."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from stack import DRIVER, KERNELS, SHIM, Stack, program, wait_until  # noqa: E402


def clean_environment(**more):
    """Ours without SGPRS_*, with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SGPRS_")}
    return {**kept, **more}


def run(*arguments, env):
    return subprocess.run([program("sgprs"), "run", *arguments], env=env, capture_output=True,
                          text=True, timeout=60, check=False)


class WithoutDaemon(unittest.TestCase):
    """Programs run unscheduled, and it is said once."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory(prefix="sgprs-test-")
        self.addCleanup(self.dir.cleanup)
        self.env = clean_environment(SGPRS_RUNTIME_DIR=self.dir.name)

    def test_exit_status_is_the_programs(self):
        done = run("--", "sh", "-c", "echo out; exit 7", env=self.env)
        self.assertEqual(done.returncode, 7)
        self.assertEqual(done.stdout, "out\n")

    def test_a_signal_is_the_programs(self):
        done = run("--", "sh", "-c", "kill -TERM $$", env=self.env)
        self.assertEqual(done.returncode, -signal.SIGTERM)

    def test_a_program_without_cuda_is_told_nothing(self):
        done = run("--", "true", env=self.env)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_note_is_one_line(self):
        with Stack(daemon=False) as stack:
            env = {**stack.env, "LD_LIBRARY_PATH": os.path.dirname(DRIVER), "SGPRS_DRIVER": DRIVER}
            done = run("--", program("resnet18"), "--input", "32x32", "--frames", "1", env=env)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("no sgprsd answers", done.stderr)
        self.assertIn("unscheduled", done.stderr)

    def test_require_does_not_run(self):
        done = run("--require", "--", "sh", "-c", "echo ran", env=self.env)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_not_found_and_not_executable(self):
        self.assertEqual(run("--", "no-such-program-here", env=self.env).returncode, 127)
        self.assertEqual(run("--", self.dir.name, env=self.env).returncode, 126)

    def test_the_programs_own_dashes_are_left_alone(self):
        done = run("--fps", "30", "--", "printf", "%s|", "--", "--fps", "-x", env=self.env)
        self.assertEqual(done.stdout, "--|--fps|-x|")
        self.assertEqual(run("--fps", "30", "printf", "%s|", "-x", env=self.env).stdout, "-x|")

    def test_variables(self):
        done = run("--name", "cam", "--period", "33.3ms", "--deadline", "20ms", "--class", "high", "--job",
                   "launches:4", "--", "env", env={**self.env, "LD_PRELOAD": ""})
        got = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertEqual(got["LD_PRELOAD"], SHIM)
        self.assertEqual(got["SGPRS_NAME"], "cam")
        self.assertEqual(got["SGPRS_PERIOD_NS"], "33300000")
        self.assertEqual(got["SGPRS_DEADLINE_NS"], "20000000")
        self.assertEqual(got["SGPRS_CLASS"], "high")
        self.assertEqual(got["SGPRS_JOB"], "launches:4")


class Simulated(unittest.TestCase):
    """--simulate finds or starts a device."""

    def test_another_device_than_the_one_that_runs_is_refused(self):
        with Stack() as stack:
            done = stack.sgprs("run", "--simulate", "--device", "rtx2080ti", "--", "true", check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = stack.sgprs("run", "--simulate", "--device", "a100", "--", "true", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"^sgprs run: --device a100: .* is 'rtx2080ti'.*\n$")
            done = stack.sgprs("run", "--simulate", "--device", "a10", "--", "true", check=False)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"^sgprs run: .*'a10'.*did you mean a100\?.*\n$")

    def test_uses_the_device_that_runs(self):
        with Stack() as stack:
            done = stack.sgprs("run", "--simulate", "--name", "one", "--fps", "100", "--",
                               program("resnet18"), "--frames", "5", "--fps", "100", "--json")
            self.assertEqual(done.stderr, "")
            self.assertIn("resnet18", done.stdout)
            wait_until(lambda: stack.json("tasks")["tasks"][0]["state"] == "gone", what="end seen")
            task = stack.json("tasks")["tasks"][0]
            self.assertEqual(task["name"], "one")
            self.assertEqual(task["period_ns"], 10_000_000)
            self.assertGreater(task["counters"]["recorded"], 0)
            self.assertEqual(task["counters"]["bypassed"], 0)

    def test_variables(self):
        with Stack() as stack:
            done = stack.sgprs("run", "--simulate", "--", "env")
            got = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
            self.assertEqual(got["SGPRS_DRIVER"], DRIVER)
            self.assertEqual(got["LD_LIBRARY_PATH"].split(":")[0], os.path.dirname(DRIVER))
            self.assertIn(KERNELS, got["SGPRS_SIMGPU_KERNELS"].split(":"))
            self.assertEqual(got["SGPRS_SIMGPU_SOCKET"], stack.sim_socket)

    def test_a_daemon_without_a_device_is_said(self):
        with Stack() as stack:
            stack.simgpu.kill()
            stack.simgpu.wait()
            done = stack.sgprs("run", "--simulate", "--", "true", check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("no simulated device", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_starts_daemon_and_device_once(self):
        with tempfile.TemporaryDirectory(prefix="sgprs-test-") as directory:
            env = clean_environment(SGPRS_RUNTIME_DIR=directory)
            command = [program("sgprs"), "run", "--simulate", "--require", "--", program("resnet18"),
                       "--frames", "3", "--fps", "50"]
            runs = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True) for _ in range(3)]
            try:
                outputs = [child.communicate(timeout=60) for child in runs]
                for child, (_, errors) in zip(runs, outputs):
                    self.assertEqual(child.returncode, 0, errors)
                notes = [errors for _, errors in outputs if "started `sgprsd --simulate`" in errors]
                self.assertEqual(len(notes), 1, outputs)
            finally:
                self.end_daemon(env, directory)

    def end_daemon(self, env, directory):
        status = subprocess.run([program("sgprs"), "status", "--json"], env=env, capture_output=True,
                                text=True, timeout=30, check=False)
        if status.returncode == 0:
            pid = int(status.stdout.split('"pid":')[1].split(",")[0])
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), what="sgprsd ends")
        socket = os.path.join(directory, "simgpu.sock")
        wait_until(lambda: subprocess.run([program("simgpu"), "--stats", "--socket", socket],
                                          capture_output=True, check=False).returncode != 0,
                   what="the device ends with the daemon that started it")


if __name__ == "__main__":
    unittest.main()
