#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sgprs sim` as a program: its documents and pictures, read by other people's parsers."""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from stack import program  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
SMALL = ["--tasks", "8,44", "--seconds", "0.5", "--policy", "naive,sgprs"]


class Sim(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="sgprs-test-")
        self.addCleanup(directory.cleanup)
        self.dir = pathlib.Path(directory.name)

    def sim(self, *arguments, code=0):
        done = subprocess.run([program("sgprs"), "sim", *arguments], cwd=self.dir, capture_output=True,
                              text=True, timeout=250)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def texts(self, path):
        """What a picture says, if it is well-formed and holds nothing but shapes."""
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        for element in root.iter():
            self.assertNotIn(element.tag, (SVG + "script", SVG + "image", SVG + "foreignObject"))
            self.assertFalse([name for name in element.attrib if "href" in name or name.startswith("on")])
        return [element.text for element in root.iter(SVG + "text")]

    def test_json_and_no_progress_where_nobody_looks(self):
        done = self.sim(*SMALL, "--json")
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        self.assertEqual((report["version"], report["kind"]), (1, "sweep"))
        self.assertEqual([series["policy"] for series in report["series"]], ["naive", "sgprs"])
        for series in report["series"]:
            self.assertEqual([point["n"] for point in series["points"]], [8, 44])
            for point in series["points"]:
                run = point["runs"][0]
                self.assertEqual(len(run["tasks"]), point["n"])
                self.assertEqual(run["expected"], sum(task["expected"] for task in run["tasks"]))
                self.assertLessEqual(run["on_time"], run["completed"])
        self.assertEqual(self.sim(*SMALL, "--json").stdout, done.stdout)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.sim(*SMALL, "--seeds", "2", "--csv", "-").stdout)))
        self.assertEqual(len(rows), 2 * 2 * 2)
        for row in rows:
            self.assertNotIn(None, row)
            self.assertGreaterEqual(float(row["completed_fps"]), float(row["on_time_fps"]))
        self.assertEqual({row["seed"] for row in rows}, {"1", "2"})

    def test_pictures(self):
        self.sim(*SMALL, "--svg", "curves.svg")
        texts = self.texts(self.dir / "curves.svg")
        for text in ("sgprs", "naive", "tasks N", "completed FPS", "missed, %"):
            self.assertIn(text, texts)
        self.sim("--tasks", "6", "--policy", "sgprs,edf", "--seconds", "0.5", "--gantt", "100ms..200ms",
                 "--svg", "pictures")
        pictures = sorted(path.name for path in (self.dir / "pictures").iterdir())
        self.assertEqual(len(pictures), 3, pictures)
        for name in pictures:
            texts = self.texts(self.dir / "pictures" / name)
            if name.startswith("gantt"):
                self.assertIn("Partitions", texts)
                self.assertIn("resnet18-5", texts)

    def test_the_papers_experiment_stands_beside_its_numbers(self):
        report = json.loads(self.sim("--paper", "--json", "--tasks", "20,30", "--seeds", "1",
                                     "--seconds", "1").stdout)
        self.assertEqual(report["kind"], "paper")
        pools = {(curve["policy"], tuple(curve["sm_counts"])) for curve in report["curves"]}
        self.assertEqual(pools, {("naive", (68,) * 2), ("naive", (68,) * 3),
                                 ("sgprs", (34,) * 2), ("sgprs", (52,) * 2), ("sgprs", (68,) * 2),
                                 ("sgprs", (24,) * 3), ("sgprs", (34,) * 3), ("sgprs", (46,) * 3)})
        self.assertEqual([curve["standstill_ns"] for curve in report["curves"]],
                         [0] * 2 + [66666666] * 2 + [0] * 6 + [66666666] * 6)
        published = {tuple(curve["sm_counts"]): curve for curve in report["curves"]
                     if curve["policy"] == "sgprs" and curve["standstill_ns"] == 0}
        best = published[(34,) * 3]
        self.assertEqual(best["published"]["pivot_n"], 24)
        self.assertEqual(best["points"][-1]["published"], {"completed_fps": 738.0, "miss_percent": 80.0})
        self.assertEqual(len(report["claims"]), 2 * (2 + 3 * 6))

    def test_a_reader_that_goes_away_is_no_crash(self):
        with subprocess.Popen([program("sgprs"), "sim", *SMALL, "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as sim:
            sim.stdout.close()
            sim.stderr.read()
        self.assertNotIn(sim.returncode, (-6, -11, 0))


if __name__ == "__main__":
    unittest.main()
