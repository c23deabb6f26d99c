#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sgprs demo`: its JSON, its traces, and that nothing stays behind."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from stack import program, wait_until  # noqa: E402

POLICY_KEYS = ["policy", "completed_fps", "on_time_fps", "miss_percent", "switches", "launches", "tasks"]
LAUNCH_KEYS = ["recorded", "granted", "issued", "completed", "bypassed"]


def processes_with(text):
    """Processes in whose environment `text` stands."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if text.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:  # it ended, or is not ours
            continue
    return found


class Demo(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sgprs-test-")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)
        self.temporary = self.dir / "private-tmp"
        self.temporary.mkdir()
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("SGPRS_")}
        self.env["TMPDIR"] = str(self.temporary)

    def start(self, *arguments):
        return subprocess.Popen([program("sgprs"), "demo", *arguments], env=self.env, cwd=self.dir,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def nothing_is_left(self):
        self.assertEqual(processes_with(str(self.temporary)), [])
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_json_counts_and_traces(self):
        demo = self.start("--json", "--tasks", "3", "--seconds", "2")
        out, errors = demo.communicate(timeout=200)
        self.assertEqual(demo.returncode, 0, errors)
        report = json.loads(out)
        self.assertEqual(list(report), ["version", "device", "policies"])
        self.assertEqual(report["version"], 1)
        self.assertEqual(report["device"], "rtx2080ti")
        self.assertEqual([row["policy"] for row in report["policies"]], ["naive", "sgprs"])
        for row in report["policies"]:
            self.assertEqual(list(row), POLICY_KEYS)
            self.assertEqual(list(row["launches"]), LAUNCH_KEYS)
            counts = row["launches"]
            self.assertGreater(counts["recorded"], 0)
            self.assertEqual(len({counts[key] for key in LAUNCH_KEYS[:4]}), 1, counts)
            self.assertEqual(counts["bypassed"], 0)
            self.assertEqual(len(row["tasks"]), 3)
            self.assertGreater(row["completed_fps"], 0)
            trace = json.loads((self.dir / f"sgprs-demo-{row['policy']}.trace.json").read_text("utf-8"))
            events = trace["traceEvents"] if isinstance(trace, dict) else trace
            self.assertGreater(sum(event.get("ph") == "X" for event in events), 0)
            page = xml.etree.ElementTree.parse(self.dir / f"sgprs-demo-{row['policy']}.report.html").getroot()
            self.assertEqual(page.find(".//{http://www.w3.org/1999/xhtml}h1").text, "SGPRS report")
            gantt = xml.etree.ElementTree.parse(self.dir / f"sgprs-demo-{row['policy']}.gantt.svg").getroot()
            self.assertIn("Partitions", [text.text for text in gantt.iter("{http://www.w3.org/2000/svg}text")])
        self.assertEqual(report["policies"][0]["switches"], 0)
        xml.etree.ElementTree.parse(self.dir / "sgprs-demo.rates.svg")
        self.nothing_is_left()

    def test_interrupt_ends_everything(self):
        demo = self.start("--tasks", "2", "--seconds", "120", "--policies", "sgprs")
        for line in demo.stderr:
            if "measuring" in line:
                break
        self.assertNotEqual(processes_with(str(self.temporary)), [])
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=60)
        self.assertEqual(demo.returncode, 128 + signal.SIGINT, errors)
        self.assertEqual(errors.count("\n"), 1, errors)
        self.nothing_is_left()

    def test_death_of_the_demo_ends_everything(self):
        demo = self.start("--tasks", "2", "--seconds", "120", "--policies", "sgprs")
        for line in demo.stderr:
            if "measuring" in line:
                break
        demo.kill()
        demo.communicate(timeout=60)
        wait_until(lambda: not processes_with(str(self.temporary)), what="children end")

    def failure(self, *arguments):
        demo = self.start(*arguments)
        out, errors = demo.communicate(timeout=100)
        self.assertEqual(demo.returncode, 1, errors)
        self.assertEqual(out, "")
        self.nothing_is_left()
        return errors.splitlines()[-1]

    def test_a_wrong_word_is_said_before_anything_is_measured(self):
        for arguments in (("--device", "nosuch"), ("--policies", "sgprs,nosuch"), ("--policies", "nosuch,,sgprs"),
                          ("--policies=",), ("--policies", "sgprs,sgprs"), ("--oversubscription", "nan")):
            with self.subTest(arguments):
                demo = self.start(*arguments)
                out, errors = demo.communicate(timeout=100)
                self.assertEqual((demo.returncode, out, errors.count("\n")), (2, "", 1), errors)
                self.assertRegex(errors, r"^sgprs demo: .*(nosuch|stands twice|missing|nan)")
                self.nothing_is_left()

    def test_failures_give_the_reason(self):
        self.assertIn("nosuchprogram", self.failure("--workload", "nosuchprogram"))

    def test_a_workload_that_fails_names_itself_and_why(self):
        # `spin64 --fps`: a program of ours that does not know the options.
        self.assertRegex(self.failure("--workload", "spin64", "--tasks", "2"), r"spin64-\d exited with code")


if __name__ == "__main__":
    unittest.main()
