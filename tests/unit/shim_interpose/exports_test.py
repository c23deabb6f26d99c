#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the shim brings into a foreign process: exports_test.py LIBRARY SYMBOLS"""
import re
import subprocess
import sys
import unittest

MINIMUM_GLIBC = (2, 34)
DL_NAMES = {"dlopen", "dlmopen", "dlsym", "dlvsym"}
LIBRARY, SYMBOLS = sys.argv[1:3]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Exports(unittest.TestCase):
    def setUp(self):
        self.dynamic = run("readelf", "-dW", LIBRARY)
        self.defined = [line.split()[-1] for line in
                        run("nm", "-D", "--defined-only", LIBRARY).splitlines()
                        if line.split()[-2] != "A"]  # fmt: skip
        with open(SYMBOLS, encoding="utf-8") as file:
            self.symbols = set(file.read().split())

    def test_b21_name_and_needed(self):
        self.assertEqual(re.findall(r"\(SONAME\).*\[(.*)\]", self.dynamic), ["libcuda.so.1"])
        self.assertEqual(re.findall(r"\(NEEDED\).*\[(.*)\]", self.dynamic), ["libc.so.6"])
        self.assertRegex(self.dynamic, r"FLAGS_1.*NODELETE")
        self.assertRegex(self.dynamic, r"\(SYMBOLIC\)|FLAGS\).*SYMBOLIC")
        self.assertNotRegex(self.dynamic, r"RPATH|RUNPATH|TEXTREL")

    def test_every_driver_symbol_and_nothing_else(self):
        self.assertGreaterEqual(len(self.symbols), 637)
        names = {name.split("@")[0] for name in self.defined}
        self.assertEqual(self.symbols - names, set())
        # sgprs_shim_*: for include/sgprs/sgprs.h; the other is what NVTX in a program looks for
        extra = {n for n in names - self.symbols - DL_NAMES if not n.startswith("sgprs_shim_")}
        self.assertEqual(extra, {"InitializeInjectionNvtx2"})

    def test_driver_symbols_have_no_version_and_dl_ones_have_two(self):
        versions = {}
        for name in self.defined:
            base, _, version = name.partition("@")
            versions.setdefault(base, []).append(version)
        for name in DL_NAMES:
            self.assertEqual(len(versions[name]), 2, name)
            self.assertIn("@GLIBC_2.34", versions[name])
        self.assertEqual([n for n in self.symbols if versions[n] != [""]], [])

    def test_b4_b8_glibc_floor(self):
        undefined = run("nm", "-D", "--undefined-only", LIBRARY)
        self.assertNotIn("GLIBC_PRIVATE", undefined)
        self.assertNotIn("GLIBCXX", undefined)
        found = {tuple(map(int, v.split("."))) for v in re.findall(r"@GLIBC_([\d.]+)", undefined)}
        self.assertLessEqual(max(found), MINIMUM_GLIBC)

    def test_b13_no_constructor_but_the_compiler_s_own(self):
        size = re.search(r"\(INIT_ARRAYSZ\)\s+(\d+)", self.dynamic)
        self.assertTrue(size is None or int(size[1]) <= 8, "a source file has a constructor")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
