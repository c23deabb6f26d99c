#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs without CUDA must not notice the shim: inert_test.py SHIM CROWD

Each runs bare and preloaded; output, exit code and stderr have to be the same.
"""
import os
import subprocess
import sys
import unittest

SHIM, CROWD = sys.argv[1:3]
PYTHON = os.path.realpath(sys.executable)

IMPORTS = "import ctypes, hashlib, json, socket, sqlite3, ssl, threading; ctypes.CDLL('libm.so.6')"
WORKERS = """
import multiprocessing
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(4) as pool:
            print(pool.map(abs, range(-20, 0)))
"""
FAILS = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
# Threads, descriptors and children that nobody asked for would show here.
STATE = "grep -E '^(Threads|SigBlk|SigIgn|SigCgt)' /proc/self/status; ls /proc/self/fd"

PROGRAMS = {
    "true": ["/bin/true"],
    "false": ["/bin/false"],
    "bash": ["/bin/bash", "-c", "echo $((6 * 7)); for i in 1 2 3; do (exit $i); echo $?; done; exit 5"],
    "ls": ["/bin/ls", "/"],
    "help": ["/bin/ls", "--help"],
    "pipeline": ["/bin/bash", "-c", "seq 1000 | sort -n | tail -1 | cat"],
    "state": ["/bin/bash", "-c", STATE],
    "python": [PYTHON, "-c", "pass"],
    "python imports": [PYTHON, "-c", IMPORTS],
    "python workers": [PYTHON, "-c", WORKERS],
    "failing program": [PYTHON, "-c", FAILS],
    "killed program": ["/bin/bash", "-c", "kill -TERM $$"],
    "threads and forks": [CROWD],
}  # fmt: skip


def run(command, **extra):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "SGPRS_"))}
    environment.update(extra)
    done = subprocess.run(command, env=environment, capture_output=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


class Inert(unittest.TestCase):
    def test_b11_b21_same_as_bare(self):
        for name, command in PROGRAMS.items():
            with self.subTest(name):
                self.assertEqual(run(command, LD_PRELOAD=SHIM), run(command))

    def test_same_with_a_task_declared_and_no_daemon(self):
        settings = {"SGPRS_NAME": "t", "SGPRS_PERIOD_NS": "33333333",
                    "SGPRS_SOCKET": "/nonexistent/control.sock"}  # fmt: skip
        for name in ("true", "bash", "python", "state"):
            with self.subTest(name):
                bare = run(PROGRAMS[name])
                self.assertEqual(run(PROGRAMS[name], LD_PRELOAD=SHIM, **settings), bare)

    def test_no_driver_is_opened_or_searched(self):
        """A driver that can not be opened would be said on stderr, once it is wanted."""
        settings = {"LD_PRELOAD": SHIM, "SGPRS_DRIVER": "/nonexistent/libcuda.so.1"}
        for name in ("true", "bash", "python", "threads and forks"):
            with self.subTest(name):
                self.assertEqual(run(PROGRAMS[name], **settings)[2], b"")

    def test_the_shim_is_really_there(self):
        code, output, _ = run(["/bin/cat", "/proc/self/maps"], LD_PRELOAD=SHIM)
        self.assertEqual(code, 0)
        self.assertIn(os.path.basename(SHIM).encode(), output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
