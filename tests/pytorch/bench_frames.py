#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What sgprs costs a PyTorch program: CPU time of a ResNet18 frame, its response time, time to the first one, each beside
the bare figure of the same run, turn by turn. JSON; compare ratios.

CPU time is the process's, with the shim's threads in it. The device is simulated: response times are the model's.
"""
import argparse
import json
import os
import statistics
import sys

import programs

FIGURES = ("cpu_ms", "median_ms", "first_s")
MODES = {"eager": [], "graph": ["--graph"]}
PERIOD_NS = 33_333_333


def measure(new_stack, command, mode, repeats):
    """{figure: {bare, shim, ratio}} of one mode; medians. Raises RuntimeError: the program failed."""
    seen = {False: [], True: []}
    for _ in range(repeats):
        for shim in (False, True):
            with new_stack(policy="sgprs") as stack:
                how = {"name": "net", "period_ns": PERIOD_NS} if shim else {}
                done = stack.run(*command("resnet18", "--frames", "60", "--fps", "30", *MODES[mode]), shim=shim, timeout=200,
                                 **how)
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip()[-300:])
            seen[shim].append(json.loads(done.stdout))
    out = {}
    for key in FIGURES:
        bare, shim = (statistics.median(row[key] for row in seen[which]) for which in (False, True))
        out[key] = {"bare": bare, "shim": shim, "ratio": round(shim / bare, 3)}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    result = {"version": 1, "device": "simulated rtx2080ti", "cpus": os.cpu_count(), "load": os.getloadavg()[0]}
    try:
        for mode in MODES:
            result[mode] = measure(programs.new_stack, programs.command, mode, args.repeats)
    except RuntimeError as error:
        sys.exit(f"resnet18.py: {error}")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
