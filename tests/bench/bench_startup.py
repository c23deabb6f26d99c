#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the preloaded shim costs programs that never use CUDA: their whole life, start to end. JSON.

Each program runs --runs times bare and as often with LD_PRELOAD=libsgprs-shim.so, one after the
other, the order of the two changing each time. Per program: median and 90th percentile in ms,
difference and ratio of the medians, and whether output, exit code and stderr are the same and
stderr is empty. Exit code 1 if they are not.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from stack import BIN, SHIM  # noqa: E402

PROBE = os.path.join(BIN, "..", "tests", "bin", "startup_probe")
PROGRAMS = {
    "bash": ["/bin/bash", "-c", "true"],
    "ls": ["/bin/ls", "/"],
    "python": [os.path.realpath(sys.executable), "-c", "pass"],
    "forks": [PROBE, "forks"],
    "threads_64": [PROBE, "threads"],
}


def environments():
    """Of a bare run and of a preloaded one."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("LD_", "SGPRS_"))}
    return bare, {**bare, "LD_PRELOAD": SHIM}


def life_ms(command, environment, null):
    """From the start of the program to its end seen by its parent."""
    files = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
    start_ns = time.perf_counter_ns()
    pid = os.posix_spawn(command[0], command, environment, file_actions=files)
    os.waitpid(pid, 0)
    return (time.perf_counter_ns() - start_ns) / 1e6


def same(command):
    """(what people see is equal, stderr is empty)."""
    seen = []
    for environment in environments():
        done = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
        seen.append((done.returncode, done.stdout, done.stderr))
    return seen[0] == seen[1], seen[1][2] == b""


def measure(command, runs, null):
    """One program, bare and preloaded."""
    spent = ([], [])
    columns = list(enumerate(environments()))
    for turn in range(-5, runs):
        for column, environment in columns if turn % 2 else reversed(columns):
            ms = life_ms(command, environment, null)
            if turn >= 0:  # the first ones fill the page cache
                spent[column].append(ms)
    bare, shim = (statistics.median(column) for column in spent)
    equal, silent = same(command)
    p90 = [statistics.quantiles(column, n=10)[8] for column in spent]
    return {"bare_ms": bare, "shim_ms": shim, "difference_ms": shim - bare, "ratio": shim / bare,
            "bare_p90_ms": p90[0], "shim_p90_ms": p90[1], "same": equal, "stderr_empty": silent}


def main():
    """Runs everything, prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="of each kind (at least 2)")
    args = parser.parse_args()
    for path in (SHIM, PROBE):
        if not os.path.exists(path):
            sys.exit(f"bench_startup: no {path}: build the target sgprs_benches first")
    result = {"version": 1, "cpus": os.cpu_count(), "runs": args.runs, "load_before": os.getloadavg()[0]}
    with open(os.devnull, "r+b") as null:
        result["programs"] = {name: measure(words, args.runs, null.fileno()) for name, words in PROGRAMS.items()}
    result["load_after"] = os.getloadavg()[0]
    print(json.dumps(result, indent=2))
    return 0 if all(row["same"] and row["stderr_empty"] for row in result["programs"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
