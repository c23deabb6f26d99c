#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills the generated parts of Markdown files from where each thing is declared once.

gen_docs.py            rewrites what differs
gen_docs.py --check    says what differs and exits 1

A part looks like:   <!-- generated: NAME -->   ...   <!-- end -->   with NAME a key of TABLES.
"""
import argparse
import pathlib
import re
import sys

from sources import list_sources

PART = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end -->)", re.S)


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def environment(root):
    text = (root / "runtime/base/environment.inc").read_text(encoding="utf-8")
    rows = re.findall(r'^SGPRS_ENV\(\s*\w+,\s*"(\w+)",\s*"([^"]*)"\)', text, re.M)
    return table(("variable", "meaning"), [(f"`{name}`", meaning) for name, meaning in rows])


def counters(root):
    text = (root / "include/sgprs/abi/task_counters.inc").read_text(encoding="utf-8")
    rows = re.findall(r'^SGPRS_COUNTER\(\s*(\w+),\s*"(\w+)",\s*"([^"]*)"\)', text, re.M)
    return table(("counter", "unit", "meaning"),
                 [(f"`{name}`", unit, meaning) for name, unit, meaning in rows])


def targets(root):
    text = (root / "Makefile").read_text(encoding="utf-8")
    rows = re.findall(r"^([a-z-]+):.*?## (.*)$", text, re.M)
    return table(("target", "what it does"), [(f"`make {name}`", what) for name, what in rows])


# What the shim does, in one word, by treatment of hooked_calls.inc.
SHIM_DOES = {
    "RECORD": "record", "QUERY": "answer", "LOOKUP": "answer", "SYNC": "drain", "CAPTURE": "drain", "DESTROY": "drain",
    "DRAIN": "drain", "DIRECT": "forward", "CREATE": "forward", "START": "forward", "FORWARD": "forward",
}  # fmt: skip


def shim_calls(root):
    """Symbols by family and by what the shim does; the symbols of a base name are in abi_variants.txt."""
    variants = {}
    for line in (root / "shim/interpose/abi_variants.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            base, _, *entries = line.split()
            variants.setdefault(base, set()).update(entry.split(":")[1] for entry in entries)
    for name in ("cuProfilerInitialize", "cuProfilerStart", "cuProfilerStop"):
        variants.setdefault(name, {name})
    text = (root / "shim/hooked_calls.inc").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    families, own, bases = {}, {}, {}
    family = None
    rows = r'SGPRS_GROUP\(\s*"([^"]*)",\s*"([^"]*)"\)|SGPRS_(CALL|BASE)\((\w+),\s*(\w+)\)'
    for name, why, kind, symbol, treatment in re.findall(rows, text):
        if name:
            family = name
            families[family] = why
        else:
            (own if kind == "CALL" else bases)[symbol] = (family, SHIM_DOES[treatment])
    counts = {name: {} for name in families}
    for symbols in variants.values():
        for symbol in symbols:
            base = re.sub(r"_v\d+$", "", re.sub(r"_pt[ds][sz]$", "", symbol))
            row = own.get(symbol) or bases.get(base)
            if row is None:
                raise SystemExit(f"gen_docs: {symbol} has no row in shim/hooked_calls.inc")
            counts[row[0]][row[1]] = counts[row[0]].get(row[1], 0) + 1
    does = ("record", "answer", "drain", "forward")
    lines = [(name, *(str(counts[name].get(word, "")) for word in does), why) for name, why in families.items()]
    sums = [sum(count.get(word, 0) for count in counts.values()) for word in does]
    lines.append(("**all " + str(sum(sums)) + "**", *(f"**{n}**" for n in sums), ""))
    return table(("family", *does, "why"), lines)


def not_simulated(root):
    names = (root / "tools/simgpu/driver/not_simulated.txt").read_text(encoding="utf-8").split()
    families = {}
    for name in names:
        families.setdefault(re.match(r"cu[A-Z][a-z]*", name).group(0), []).append(name)
    return table(("family", "calls"), [(f"`{family}*`", ", ".join(f"`{name}`" for name in calls))
                                       for family, calls in families.items()])


TABLES = {"environment": environment, "counters": counters, "targets": targets,
          "shim_calls": shim_calls, "not_simulated": not_simulated}


def fill(text, root):
    def replace(match):
        name = match.group(2)
        if name not in TABLES:
            raise SystemExit(f"gen_docs: no table is called {name}; known: {', '.join(TABLES)}")
        return match.group(1) + TABLES[name](root) + match.group(4)
    return PART.sub(replace, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 on a difference")
    arguments = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parents[2]
    differ = 0
    for path in list_sources(root, (".md",)):
        file = root / path
        old = file.read_text(encoding="utf-8")
        new = fill(old, root)
        if new == old:
            continue
        differ += 1
        if arguments.check:
            print(f"{path}: a generated part is out of date; run `make docs`")
        else:
            file.write_text(new, encoding="utf-8")
            print(f"{path}: rewritten")
    return 1 if arguments.check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
