#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/dev: the checks find what they are for."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/dev"))
import check_files  # noqa: E402
import check_layers  # noqa: E402
import gen_docs  # noqa: E402


class Layers(unittest.TestCase):
    def setUp(self):
        self.rules = check_layers.load_rules()

    def test_directions_of_the_design(self):
        abi, base, lane = "include/sgprs/abi/lane.h", "runtime/base/result.h", "runtime/lane/doorbell.h"
        policy, sched = "runtime/policy/policy.h", "runtime/sched/scheduler.h"
        model = "runtime/model/fluid.h"
        cases = [
            (base, abi, True), (abi, base, False), (base, lane, False), (lane, base, True),
            ("shim/connect.cc", lane, True), ("shim/issue/issuer.cc", base, True),
            ("shim/connect.cc", sched, False), ("shim/connect.cc", policy, False),
            (sched, policy, True), (policy, sched, False), (sched, lane, False), (policy, lane, False),
            (sched, "runtime/loop/loop.h", False), (policy, "runtime/loop/loop.h", False),
            (model, sched, True), (sched, model, False),
            ("tools/simgpu/device/device.cc", model, True), ("tools/sgprs/run.cc", abi, True),
            ("tools/sgprs/run.cc", sched, False), ("tools/simgpu/driver/call.cc", lane, False),
            ("tools/workloads/net.cc", abi, False), ("bpf/release.bpf.c", abi, True),
            ("bpf/release.bpf.c", base, False), ("runtime/pool/pool.cc", policy, True),
            ("runtime/main.cc", sched, True), ("runtime/main.cc", "shim/connect.h", False),
            ("tests/unit/lane/x.cc", sched, True), ("elsewhere/x.cc", abi, False),
        ]
        for source, target, fine in cases:
            with self.subTest(source=source, target=target):
                self.assertEqual(check_layers.allowed(source, target, self.rules), fine)

    def test_finds_a_wrong_include_in_a_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            files = {
                "include/sgprs/abi/lane.h": "",
                "runtime/sched/scheduler.h": "",
                "shim/own.h": "",
                "shim/connect.cc": '#include <vector>\n#include "own.h"\n'
                                   '#include "sgprs/abi/lane.h"\n#  include "runtime/sched/scheduler.h"\n',
            }
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            found = list(check_layers.violations(root, files, self.rules))
        self.assertEqual(found, [("shim/connect.cc", 4, "runtime/sched/scheduler.h", "shim/")])

    def test_every_rule_names_known_layers(self):
        for layer, permitted in self.rules.items():
            for name in permitted:
                known = name == "all" or name in self.rules or not name.endswith("/")
                self.assertTrue(known, f"{layer}: {name}")


class Files(unittest.TestCase):
    SPDX = "// SPDX-License-Identifier: Apache-2.0\n"

    def check(self, path, text):
        return [(severity, what.split(";")[0]) for _, severity, what in check_files.check_text(path, text)]

    def test_good(self):
        self.assertEqual(self.check("a.cc", self.SPDX + "int a;\n"), [])
        self.assertEqual(self.check("README.md", "no licence line needed\n"), [])

    def test_length(self):
        self.assertEqual(self.check("a.cc", self.SPDX + "\n" * 500), [("warning", "501 lines")])
        self.assertEqual(self.check("a.cc", self.SPDX + "\n" * 800)[0][0], "error")

    def test_licence(self):
        self.assertEqual(self.check("a.cc", "int a;\n")[0][0], "error")
        self.assertEqual(self.check("bpf/a.bpf.c", self.SPDX)[0][0], "error")
        self.assertEqual(self.check("bpf/a.bpf.c", "// SPDX-License-Identifier: GPL-2.0\n"), [])

    def test_machine_paths(self):
        for path in ("/ho" + "me/someone/x", "/wo" + "rk/main"):
            self.assertEqual(self.check("README.md", f"see {path}\n")[0][0], "error")
        self.assertEqual(self.check("README.md", "tests/work/x, $HOME/work and /usr/lib\n"), [])


class Docs(unittest.TestCase):
    def test_fills_a_part_and_nothing_else(self):
        text = "before\n<!-- generated: environment -->\nold\n<!-- end -->\nafter\n"
        new = gen_docs.fill(text, ROOT)
        self.assertTrue(new.startswith("before\n<!-- generated: environment -->\n| variable |"))
        self.assertTrue(new.endswith("<!-- end -->\nafter\n"))
        self.assertIn("`SGPRS_SOCKET`", new)
        self.assertNotIn("old", new)
        self.assertEqual(gen_docs.fill(new, ROOT), new)

    def test_every_declaration_has_a_row(self):
        for name, file, macro in (("environment", "runtime/base/environment.inc", "SGPRS_ENV("),
                                  ("counters", "include/sgprs/abi/task_counters.inc", "SGPRS_COUNTER(")):
            lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
            declared = sum(line.startswith(macro) for line in lines)
            rows = gen_docs.TABLES[name](ROOT).count("\n") - 2
            self.assertGreater(declared, 0)
            self.assertEqual(rows, declared, name)

    def test_unknown_table(self):
        with self.assertRaises(SystemExit):
            gen_docs.fill("<!-- generated: nonsense -->\n<!-- end -->\n", ROOT)


if __name__ == "__main__":
    unittest.main()
