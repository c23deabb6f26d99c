# SPDX-License-Identifier: Apache-2.0
"""Random race-free programs have one result: bare, under the shim without a daemon, under sgprsd with a
forced switch at every stage it knows, and under a granter without any sense.

$SHIM_ORDER_SEEDS: how many programs (CTest sets it). Each failure names the command that repeats it.
"""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import stack as support  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = os.environ.get("SHIM_ORDER_DIR", os.path.join(os.getcwd(), "build", "tests", "bin"))
SEEDS = int(os.environ.get("SHIM_ORDER_SEEDS", "40"))
SHIM_ORDER = os.path.join(PROGRAMS, "shim_order")
GRANTER = os.path.join(PROGRAMS, "random_granter")
KERNELS = os.path.join(PROGRAMS, "libshim_order_kernels.so")
BATCH = 20  # programs of one process
BATCH_SECONDS = 120


def batches():
    """(first seed, programs, threads) of each process; some run a single program."""
    seed = 1
    while seed <= SEEDS:
        count = 1 if seed % 9 == 1 else min(BATCH, SEEDS - seed + 1)
        yield seed, count, 1 + seed % 4
        seed += count


def lines(output):
    """seed -> checksum of the lines that shim_order printed."""
    found = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) == 3 and words[0].isdigit():
            found[int(words[0])] = words[1]
    return found


class Order(unittest.TestCase):
    """One test a way of running."""

    bare = None

    def run_all(self, stack, shim):
        """Runs every batch; returns all checksums."""
        found = {}
        for seed, count, threads in batches():
            arguments = ["--seed", str(seed), "--programs", str(count), "--threads", str(threads)]
            again = "shim_order " + " ".join(arguments)
            try:
                done = stack.run(SHIM_ORDER, *arguments, shim=shim, timeout=BATCH_SECONDS)
            except subprocess.TimeoutExpired as hang:
                output = hang.stdout.decode() if hang.stdout else ""
                self.fail(f"{again}: hangs after seeds {sorted(lines(output))}")
            self.assertEqual(done.returncode, 0, f"{again}:\n{done.stdout}{done.stderr}")
            found.update(lines(done.stdout))
        self.assertEqual(sorted(found), list(range(1, SEEDS + 1)))
        return found

    def stack(self, **how):
        """A private stack whose device knows our kernel."""
        env = {"SGPRS_SIMGPU_KERNELS": KERNELS}
        env.update(how.pop("env", {}))
        return support.Stack(env=env, **how)

    def expected(self):
        """Checksums of bare runs on the stand-in, made once."""
        if Order.bare is None:
            with self.stack(daemon=False) as stack:
                Order.bare = self.run_all(stack, shim=False)
        return Order.bare

    def recorded(self, log):
        """The shim was really in play."""
        with open(log, encoding="utf-8") as file:
            self.assertIn("registered", file.read())

    def test_without_daemon(self):
        """The shim passes everything through."""
        with self.stack(daemon=False) as stack:
            self.assertEqual(self.run_all(stack, shim=True), self.expected())

    def test_sgprsd(self):
        """Stages, where sgprsd has learnt any, run in another partition than the one before."""
        with self.stack(env={"SGPRS_FORCE_SWITCH": "1"}) as stack:
            log = os.path.join(stack.dir, "shim.log")
            stack.env["SGPRS_SHIM_LOG"] = log
            self.assertEqual(self.run_all(stack, shim=True), self.expected())
            self.recorded(log)

    def granted(self, *arguments):
        """Under random_granter instead of sgprsd."""
        with self.stack(daemon=False) as stack:
            log = os.path.join(stack.dir, "shim.log")
            stack.env["SGPRS_SHIM_LOG"] = log
            granter = subprocess.Popen([GRANTER, "--socket", stack.socket, *arguments])
            stack.children.append(granter)
            support.wait_until(lambda: os.path.exists(stack.socket), what="random_granter")
            self.assertEqual(self.run_all(stack, shim=True), self.expected())
            self.recorded(log)

    def test_random_grants(self):
        """A few items at a time, each time in a random partition."""
        self.granted("--seed", "1", "--most", "4")

    def test_random_grants_of_one(self):
        """Every single item in a random partition."""
        self.granted("--seed", "2", "--most", "1")

    def test_runtime_that_comes_and_goes(self):
        """Runtime lost and found again, with another pool each second time."""
        self.granted("--seed", "3", "--most", "8", "--life-ms", "300")


if __name__ == "__main__":
    unittest.main()
