#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recording costs the application, each figure beside its baseline of the same run. JSON.

launch   ns a launch in the application thread (8 arguments), recorded and bare, driver call ~0
round    100 launches + synchronise with a 2 us driver call: wall and CPU time, recorded / bare
syscalls system calls a launch of the application thread while it launches (strace, if installed)

Runs alternate between bare and recorded, the figure is the median of --repeats.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from stack import Stack, program  # noqa: E402


def manylaunch(stack, shim, launches, rounds, env=None):
    """One run of manylaunch; its JSON."""
    done = stack.run("manylaunch", "--launches", str(launches), "--rounds", str(rounds), "--no-verify", "--json",
                     shim=shim, env=env, timeout=300)
    if done.returncode != 0:
        sys.exit(f"manylaunch: {done.stderr.strip()}")
    return json.loads(done.stdout)


def pairs(stack, repeats, launches, rounds, env, keys):
    """Medians over alternating bare and recorded runs: {key: (bare, recorded)}."""
    seen = {key: ([], []) for key in keys}
    for _ in range(repeats):
        for column, shim in ((0, False), (1, True)):
            result = manylaunch(stack, shim, launches, rounds, env)
            for key in keys:
                value = result
                for part in key.split("."):
                    value = value[part]
                seen[key][column].append(value)
    return {key: tuple(statistics.median(column) for column in columns) for key, columns in seen.items()}


def syscalls_per_launch(stack, launches, rounds):
    """System calls of the launching thread a launch, or None without strace."""
    strace = shutil.which("strace")
    if not strace:
        return None
    with tempfile.TemporaryDirectory() as directory:
        counts = []
        for n in (rounds, rounds * 3):
            out = os.path.join(directory, f"trace{n}")
            subprocess.run([strace, "-c", "-o", out, program("manylaunch"), "--launches", str(launches), "--rounds",
                            str(n), "--no-verify"], env=stack.environment(), capture_output=True, timeout=600, check=True)
            with open(out, encoding="utf-8") as file:
                total = re.search(r"^\s*100\.00.*$", file.read(), re.M).group(0).split()
            counts.append(int(total[3]))
        return (counts[1] - counts[0]) / (launches * rounds * 2)


def main():
    """Runs everything, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--device", default="rtx2080ti")
    args = parser.parse_args()
    result = {"version": 1, "device": f"simulated {args.device}", "cpus": os.cpu_count()}
    with Stack(device=args.device, policy="sgprs") as stack:
        launch = pairs(stack, args.repeats, 1000, 20, None, ["launch_ns.p50"])["launch_ns.p50"]
        result["launch"] = {"bare_ns": launch[0], "recorded_ns": launch[1], "ratio": launch[1] / launch[0]}
        rounds = pairs(stack, args.repeats, 100, 200, {"SGPRS_SIMGPU_CALL_NS": "2000"}, ["round_ns.p50", "cpu_ns_per_round"])
        result["round"] = {key: {"bare": bare, "recorded": recorded, "ratio": recorded / bare}
                           for key, (bare, recorded) in rounds.items()}
        result["syscalls_per_launch"] = syscalls_per_launch(stack, 1000, 20)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
