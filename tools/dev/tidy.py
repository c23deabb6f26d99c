#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over a built tree, two at a time, skipping what it already found clean.

tidy.py BUILD_DIR [PATH...]    PATH: only sources below these; exit 0 clean, 1 findings

A source is skipped if it, each file of the tree that it includes (as ninja knows them), its command
line and the .clang-tidy files are what they were when it was last clean. The marks live in
$XDG_CACHE_HOME/sgprs-tidy, so that a fresh clone profits too.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

from sources import list_sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sgprs-tidy"
MARKS_KEPT = 4000


def ninja_deps(build):
    """Object path -> files it was compiled from, in or below ROOT."""
    text = subprocess.run(["ninja", "-C", str(build), "-t", "deps"],
                          capture_output=True, text=True, check=True).stdout
    deps, current = {}, None
    for line in text.splitlines():
        if line and not line.startswith(" "):
            current = deps.setdefault(line.split(":")[0], [])
        elif line.strip() and current is not None:
            path = (build / line.strip()).resolve()
            if path.is_relative_to(ROOT):
                current.append(path)
    return deps


@functools.cache
def configuration():
    """What the .clang-tidy files say; a folder's own one is merged with those above it."""
    files = list_sources(ROOT, (".clang-tidy",))
    return "".join(path + (ROOT / path).read_text(encoding="utf-8") for path in files)


def key(entry, sources, build):
    digest = hashlib.sha256()
    command = re.sub(r"^.*?ccache\s+", "", entry["command"])
    for part in (command, configuration()):
        digest.update(part.replace(str(build), "BUILD").replace(str(ROOT), "ROOT").encode())
    for path in sorted(set(sources)):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes() if path.is_file() else b"gone")
    return digest.hexdigest()


def run_tidy(build, source):
    started = time.monotonic()
    # The build is gcc's: its options need not be clang's.
    command = ["clang-tidy", "--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p", str(build), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - started


def select(build, prefixes):
    """[(source, mark or None)] of the compile commands below `prefixes`."""
    deps = ninja_deps(build)
    chosen = []
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        source = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not source.is_relative_to(ROOT) or source.is_relative_to(ROOT / "build"):
            continue
        relative = source.relative_to(ROOT).as_posix()
        if source.suffix not in (".c", ".cc") or not relative.startswith(tuple(prefixes)):
            continue
        known = deps.get(entry.get("output") or re.search(r" -o (\S+)", entry["command"]).group(1))
        chosen.append((source, CACHE / key(entry, known, build) if known else None))
    return sorted(dict(chosen).items())


def prune():
    marks = sorted(CACHE.iterdir(), key=lambda mark: mark.stat().st_mtime)
    for mark in marks[:-MARKS_KEPT]:
        mark.unlink(missing_ok=True)


def check(build, chosen, jobs):
    """Number of sources with findings."""
    waiting = [(source, mark) for source, mark in chosen if mark is None or not mark.exists()]
    print(f"clang-tidy: {len(waiting)} of {len(chosen)} sources to check", flush=True)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(run_tidy, build, source): (source, mark) for source, mark in waiting}
        for run in concurrent.futures.as_completed(runs):
            source, mark = runs[run]
            status, findings, errors, seconds = run.result()
            if status == 0:
                if mark:
                    mark.touch()
                continue
            bad += 1
            print(f"{source.relative_to(ROOT)} ({seconds:.0f} s):\n{findings}", flush=True)
            if not findings:
                print(errors, flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("paths", nargs="*", default=["include/", "runtime/", "shim/", "tools/"])
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_intermixed_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    build = arguments.build.resolve()
    if not (build / "compile_commands.json").is_file():
        parser.error(f"{arguments.build} is not built: run `make build`")
    bad = check(build, select(build, arguments.paths), arguments.jobs)
    prune()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
