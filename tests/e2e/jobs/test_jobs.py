# SPDX-License-Identifier: Apache-2.0
"""`sgprs jitter`, `why` and `trace` over jobs that are late for a known reason."""
import json
import os
import signal
import statistics
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "faults"), os.path.join(HERE, "..", "..", "support")]
from probe_case import KERNELS, PROBE  # noqa: E402
from stack import Stack, program, wait_until  # noqa: E402
import trace_format  # noqa: E402

MS = 1_000_000
HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
while True:
    end = time.monotonic() + 0.0055
    while time.monotonic() < end:
        pass
    time.sleep(0.014)
"""


def cpu_delay_ns(row):
    """From the timer's interrupt to the CPU; 0 if one of them was not seen."""
    return row["on_cpu_ns"] - row["expire_ns"] if row["on_cpu_ns"] and row["expire_ns"] else 0


def first_stage_ns(row):
    """What the first stage has until its virtual deadline, from the first launch on."""
    return row["stages"][0]["virtual_deadline_ns"] - row["first_launch_ns"]


def numbers(found):
    """How many answers a cause has."""
    return {cause: len(answers) for cause, answers in found.items()}


def jobs_stack(**how):
    """A private stack that writes a job log and takes releases from the timer."""
    stack = Stack(env={"SGPRS_SIMGPU_KERNELS": KERNELS}, policy="sgprs", **how)
    stack.daemon.terminate()
    stack.daemon.wait()
    stack.sgprsd_args += ["--job-log", os.path.join(stack.dir, "log")]
    stack.start_daemon()
    return stack


class Jobs(unittest.TestCase):
    """As root; without kernel probes there are no stamps to test."""

    def setUp(self):
        self.stack = jobs_stack()
        self.addCleanup(self.stack.close)
        self.log = os.path.join(self.stack.dir, "log")

    def need_probes(self):
        probes = self.stack.json("status")["probes"]
        if probes["level"] != "root":
            self.skipTest(f"kernel probes at level {probes['level']}: {probes['why']}")

    def start(self, *command, release="timer", deadline_ns=None, env=None, **how):
        env = {"SGPRS_RELEASE": release, **(env or {})}
        if deadline_ns is not None:
            env["SGPRS_DEADLINE_NS"] = str(deadline_ns)
        return self.stack.start(*command, env=env, **how)

    def end(self, child):
        _, errors = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, errors)
        # The last record is written when the thread's next wait would have ended.
        wait_until(lambda: self.stack.json("status")["clients"]["now"] == 0, what="the task is gone")
        # The log's writer is a thread of its own, which writes some ms later.
        wait_until(lambda: self.read("jitter")["records"]["jobs"] ==
                   sum(t["counters"]["jobs_completed"] for t in self.stack.json("tasks")["tasks"]),
                   what="all records are written")

    def read(self, *command):
        done = self.stack.sgprs(*command, "--log", self.log, "--json")
        return json.loads(done.stdout)

    def causes(self, task, at_least=1):
        """{cause: number} of what `why` says of each missed job but the learning ones, and one whole answer a cause."""
        rows = self.read("trace", "show", "--task", task, "--missed")["jobs"]
        rows = [row for row in rows if not row["learning"]]
        self.assertGreaterEqual(len(rows), at_least)
        found = {}
        for row in rows[-20:]:
            answer = self.read("why", task, str(row["job"]))
            found.setdefault(answer["cause"], []).append(answer)
        return found


