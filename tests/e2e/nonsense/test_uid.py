# SPDX-License-Identifier: Apache-2.0
"""Another user's process is refused with a clear line, and its program still runs, unscheduled."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(__file__))
import peer  # noqa: E402
from beside import BesideCase  # noqa: E402
from peer import Peer  # noqa: E402
from stack import program  # noqa: E402

NOBODY, SOMEBODY = 65534, 65533
UID = 3


def reachable(path):
    """True if anybody may go down to `path`."""
    path = os.path.dirname(os.path.abspath(path))
    while path != "/":
        if not os.stat(path).st_mode & 0o001:
            return False
        path = os.path.dirname(path)
    return True


@unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
@unittest.skipUnless(reachable(program("resnet18")), "the programs are not where another user can read them")
class OtherUser(BesideCase):
    """A sgprsd that serves SOMEBODY besides root, and NOBODY who comes along."""

    sgprsd_args = ("--allow-uid", str(SOMEBODY))

    def run_as(self, uid, *command, **how):
        """Runs a program of the stack as another user."""
        os.chmod(self.stack.dir, 0o755)
        os.chmod(self.stack.sim_socket, 0o666)
        done = subprocess.run([program(command[0]), *command[1:]], env=self.stack.environment(**how), user=uid,
                              capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_b38_its_program_runs_unscheduled(self):
        before = self.clients()["refused"]
        code, out, error = self.run_as(NOBODY, "resnet18", "--input", "32x32", "--frames", "5", "--json",
                                       name="other", period_ns=50_000_000)
        self.assertEqual(code, 0, error)
        self.assertEqual(json.loads(out)["frames"]["completed"], 5)
        self.assertEqual(error.count("\n"), 1, error)
        self.assertIn(f"user {NOBODY} may not use this sgprsd", error)
        self.assertEqual(self.clients()["refused"], before + 1)
        self.assertNotIn("other", [t["name"] for t in self.stack.json("tasks")["tasks"]])
        self.assert_all_is_well()

    def test_who_is_allowed_is_scheduled(self):
        code, out, error = self.run_as(SOMEBODY, "resnet18", "--input", "32x32", "--frames", "5", "--json",
                                       name="allowed", period_ns=50_000_000)
        self.assertEqual((code, error), (0, ""))
        row = next(t for t in self.stack.json("tasks")["tasks"] if t["name"] == "allowed")
        self.assertEqual(row["counters"]["kernels"], json.loads(out)["launches"])
        self.assert_all_is_well()

    def test_the_cli_says_why(self):
        code, _, error = self.run_as(NOBODY, "sgprs", "status", shim=False)
        self.assertEqual((code, error.count("\n")), (1, 1), error)
        self.assertIn(f"user {NOBODY} may not use this sgprsd", error)
        for words in (["policy", "fifo"], ["policy", "sgprs"]):
            code, _, error = self.run_as(SOMEBODY, "sgprs", *words, shim=False)
            self.assertEqual((code, error.count("\n")), (1, 1), error)
            self.assertIn("only the user that sgprsd runs as", error)
        self.assertEqual(self.run_as(SOMEBODY, "sgprs", "status", shim=False)[0], 0)
        self.assertEqual(self.stack.json("status")["policy"], "sgprs")
        self.assert_all_is_well()

    def test_the_uid_is_what_the_kernel_says(self):
        """What another user sends is not even looked at."""
        os.chmod(self.stack.dir, 0o755)
        child = os.fork()
        if child == 0:
            code = 99
            try:
                os.setuid(NOBODY)
                someone = Peer(self.stack.socket)
                someone.send(peer.command("shutdown"))
                code = someone.refusal()[0]
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), UID)
        self.assert_all_is_well()


if __name__ == "__main__":
    unittest.main()
