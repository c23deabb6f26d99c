#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sgprsd itself costs, each figure beside its baseline of the same run. JSON.

grant     a job's first launch recorded until its grant is read by the issuer, back to back and
          paced, sgprsd on the issuer's CPU and on another; baseline: the same bells between two
          processes that do nothing else, on the same CPUs
register  clients that register at once until the last is ready; baseline: as many connections to
          a server that only answers
decide    the scheduler's own time a decision at 10, 100 and 1000 tasks (tests/bench/decide)

Runs alternate between sgprsd and baseline; the figure is the median of --repeats.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from stack import BIN, Stack  # noqa: E402

PROBE = os.path.join(BIN, "..", "tests", "bin", "runtime_probe")


def call(*words):
    """One JSON object of a program."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(words[0])}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def medians(objects):
    """Median of each key."""
    return {key: statistics.median(o[key] for o in objects) for key in objects[0]}


def beside(repeats, measure, baseline, keys):
    """Medians of both, and their ratio for each of `keys`."""
    seen = ([], [])
    for _ in range(repeats):
        seen[0].append(baseline())
        seen[1].append(measure())
    base, own = medians(seen[0]), medians(seen[1])
    return {"sgprsd": own, "baseline": base, "ratio": {key: own[key] / base[key] for key in keys}}


def stay_on(pid, cpus):
    """Keeps every thread of a process on these CPUs."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), cpus)


def grants(stack, args, pause_ns, here, there):
    """Round trips between a client on CPU `here` and sgprsd on CPU `there`."""
    count = args.count if pause_ns == 0 else max(args.count // 10, 100)
    stay_on(stack.daemon.pid, {there})
    return beside(args.repeats, lambda: call(PROBE, "grant", stack.socket, count, pause_ns, here),
                  lambda: call(PROBE, "futex", count, pause_ns, here, there), ("p50_ns", "p99_ns"))


def placements():
    """{name: (CPU of the client, CPU of sgprsd)}."""
    cpus = sorted(os.sched_getaffinity(0))
    result = {"one_cpu": (cpus[0], cpus[0])}
    if len(cpus) > 1:
        result["two_cpus"] = (cpus[0], cpus[1])
    return result


def decisions():
    """Time a decision by policy and number of tasks, or None if that benchmark was not built."""
    for directory in (BIN, os.path.dirname(PROBE)):
        program = os.path.join(directory, "decide_bench")
        if os.path.exists(program):
            rows = call(program, "--benchmark_format=json")["benchmarks"]
            return {row["name"]: {"cpu_ns": row["cpu_time"]} for row in rows}
    return None


def main():
    """Runs everything, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--count", type=int, default=10000, help="round trips back to back (a tenth of them paced)")
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--policy", default="sgprs")
    args = parser.parse_args()
    if not os.path.exists(PROBE):
        sys.exit("bench_runtime: build the target sgprs_benches first")
    result = {"version": 1, "cpus": os.cpu_count(), "load_before": os.getloadavg()[0], "policy": args.policy}
    with Stack(policy=args.policy, log="error") as stack:
        result["grant"] = {
            name: {"back_to_back": grants(stack, args, 0, *cpus), "every_1ms": grants(stack, args, 1_000_000, *cpus)}
            for name, cpus in placements().items()}
        stay_on(stack.daemon.pid, os.sched_getaffinity(0))
        result["register"] = beside(args.repeats, lambda: call(PROBE, "register", stack.socket, args.clients),
                                    lambda: call(PROBE, "connect", args.clients), ("total_ns",))
        result["register"]["clients"] = args.clients
        result["cut"] = stack.json("status")["clients"]["cut"]
    result["decide"] = decisions()
    result["load_after"] = os.getloadavg()[0]
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
