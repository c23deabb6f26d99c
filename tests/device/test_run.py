#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.sh on the simulated device prints its whole report, with and without PyTorch."""
import json
import pathlib
import subprocess
import unittest

RUN = str(pathlib.Path(__file__).resolve().parent / "run.sh")
PARTS = {"version", "machine", "torch", "probes", "calls", "frame_cost", "frame_rates", "seconds", "mps_daemon"}


def errors(report, path=""):
    """Every "error" that is in the report, with its place. P7's and P9's are answers."""
    if isinstance(report, dict):
        found = [f"{path}: {report['error']}"] if report.get("error") else []
        for key, value in report.items():
            found += errors(value, f"{path}/{key}")
        return found
    if isinstance(report, list):
        return [text for i, value in enumerate(report) for text in errors(value, f"{path}/{i}")]
    return []


class Run(unittest.TestCase):
    """What both have."""

    def report(self):
        """Of one quick run."""
        done = subprocess.run([RUN, "--simulate", "--quick"], capture_output=True, text=True, timeout=800, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(set(report), PARTS)
        self.assertEqual(set(report["probes"]), {f"P{i}" for i in range(1, 11)})
        self.assertEqual(errors(report), [])
        self.assertTrue(report["machine"]["simulated"])
        self.assertEqual(report["probes"]["P1"]["sms"], 68)
        self.assertEqual(report["probes"]["P2"]["union_size"], 2 * report["probes"]["P2"]["sizes"][0])
        self.assertEqual(report["probes"]["P7"]["fits"], "ran")
        self.assertIn("(720)", report["probes"]["P7"]["too_large"])
        self.assertIn("not computed", report["probes"]["P3"]["skipped"])
        self.assertGreater(report["probes"]["P5"]["switch_cpu_us"], 0)
        return report


class WithoutPyTorch(Run):
    """What needs it is skipped, with the reason."""

    def test_report(self):
        report = self.report()
        for part in (report["torch"], report["probes"]["P10"], report["frame_cost"], report["frame_rates"]):
            self.assertIn("no Python at", part["skipped"])

    def test_usage(self):
        done = subprocess.run([RUN, "--nonsense"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)


class WithPyTorch(Run):
    """Everything but what needs kernels that compute."""

    def test_report(self):
        report = self.report()
        for row in report["probes"]["P10"].values():
            self.assertTrue(row["agree"], row)
        for mode in ("eager", "graph"):
            self.assertGreater(report["frame_cost"][mode]["cpu_ms"]["ratio"], 0)
            self.assertEqual([row["by"] for row in report["frame_rates"][mode]], ["mps", "naive", "sgprs"])
            for row in report["frame_rates"][mode]:
                self.assertGreater(row["completed_fps"], 0)
                if row["by"] != "mps":
                    moments = {row[name] for name in ("recorded", "granted", "issued", "completed")}
                    self.assertEqual((len(moments), row["bypassed"]), (1, 0), row)


if __name__ == "__main__":
    unittest.main()
