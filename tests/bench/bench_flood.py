#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a frame's first launch takes to the device, alone and beside a flood. JSON.

A 30 fps resnet18 of class high runs alone and beside `burst`, a best-effort process that keeps the
device full of 100 us kernels: under sgprs, bare with MPS, and bare without (processes take turns).
All take turns, --repeats times; each setting has a device of its own that is idle meanwhile.

  to_device  the frame's first driver call until its first kernel starts on the device. Between the
             two: the input's copy, the recording, the grant, the issue, and whatever is in the way
  first_done the same until that kernel's end: a kernel that has started and whose process has to
             wait for its turn counts here
  latency    the frame's release until the program has its output

A frame's times are the program's (--frames-file), a kernel's start is the device's (simgpu --log);
both are CLOCK_MONOTONIC. The first --skip frames of a run are left out (sgprs learns in them). A
ratio is beside / alone within one setting.

A ratio below 1 comes from the CPUs: alone they sleep between two frames, and waking one of them takes
longer than all the rest; the flood keeps them awake. --awake takes that difference away: on each CPU
spins a process of SCHED_IDLE, in all runs.
"""
import argparse
import bisect
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from stack import Stack, wait_until  # noqa: E402

PERIOD_NS = 33_333_333
FIGURES = ("to_device", "first_done", "latency")
FLOOD_SEEN = 1000  # kernels of the flooder until it counts as flooding (it calibrates itself first)


class Setting:
    """One way to share the device: its stack, and what its runs showed."""

    def __init__(self, name, args, directory, shim, mps):
        self.args, self.shim = args, shim
        self.runs = {"alone": [], "beside": []}  # [(pid, frames)]
        self.flood_us = []
        self.frames_file = os.path.join(directory, f"{name}.frames")
        self.log = os.path.join(directory, f"{name}.jsonl")
        policy = {"policy": args.policy, "log": "error"} if shim else {}
        self.stack = Stack(device=args.device, daemon=shim, mps=mps, simgpu_args=("--log", self.log), **policy)

    def run(self, kind):
        """One run of the critical program."""
        child = self.stack.start("resnet18", "--seconds", str(self.args.seconds), "--frames-file", self.frames_file,
                                 shim=self.shim, period_ns=PERIOD_NS, cls="high", name="critical")
        _, errors = child.communicate(timeout=60 + 4 * self.args.seconds)
        if child.returncode != 0:
            sys.exit(f"resnet18: {errors.strip()}")
        with open(self.frames_file, encoding="utf-8") as file:
            self.runs[kind].append((child.pid, [json.loads(line) for line in file]))

    def flooded(self, pid):
        """Does the process flood by now?"""
        return any(client["pid"] == pid and client["kernels"] > FLOOD_SEEN
                   for client in self.stack.device_stats()["clients"])

    def run_beside(self):
        """One run beside the flood."""
        flood = self.stack.start("burst", "--kernel-us", str(self.args.kernel_us), "--json", shim=self.shim,
                                 cls="best-effort", name="flood")
        wait_until(lambda: self.flooded(flood.pid), what="the flood")
        self.run("beside")
        flood.terminate()
        self.flood_us.append(json.loads(flood.communicate(timeout=30)[0])["us_per_kernel"])

    def close(self):
        """Ends the stack; the log is whole then."""
        self.stack.close()

    def kernels(self):
        """{process: (start, end) of its kernels on the device, sorted}."""
        found = {}
        with open(self.log, encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                if row["kind"] == "kernel":
                    found.setdefault(row["pid"], []).append((row["start_ns"], row["end_ns"]))
        return {pid: sorted(rows) for pid, rows in found.items()}

    def summary(self):
        """Percentiles of both figures, alone and beside, and their ratios."""
        kernels = self.kernels()
        result = {}
        for kind, runs in self.runs.items():
            seen = {name: [] for name in FIGURES}
            for pid, frames in runs:
                for frame in frames[self.args.skip:]:
                    call_ns = frame["first_call_ns"]
                    start_ns, end_ns = kernels[pid][bisect.bisect_left(kernels[pid], (call_ns, 0))]
                    seen["to_device"].append(start_ns - call_ns)
                    seen["first_done"].append(end_ns - call_ns)
                    seen["latency"].append(frame["done_ns"] - frame["release_ns"])
            result[kind] = {name: percentiles(values) for name, values in seen.items()}
        result["ratio"] = {name: {key: result["beside"][name][key] / result["alone"][name][key] for key in ("p50", "p90")}
                           for name in FIGURES}
        result["flood_us_per_kernel"] = statistics.median(self.flood_us)
        return result


@contextlib.contextmanager
def awake(wanted):
    """Keeps every CPU from sleeping, out of everybody's way."""
    spin = "import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\nwhile True: pass"
    cpus = sorted(os.sched_getaffinity(0)) if wanted else []
    children = [subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", spin]) for cpu in cpus]
    try:
        yield
    finally:
        for child in children:
            child.kill()
            child.wait()


def percentiles(values):
    """Of durations in ns."""
    tenths = statistics.quantiles(values, n=10)
    return {"count": len(values), "min": min(values), "p50": statistics.median(values), "p90": tenths[8],
            "max": max(values)}


def main():
    """Runs everything, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="length of each run")
    parser.add_argument("--skip", type=int, default=15, help="frames at the start of a run that do not count")
    parser.add_argument("--kernel-us", type=float, default=100, help="length of the flood's kernels")
    parser.add_argument("--policy", default="sgprs")
    parser.add_argument("--device", default="rtx2080ti")
    parser.add_argument("--awake", action="store_true", help="keep the CPUs from sleeping")
    args = parser.parse_args()
    result = {"version": 1, "device": f"simulated {args.device}", "policy": args.policy, "cpus": os.cpu_count(),
              "awake": args.awake, "load_before": os.getloadavg()[0]}
    settings = {}
    with tempfile.TemporaryDirectory(prefix="sgprs-bench-") as directory, awake(args.awake):
        try:
            for name, shim, mps in (("sgprs", True, "on"), ("bare_mps", False, "on"), ("bare_turns", False, "off")):
                settings[name] = Setting(name, args, directory, shim, mps)
            for _ in range(args.repeats):
                for setting in settings.values():
                    setting.run("alone")
                    setting.run_beside()
        finally:
            for setting in settings.values():
                setting.close()
        result["settings"] = {name: setting.summary() for name, setting in settings.items()}
    result["load_after"] = os.getloadavg()[0]
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