class Stamps(Jobs):
    def test_jitter_of_a_periodic_process(self):
        self.need_probes()
        self.end(self.start(PROBE, "periodic", "300", "10000", "200", period_ns=10 * MS, name="tick"))
        answer = self.read("jitter", "tick")
        task = answer["tasks"][0]
        self.assertEqual(task["task"], "tick")
        # A frame that the machine delays by half a period and the next one are one burst: one job.
        self.assertIn(task["jobs"], range(295, 301))
        self.assertGreaterEqual(task["complete"], 0.98 * task["jobs"])
        text = self.stack.sgprs("jitter", "tick", "--log", self.log).stdout
        self.assertRegex(text, r"released to running, median: [\d.]+ [num]s by the kernel")
        self.assertRegex(text, r"[\d.]+ [num]s apart")
        for phase in ("timer", "run_queue", "user", "execute", "response"):
            self.assertRegex(text, rf"(?m)^ +{phase} +\d+ ")

    def test_a_stop_is_user_code(self):
        self.need_probes()
        child = self.start(PROBE, "periodic", "180", "30000", "9000", period_ns=30 * MS, deadline_ns=24 * MS, name="stopped")
        wait_until(lambda: any(t["counters"]["jobs_completed"] > 20 for t in self.stack.json("tasks")["tasks"]),
                   what="20 jobs")
        for _ in range(14):
            child.send_signal(signal.SIGSTOP)
            time.sleep(0.02)
            child.send_signal(signal.SIGCONT)
            time.sleep(0.23)
        self.end(child)
        found = self.causes("stopped")
        self.assertIn("user", found, numbers(found))
        text = self.stack.sgprs("why", "stopped", str(found["user"][-1]["job"]), "--log", self.log).stdout
        self.assertRegex(text, r"user code")
        self.assertRegex(text, r"stopped")

    def beside_hogs(self, **how):
        """Frames each 25 ms on a CPU that two real-time threads take for half of the time. Real-time, because the
        kernel lets a thread that wakes up preempt an ordinary hog at once: then nothing is late on the run queue."""
        cpu = max(os.sched_getaffinity(0))
        hogs = [subprocess.Popen(["chrt", "-f", "10", sys.executable, "-c", HOG, str(cpu)], stderr=subprocess.PIPE)
                for _ in range(2)]
        try:
            self.end(self.start(PROBE, "periodic", "120", "25000", "300", "4", str(cpu), period_ns=25 * MS, **how))
            for hog in hogs:
                if hog.poll() is not None:
                    self.skipTest(f"no real-time priority here: {hog.stderr.read()}")
        finally:
            for hog in hogs:
                hog.kill()
                hog.communicate()

    def test_hogs_are_run_queue_delay(self):
        self.need_probes()
        self.beside_hogs(deadline_ns=6 * MS, name="crowded")
        found = self.causes("crowded")
        self.assertIn("run_queue", found, numbers(found))
        answer = max(found["run_queue"], key=lambda one: one["parts"]["run_queue"]["took_ns"])
        text = self.stack.sgprs("why", "crowded", str(answer["job"]), "--log", self.log).stdout
        self.assertRegex(text, "run-queue delay")
        self.assertRegex(text, "python")  # who had the CPU

    def test_a_timer_s_deadline_stays_while_the_cpu_is_late(self):
        """Jobs that the CPU delays by ms: the timer's deadline stays, that of a first launch moves with the delay."""
        self.need_probes()
        rows = {}
        for release in ("timer", "first-launch"):
            self.beside_hogs(release=release, name=release)
            rows[release] = self.read("trace", "show", "--task", release)["jobs"][5:]
        late = {release: [row for row in rows[release] if cpu_delay_ns(row) > 3 * MS] for release in rows}
        for release, delayed in late.items():
            self.assertGreater(len(delayed), 3, f"{release}: the hogs delayed nothing")
            for row in delayed:
                self.assertEqual(row["deadline_ns"] - row["release_ns"], 25 * MS)
        for row in late["timer"]:
            self.assertLess(row["release_ns"], row["first_launch_ns"] - 3 * MS)
        for row in late["first-launch"]:
            self.assertEqual(row["release_ns"], row["first_launch_ns"])
        # Placement: by the timer the delay has used up time of the first stage, so it is the more urgent one.
        given = {release: statistics.median(first_stage_ns(row) for row in late[release]) for release in late}
        self.assertLess(given["timer"], given["first-launch"] - 3 * MS)


