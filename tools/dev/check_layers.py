#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes go only in the directions of layers.json.

check_layers.py [--root DIR]    exit 0 fine, 1 some include goes the wrong way, 2 bad usage
"""
import argparse
import json
import pathlib
import re
import sys

from sources import list_sources

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
RULES = pathlib.Path(__file__).with_name("layers.json")


def load_rules(path=RULES):
    rules = json.loads(path.read_text(encoding="utf-8"))
    del rules["_"]
    return rules


def layer_of(path, rules):
    """The longest key that `path` starts with, or None."""
    return max((key for key in rules if path.startswith(key)), key=len, default=None)


def resolve(name, includer, root):
    """Path of an included file inside the tree, or None: the system's, or made by the build."""
    for base in (includer.parent, root, root / "include"):
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root).as_posix()
    return None


def allowed(source, target, rules):
    layer = layer_of(source, rules)
    if layer is None:
        return False
    if layer_of(target, rules) == layer:
        return True
    for permitted in rules[layer]:
        if permitted == "all" or target == permitted:
            return True
        if permitted.endswith("/") and target.startswith(permitted):
            return True
    return False


def violations(root, paths, rules):
    """Yields (path, line number, target, layer of path)."""
    for path in paths:
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for match in INCLUDE.finditer(text):
            target = resolve(match.group(1) or match.group(2), root / path, root)
            if target is not None and not allowed(path, target, rules):
                line = text.count("\n", 0, match.end()) + 1
                yield path, line, target, layer_of(path, rules)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[2])
    root = parser.parse_args().root.resolve()
    rules = load_rules()
    paths = list_sources(root, (".c", ".cc", ".h", ".inc", ".S"))
    bad = 0
    for path, line, target, layer in violations(root, paths, rules):
        bad += 1
        may = ", ".join(rules[layer]) if layer else "nothing: the directory is not in layers.json"
        print(f"{path}:{line}: includes {target}; {layer or path} may include {may or 'only itself'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
