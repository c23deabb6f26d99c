#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks each file of the tree: length, licence line, nothing that names one machine.

check_files.py [--root DIR]    exit 0 fine (warnings may be printed), 1 some file breaks a rule
"""
import argparse
import pathlib
import re
import sys

from sources import list_sources

CODE = (".c", ".cc", ".h", ".inc", ".py", ".sh", ".S", ".cmake")
LONG_LINES = 500
TOO_LONG_LINES = 800
SPDX = {"default": "SPDX-License-Identifier: Apache-2.0", ".bpf.c": "SPDX-License-Identifier: GPL-2.0"}
# Folders that only some machine has. This line is the one place that may spell them.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home|root|Users)/[\w.]+")
NOT_TEXT = (".golden", ".bin", ".cubin", ".fatbin", ".png", ".lz4", ".zst")


def is_code(path):
    return path.endswith(CODE) or path.endswith(("CMakeLists.txt", "Makefile")) or path == ".ci/run"


def check_text(path, text):
    """Yields (line number, "error" or "warning", what)."""
    lines = text.splitlines()
    if is_code(path):
        wanted = SPDX[".bpf.c"] if path.endswith(".bpf.c") else SPDX["default"]
        if not any(wanted in line for line in lines[:3]):
            yield 1, "error", f"no '{wanted}' in the first lines"
        if len(lines) > TOO_LONG_LINES:
            yield len(lines), "error", f"{len(lines)} lines; more than {TOO_LONG_LINES} is too long"
        elif len(lines) > LONG_LINES:
            yield len(lines), "warning", f"{len(lines)} lines; can it be two files?"
    for number, line in enumerate(lines, 1):
        found = MACHINE_PATH.search(line)
        if found and path != "tools/dev/check_files.py":
            yield number, "error", f"a path of one machine: {found.group()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    root = parser.parse_args().root.resolve()
    errors = 0
    for path in list_sources(root):
        if path.endswith(NOT_TEXT) or "/corpus/" in path:
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for line, severity, what in check_text(path, text):
            print(f"{path}:{line}: {severity}: {what}")
            errors += severity == "error"
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