class Gpu(Jobs):
    def test_a_busy_neighbour_is_queueing_or_execution(self):
        # Ten kernels of 0.7 ms on all SMs each 8 ms, from each of three: more than the GPU can do, little for the CPU.
        hogs = [self.start(PROBE, "periodic", "10000", "8000", "0", "10", "-1", "20000", "200", release="grid",
                           name=f"heavy{i}", cls="low", period_ns=8 * MS) for i in range(3)]
        wait_until(lambda: len(self.stack.json("tasks")["tasks"]) == 3, what="the neighbours")
        self.end_one(self.start("resnet18", "--frames", "120", "--fps", "30", release="grid", name="victim",
                                period_ns=33_333_333, deadline_ns=3 * MS))
        for hog in hogs:
            hog.kill()
            hog.wait()
        found = self.causes("victim")
        # The neighbours take the CPU, too; what else was late on a busy machine is not judged.
        answers = found.get("queue", []) + found.get("execute", [])
        self.assertGreater(len(answers), 0, numbers(found))
        answer = max(answers, key=lambda one: len(one["neighbours"]))
        text = self.stack.sgprs("why", "victim", str(answer["job"]), "--log", self.log).stdout
        self.assertRegex(text, "heavy[012]")
        # What its stages launch is said of the jobs that went as learnt.
        self.assertIn("wl_conv2d", str([stage["kernels"] for one in answers for stage in one["stages"]]))

    def end_one(self, child):
        _, errors = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, errors)
        time.sleep(0.5)  # a record is written 0.3 s later at most


class Files(Jobs):
    def test_record_show_export(self):
        recording = os.path.join(self.stack.dir, "kept.jobs")
        child = self.start("resnet18", "--frames", "60", "--fps", "30", release="grid", name="cam", period_ns=33_333_333)
        wait_until(lambda: any(t["counters"]["jobs_completed"] > 5 for t in self.stack.json("tasks")["tasks"]), what="jobs")
        self.stack.sgprs("trace", "record", "-o", recording, "--seconds", "1")
        self.end(child)
        kept = json.loads(self.stack.sgprs("trace", "show", "--log", recording, "--json").stdout)
        self.assertEqual(kept["version"], 1)
        self.assertGreater(len(kept["jobs"]), 10)
        all_jobs = {row["job"]: row for row in self.read("trace", "show", "--task", "cam")["jobs"]}
        for row in kept["jobs"]:
            self.assertEqual(row["complete_ns"], all_jobs[row["job"]]["complete_ns"])
        picture = os.path.join(self.stack.dir, "t.json")
        self.stack.sgprs("trace", "export", "--log", recording, "-o", picture)
        self.assertEqual(trace_format.problems(picture), [])
        with open(picture, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        # One flow a job, from its release to its completion.
        self.assertEqual(sum(event["ph"] == "s" for event in events), len(kept["jobs"]))
        lines = self.stack.sgprs("trace", "export", "--log", recording, "--csv").stdout.splitlines()
        self.assertGreater(len(lines), len(kept["jobs"]))

    def test_live_follows_and_ends_well(self):
        live = subprocess.Popen([program("sgprs"), "trace", "live"], env=self.stack.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.end(self.start("resnet18", "--frames", "20", "--fps", "30", release="grid", name="cam", period_ns=33_333_333))
        lines = [live.stdout.readline() for _ in range(10)]
        self.assertTrue(all(" cam " in line for line in lines), lines)
        live.send_signal(signal.SIGINT)
        _, errors = live.communicate(timeout=20)
        self.assertEqual((live.returncode, errors), (0, ""))

    def test_nonsense(self):
        self.end(self.start("resnet18", "--frames", "3", "--fps", "30", release="grid", name="cam", period_ns=33_333_333))
        other = os.path.join(self.stack.dir, "other.jobs")
        with open(other, "wb") as file:
            file.write(b"\x07" * 8192)
        for code, *command in ((1, "why", "nobody"), (1, "why", "cam", "999"), (2, "why"), (2, "why", "cam", "x"),
                               (1, "jitter", "nobody"), (1, "jitter", "--log", "/nowhere"), (2, "trace"),
                               (2, "trace", "shwo"), (1, "trace", "show", "--log", other),
                               (1, "trace", "export", "-o", "/nowhere/t.json"), (2, "trace", "record", "--seconds", "-1")):
            with self.subTest(command):
                done = self.stack.sgprs(*command, check=False)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertRegex(done.stderr, r"^sgprs [^\n]+\n$")


if __name__ == "__main__":
    unittest.main()
