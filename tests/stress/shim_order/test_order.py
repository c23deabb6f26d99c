# SPDX-License-Identifier: Apache-2.0
"""Random race-free programs have one result: bare, under the shim without a daemon, under sgprsd with a
forced switch at every stage it knows, and under a granter without any sense.

$SHIM_ORDER_SEEDS: how many programs, $SHIM_ORDER_FIRST: from which seed on (CTest sets them). Each failure names
the command that repeats it. $SHIM_ORDER_PRELOAD: what is preloaded in place of the shim; a sanitizer's build sets it.
"""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import stack as support  # noqa: E402  pylint: disable=wrong-import-position

PROGRAMS = os.environ.get("SHIM_ORDER_DIR", os.path.join(os.getcwd(), "build", "tests", "bin"))
SEEDS = int(os.environ.get("SHIM_ORDER_SEEDS", "40"))
FIRST = int(os.environ.get("SHIM_ORDER_FIRST", "1"))
SHIM_ORDER = os.path.join(PROGRAMS, "shim_order")
GRANTER = os.path.join(PROGRAMS, "random_granter")
KERNELS = os.path.join(PROGRAMS, "libshim_order_kernels.so")
PRELOAD = os.environ.get("SHIM_ORDER_PRELOAD")
BATCH = 20  # programs of one process
BATCH_SECONDS = 600 if PRELOAD else 120
SHIMMED = {"env": {"LD_PRELOAD": PRELOAD}} if PRELOAD else {}


def batches():
    """(first seed, programs, threads) of each process; some run a single program."""
    seed, end = FIRST, FIRST + SEEDS
    while seed < end:
        count = 1 if seed % 9 == 1 else min(BATCH, end - seed)
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


def fnv1a(name):
    """As in the device's log."""
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


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
                done = stack.run(SHIM_ORDER, *arguments, shim=shim, timeout=BATCH_SECONDS, **(SHIMMED if shim else {}))
            except subprocess.TimeoutExpired as hang:
                output = hang.stdout.decode() if hang.stdout else ""
                self.fail(f"{again}: hangs after seeds {sorted(lines(output))}")
            self.assertEqual(done.returncode, 0, f"{again}:\n{done.stdout}{done.stderr}")
            found.update(lines(done.stdout))
        self.assertEqual(sorted(found), list(range(FIRST, FIRST + SEEDS)))
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

    def several(self, stack):
        """Four processes at once, each with programs of its own."""
        each = max(1, min(BATCH, SEEDS // 4))
        children = {}
        for i in range(4):
            seed = FIRST + i * each
            children[seed] = stack.start(SHIM_ORDER, "--seed", str(seed), "--programs", str(each), "--threads",
                                         str(1 + seed % 4), name=f"order{i}", period_ns=5_000_000 * (i + 1), **SHIMMED)
        for seed, child in children.items():
            out, err = child.communicate(timeout=BATCH_SECONDS)
            # Each program compares itself with what the host computed.
            self.assertEqual(child.returncode, 0, f"shim_order --seed {seed} beside three others:\n{out}{err}")
            self.assertEqual(len(lines(out)), each)

    def test_several_processes(self):
        """Under sgprsd, which moves them about."""
        with self.stack(env={"SGPRS_FORCE_SWITCH": "1"}, policy="sgprs", partitions=3) as stack:
            self.several(stack)

    def test_several_processes_under_random_grants(self):
        with self.stack(daemon=False) as stack:
            granter = subprocess.Popen([GRANTER, "--socket", stack.socket, "--seed", "5", "--most", "6"])
            stack.children.append(granter)
            support.wait_until(lambda: os.path.exists(stack.socket), what="random_granter")
            self.several(stack)

    def check_log(self, seed, threads, rows):
        """Every launch began after those that it has to come after were over."""
        again = f"shim_order --named --seed {seed} --threads {threads}"
        order = subprocess.run([SHIM_ORDER, "--order", "--seed", str(seed), "--threads", str(threads)],
                               capture_output=True, text=True, check=True,
                               env={"LD_LIBRARY_PATH": os.path.dirname(support.DRIVER)}).stdout
        before = {int(line.split(":")[0]): [int(x) for x in line.split(":")[1].split()]
                  for line in order.splitlines()}  # fmt: skip
        names = {fnv1a(f"so_step_{i}"): i for i in before}
        ran = {names[row["name_hash"]]: row for row in rows if row["name_hash"] in names}
        self.assertEqual(sorted(ran), sorted(before), f"{again}: launches of the log")
        for launch, earlier in before.items():
            for other in earlier:
                self.assertLessEqual(ran[other]["end_ns"], ran[launch]["start_ns"],
                                     f"{again}: launch {launch} began before launch {other} was over")

    def test_happens_before(self):
        """By the device process's own log, under single random grants."""
        with self.stack(daemon=False) as stack:
            device_log = os.path.join(stack.dir, "device.log")
            stack.simgpu.terminate()
            stack.simgpu.wait()
            stack.simgpu_args = ["--log", device_log]
            stack.start_simgpu()
            granter = subprocess.Popen([GRANTER, "--socket", stack.socket, "--seed", "4", "--most", "2"])
            stack.children.append(granter)
            support.wait_until(lambda: os.path.exists(stack.socket), what="random_granter")
            pids = {}
            for seed in range(FIRST, FIRST + max(8, SEEDS // 5)):
                threads = 1 + seed % 4
                child = stack.start(SHIM_ORDER, "--named", "--seed", str(seed), "--threads", str(threads))
                _, err = child.communicate(timeout=BATCH_SECONDS)
                self.assertEqual(child.returncode, 0, f"seed {seed}: {err}")
                pids[child.pid] = (seed, threads)
            stack.simgpu.terminate()  # all of the log is written
            stack.simgpu.wait()
            rows = {}
            with open(device_log, encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    if row["kind"] == "kernel":
                        rows.setdefault(row["pid"], []).append(row)
            for pid, (seed, threads) in pids.items():
                self.check_log(seed, threads, rows[pid])


if __name__ == "__main__":
    unittest.main()
