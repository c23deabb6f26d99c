#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes fake_driver.gen.inc: gen_fake_driver.py SYMBOLS ABI_VARIANTS OUTPUT

FAKE_PLAIN(name) for each symbol that fake_driver.c does not write by hand, FAKE_NAME(name) for each
symbol, FAKE_VARIANT(base, per_thread, version, name) for each row of abi_variants.txt.
"""
import sys

BY_HAND = {
    "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2", "cuInit", "cuLaunchKernel",
    "cuLaunchCooperativeKernel", "cuParamSetf",
}  # fmt: skip


def main():
    symbols_path, variants_path, output_path = sys.argv[1:]
    with open(symbols_path, encoding="utf-8") as file:
        symbols = file.read().split()
    lines = ["#ifdef FAKE_PLAIN"]
    lines += [f"FAKE_PLAIN({name})" for name in symbols if name not in BY_HAND]
    lines += ["#endif", "#ifdef FAKE_NAME", *[f"FAKE_NAME({name})" for name in symbols], "#endif"]
    lines += ["#ifdef FAKE_VARIANT"]
    with open(variants_path, encoding="utf-8") as file:
        for row in file:
            if row.startswith("#"):
                continue
            base, stream, *entries = row.split()
            for entry in entries:
                version, name = entry.split(":")
                lines.append(f"FAKE_VARIANT({base}, {int(stream != 'legacy')}, {version}, {name})")
    with open(output_path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines + ["#endif", ""]))


main()
