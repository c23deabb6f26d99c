#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sgprs top` in a terminal of its own (a pty, its screen kept by pyte) and in a pipe."""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from stack import Stack, program, wait_until  # noqa: E402

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's python3-pyte, whichever Python this is
try:
    import pyte
except ImportError:
    pyte = None

LONG_NAME = "a-task-with-a-name-that-is-too-long"


class Terminal:
    """`sgprs top` on a screen of so many columns and lines."""

    def __init__(self, stack, columns, lines, env=None, arguments=()):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        environment = {**stack.env, "TERM": "xterm-256color", "LANG": "C.UTF-8", **(env or {})}
        for name in ("NO_COLOR", "COLUMNS", "LINES", "LC_ALL"):
            if name not in (env or {}):
                environment.pop(name, None)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(program("sgprs"), ["sgprs", "top", "--interval", "100ms", *arguments], environment)
        self.resize(columns, lines)

    def resize(self, columns, lines):
        """As a window that is dragged."""
        self.screen.resize(lines, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read(self, seconds=0.1):
        """Takes in what was drawn."""
        end = time.monotonic() + seconds
        while select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:  # it ended
                return
            if not data:
                return
            self.raw += data
            self.stream.feed(data)

    def text(self):
        """The screen, line by line."""
        return "\n".join(self.screen.display)

    def wait_for(self, text, gone=False):
        """Until `text` stands on the screen, or no longer does."""
        def there():
            self.read()
            return (text in self.text()) != gone
        try:
            wait_until(there, seconds=30)
        except TimeoutError as error:
            raise AssertionError(f"{text!r}, gone={gone}:\n{self.text()}") from error

    def key(self, keys):
        """Types."""
        os.write(self.fd, keys.encode())

    def end(self, keys="q"):
        """Leaves; the exit status as a shell has it."""
        if keys:
            self.key(keys)
        def ended():
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (status,) if pid else None
        status = wait_until(ended, seconds=30)[0]
        os.close(self.fd)
        return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        log = tempfile.TemporaryDirectory(prefix="sgprs-test-")
        cls.addClassCleanup(log.cleanup)
        cls.stack = Stack(policy="sgprs", job_log=log.name)
        cls.addClassCleanup(cls.stack.close)
        for name, cls_name in (("cam", "high"), (LONG_NAME, "low")):
            cls.stack.start("resnet18", "--seconds", "600", "--fps", "25", name=name, cls=cls_name,
                            period_ns=40_000_000)
        wait_until(lambda: [t["state"] for t in cls.stack.json("tasks")["tasks"]] == ["scheduled"] * 2,
                   seconds=60, what="tasks are learnt")

    def terminal(self, columns, lines, **how):
        if pyte is None:
            self.skipTest("python3-pyte is not installed")
        terminal = Terminal(self.stack, columns, lines, **how)
        self.addCleanup(lambda: self.kill(terminal.pid))
        return terminal

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass

    def test_eighty_and_two_hundred_columns(self):
        narrow = self.terminal(80, 24)
        for text in ("policy sgprs", "probes ", "SMs [", "JITTER p50/p99", "cam", "40.0ms", "high", "q quit"):
            narrow.wait_for(text)
        narrow.wait_for("a-task-with")
        self.assertNotIn("LAUNCH/s", narrow.text())
        self.assertEqual(narrow.end(), 0)
        wide = self.terminal(200, 50)
        for text in (LONG_NAME[:30], "RESP. p50/p99", "SWITCH/s", "scheduled"):
            wide.wait_for(text)
        self.assertEqual(wide.end(), 0)

    def test_resizes(self):
        terminal = self.terminal(80, 24)
        terminal.wait_for("q quit")
        terminal.resize(200, 40)
        terminal.wait_for("SWITCH/s")
        self.assertIn("q quit", terminal.screen.display[39])
        terminal.resize(60, 10)
        terminal.wait_for("SWITCH/s", gone=True)
        terminal.wait_for("TASK")
        terminal.resize(10, 3)
        terminal.read(0.5)
        terminal.resize(80, 24)
        terminal.wait_for("JITTER p50/p99")
        self.assertEqual(terminal.end(), 0)

    def test_keys(self):
        terminal = self.terminal(120, 30)
        terminal.wait_for("sort: name")
        terminal.key("s")
        terminal.wait_for("sort: misses")
        terminal.key("r")
        terminal.wait_for("(reversed)")
        terminal.key("?")
        terminal.wait_for("any key goes back")
        terminal.key("x")
        terminal.wait_for("any key goes back", gone=True)
        terminal.key(" ")
        terminal.wait_for("PAUSED")
        terminal.key(" ")
        terminal.wait_for("PAUSED", gone=True)
        terminal.key("p")
        terminal.wait_for("Policy from now on")
        line = next(line for line in terminal.screen.display if " edf " in line)
        terminal.key(line.split()[0])
        terminal.wait_for("policy edf  overload late")
        self.assertEqual(self.stack.json("status")["policy"], "edf")
        terminal.key("o")
        terminal.wait_for("overload hold  admission")
        self.assertEqual(self.stack.json("status")["overload"], "hold")
        terminal.key("o")
        terminal.wait_for("overload late  admission")
        self.stack.sgprs("policy", "sgprs")
        terminal.wait_for("policy sgprs  overload")
        terminal.key("zZ7\t\x1b")  # nonsense
        self.assertEqual(terminal.end(), 0)

    def test_colour_only_where_it_is_wanted(self):
        terminal = self.terminal(80, 24)
        terminal.wait_for("q quit")
        self.assertIn(b"\x1b[32m", terminal.raw)
        terminal.end()
        plain = self.terminal(80, 24, env={"NO_COLOR": "1"})
        plain.wait_for("q quit")
        self.assertNotRegex(plain.raw, rb"\x1b\[3[0-7]m")
        plain.end()

    def test_signals_give_the_terminal_back(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            terminal = self.terminal(80, 24)
            terminal.wait_for("q quit")
            os.kill(terminal.pid, number)
            self.assertEqual(terminal.end(keys=""), 128 + number)
            self.assertIn(b"\x1b[?1049l", terminal.raw)  # the screen from before
        terminal = self.terminal(80, 24)
        terminal.wait_for("q quit")
        self.assertEqual(terminal.end(keys="\x03"), 128 + signal.SIGINT)

    def test_a_terminal_that_nobody_knows(self):
        terminal = self.terminal(80, 24, env={"TERM": "nonsense"})
        self.assertEqual(terminal.end(keys=""), 1)
        self.assertIn(b"'nonsense'", terminal.raw)

    def test_a_daemon_that_goes_and_comes_back(self):
        if pyte is None:
            self.skipTest("python3-pyte is not installed")
        with Stack(policy="sgprs") as stack:
            terminal = Terminal(stack, 80, 24)
            self.addCleanup(lambda: self.kill(terminal.pid))
            terminal.wait_for("policy sgprs")
            stack.daemon.kill()
            stack.daemon.wait(10)
            terminal.wait_for("NO DAEMON")
            self.assertIn("policy sgprs", terminal.text())  # the last picture stays
            stack.sgprsd_args = ["--policy", "fifo"]
            stack.start_daemon()
            terminal.wait_for("policy fifo")
            terminal.wait_for("NO DAEMON", gone=True)
            stack.daemon.send_signal(signal.SIGSTOP)
            terminal.wait_for("has not turned its loop")
            stack.daemon.send_signal(signal.SIGCONT)
            terminal.wait_for("has not turned its loop", gone=True)
            self.assertEqual(terminal.end(), 0)

    def test_in_a_pipe(self):
        done = self.stack.sgprs("top")
        self.assertNotIn("\x1b", done.stdout)
        self.assertIn("JITTER p50/p99", done.stdout)
        self.assertIn(LONG_NAME[:30], done.stdout)
        self.assertNotIn("q quit", done.stdout)
        report = json.loads(self.stack.sgprs("top", "--json", "--window", "2s").stdout)
        self.assertEqual(report["version"], 1)
        self.assertGreaterEqual(report["window_ns"], 2_000_000_000)
        self.assertEqual(report["status"]["policy"], self.stack.json("status")["policy"])
        cam = next(task for task in report["tasks"] if task["name"] == "cam")
        self.assertGreater(cam["completed_fps"], 5)
        self.assertGreater(cam["response_p99_ns"], 0)
        self.assertGreaterEqual(cam["jitter_p99_ns"], cam["jitter_p50_ns"])
        self.assertTrue(all(0 <= row["busy_percent"] <= 100 for row in report["partitions"]))

    def test_nonsense(self):
        for arguments, code in ((("--sort", "nonsense"), 2), (("--interval", "0s"), 2), (("extra",), 2),
                                (("--socket", "/nope/x"), 1)):
            done = subprocess.run([program("sgprs"), "top", *arguments], env=self.stack.env, capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stdout), (code, ""), arguments)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
