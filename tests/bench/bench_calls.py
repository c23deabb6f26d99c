#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the shim costs a call, each figure beside the bare one of the same run. JSON.

record  ns an event record        wait   ns a wait for an event
sync    ns a synchronisation with a stream that has nothing to do
graph   ns a launch of a graph of 10 kernels
start   ms from exec to the first kernel's end, with registration

Runs alternate between bare and recorded, the figure is the median of --repeats.
"""
import argparse
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "faults"))
from probe_case import PROBE, probe_stack  # noqa: E402


def call_times(stack, shim):
    """{name: ns} of one run of the scenario."""
    done = stack.run(PROBE, "time-calls", "2000", shim=shim, timeout=100)
    if done.returncode != 0:
        sys.exit(f"driver_probe: {done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[0])


def start_time(stack, shim):
    """Whole life of a program of one launch, ms."""
    begin = time.monotonic()
    done = stack.run(PROBE, "eager", "1", "1", shim=shim)
    if done.returncode != 0:
        sys.exit(f"driver_probe: {done.stderr.strip()}")
    return (time.monotonic() - begin) * 1e3


def main():
    """Runs everything, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    seen = {}
    with probe_stack(policy="sgprs") as stack:
        for _ in range(args.repeats):
            for column, shim in ((0, False), (1, True)):
                times = {**call_times(stack, shim), "start_ms": start_time(stack, shim)}
                for name, value in times.items():
                    seen.setdefault(name, ([], []))[column].append(value)
    result = {"version": 1, "device": "simulated rtx2080ti", "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
    for name, (bare, shim) in seen.items():
        result[name] = {"bare": statistics.median(bare), "shim": statistics.median(shim),
                        "ratio": statistics.median(shim) / statistics.median(bare)}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
