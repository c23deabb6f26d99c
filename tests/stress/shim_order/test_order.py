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
from happens_before import parse_order, swapped, violations  # noqa: E402  pylint: disable=wrong-import-position

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


def program(seed):
    """Arguments of the program of that seed, run alone."""
    return ["--seed", str(seed), "--threads", str(1 + seed % 4)]


def order_and_launches(seed, rows):
    """What happens_before.violations() takes, of the device's rows of one process."""
    order = subprocess.run([SHIM_ORDER, "--order", *program(seed)], capture_output=True, text=True, check=True,
                           env={"LD_LIBRARY_PATH": os.path.dirname(support.DRIVER)}).stdout
    before = parse_order(order)
    names = {fnv1a(f"so_step_{i}"): i for i in before}
    return before, {names[row["name_hash"]]: row for row in rows if row["name_hash"] in names}


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

    def logged(self, seeds, *flags, good=(0,)):
        """Runs named programs under random grants with a device that keeps a log. Returns, for each seed, the order
        that it asks for and its launches by that log."""
        with self.stack(daemon=False) as stack:
            device_log = os.path.join(stack.dir, "device.log")
            stack.simgpu.terminate()
            stack.simgpu.wait()
            stack.simgpu_args = ["--log", device_log]
            stack.start_simgpu()
            granter = subprocess.Popen([GRANTER, "--socket", stack.socket, "--seed", "4", "--most", "2"])
            stack.children.append(granter)
            support.wait_until(lambda: os.path.exists(stack.socket), what="random_granter")
            seed_of = {}
            for seed in seeds:
                child = stack.start(SHIM_ORDER, "--named", *program(seed), *flags)
                _, err = child.communicate(timeout=BATCH_SECONDS)
                self.assertIn(child.returncode, good, f"seed {seed}: {err}")
                seed_of[child.pid] = seed
            stack.simgpu.terminate()  # all of the log is written
            stack.simgpu.wait()
            rows = {seed: [] for seed in seeds}
            with open(device_log, encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    if row["kind"] == "kernel":
                        rows[seed_of[row["pid"]]].append(row)
        return {seed: order_and_launches(seed, rows[seed]) for seed in seeds}

    def test_happens_before(self):
        """By the device process's own log, under single random grants. The same log with two launches that depend
        on each other in each other's place is not let through."""
        swaps = 0
        for seed, (before, ran) in self.logged(range(FIRST, FIRST + max(8, SEEDS // 5))).items():
            again = "shim_order --named " + " ".join(program(seed))
            self.assertEqual(violations(before, ran), [], again)
            for launch, earlier in before.items():
                for other in earlier[-3:]:
                    self.assertTrue(violations(before, swapped(ran, launch, other)), f"{again}: {launch}, {other}")
                    swaps += 1
        self.assertGreater(swaps, 100)

    def test_a_wait_that_is_left_out_is_seen(self):
        """The same programs, but no stream waits for an event: the log shows it, and so do some results."""
        logs = self.logged(range(1, 21), "--without-waits", good=(0, 1))
        wrong = [seed for seed, (before, ran) in logs.items() if violations(before, ran)]
        self.assertGreater(len(wrong), 3)

    def repeated(self, stack, seed, **how):
        """Starts one program that runs thirty times, each a job; one thread, so that the jobs are alike."""
        arguments = ["--seed", str(seed), "--threads", "1", "--repeat", "30"]
        return stack.start(SHIM_ORDER, *arguments, name=f"order{seed}", env={"SGPRS_JOB": "marked"}, **how)

    def check_repeated(self, stack, children):
        """All have the right results, and were switched at their stages. Returns their counters."""
        for seed, child in children.items():
            out, err = child.communicate(timeout=BATCH_SECONDS)
            self.assertEqual(child.returncode, 0, f"shim_order --seed {seed} --threads 1 --repeat 30:\n{out}{err}")
        return [t["counters"] for t in stack.json("tasks")["tasks"] if t["name"].startswith("order")]

    def test_switched_at_every_stage(self):
        """Programs that sgprsd has learnt: each stage runs in another partition than the one before."""
        stages = switches = jobs = 0
        with self.stack(env={"SGPRS_FORCE_SWITCH": "1"}, policy="sgprs", partitions=3) as stack:
            for seed in range(FIRST, FIRST + max(8, SEEDS // 10)):
                counters = self.check_repeated(stack, {seed: self.repeated(stack, seed)})[-1]
                stages += counters["stages_completed"]
                switches += counters["switches"]
                jobs += counters["jobs_completed"]
        self.assertGreater(stages, 2 * jobs)
        self.assertGreater(switches, 9 * stages // 10)

    def test_several_processes_switched_at_every_stage(self):
        with self.stack(env={"SGPRS_FORCE_SWITCH": "1"}, policy="sgprs", partitions=3) as stack:
            children = {seed: self.repeated(stack, seed, period_ns=20_000_000)
                        for seed in range(FIRST, FIRST + 4)}  # fmt: skip
            counters = self.check_repeated(stack, children)
        self.assertGreater(sum(c["switches"] for c in counters), sum(c["jobs_completed"] for c in counters))


if __name__ == "__main__":
    unittest.main()
