#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sgprs report`: well-formed, loads nothing, and its numbers are the log's."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "support"), HERE]
import job_log  # noqa: E402
from stack import Stack, program, wait_until  # noqa: E402

HTML = "{http://www.w3.org/1999/xhtml}"
HOSTILE = '<script>alert(1)</script>&"\''
FRAMES = 80


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="sgprs-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.dir = pathlib.Path(directory.name)
        cls.log = cls.dir / "log"
        with Stack(policy="sgprs", job_log=str(cls.log)) as stack:
            # The second can not meet its deadline: it asks for more frames than it says.
            tasks = [stack.start("resnet18", "--frames", str(FRAMES), "--fps", "50", name=HOSTILE,
                                 period_ns=20_000_000),
                     stack.start("resnet18", "--frames", str(FRAMES), "--fps", "100", name="late",
                                 env={"SGPRS_DEADLINE_NS": "100000"}, period_ns=10_000_000)]
            for task in tasks:
                task.communicate(timeout=120)
                assert task.returncode == 0
            wait_until(lambda: stack.json("status")["clients"]["now"] == 0, what="tasks are gone")
            cls.live = stack.sgprs("report", "-o", str(cls.dir / "live.html"))
            cls.live_html = (cls.dir / "live.html").read_text("utf-8")
        # The daemon is gone; its log stays.
        cls.done = cls.run_report("--log", str(cls.log), "-o", str(cls.dir / "r.html"))
        cls.html = (cls.dir / "r.html").read_text("utf-8")
        cls.tree = ElementTree.fromstring(cls.html)  # well-formed, or an error
        cls.data = json.loads(cls.tree.find(f".//{HTML}script[@id='sgprs-report']").text)

    @classmethod
    def run_report(cls, *arguments):
        return subprocess.run([program("sgprs"), "report", *arguments], capture_output=True, text=True, timeout=60,
                              cwd=cls.dir, check=False)

    def test_values_are_the_logs(self):
        jobs, names = job_log.read(self.log)
        self.assertEqual(self.data["jobs"], len(jobs))
        self.assertEqual(self.data["missed"], sum(job["missed"] for job in jobs))
        self.assertEqual((self.data["dropped"], self.data["damaged"], self.data["overwritten"]), (0, 0, 0))
        by_client = collections.defaultdict(list)
        for job in jobs:
            by_client[job["client"]].append(job)
        self.assertEqual({task["client_id"] for task in self.data["tasks"]}, set(by_client))
        for task in self.data["tasks"]:
            own = by_client[task["client_id"]]
            self.assertEqual(task["task"], names[task["client_id"]])
            missed = sum(job["missed"] for job in own)
            self.assertEqual((task["jobs"], task["missed"], task["on_time"]), (len(own), missed, len(own) - missed))
            learning = sum(job["missed"] and job["learning"] for job in own)
            self.assertEqual(task["missed_learning"], learning)
            self.assertEqual(sum(task["causes"].values()) + learning, missed)
            seconds = (max(job["complete_ns"] for job in own) - min(job["release_ns"] for job in own)) / 1e9
            self.assertAlmostEqual(task["completed_fps"], len(own) / seconds, places=6)
            self.assertAlmostEqual(task["on_time_fps"], (len(own) - missed) / seconds, places=6)
            longest = max(job["complete_ns"] - job["release_ns"] for job in own)
            self.assertEqual(task["phases"]["response"]["most_ns"], longest)
            self.assertEqual(task["phases"]["response"]["count"], len(own))
        late = next(task for task in self.data["tasks"] if task["task"] == "late")
        self.assertEqual(late["on_time"], 0)
        # And what is read is what is written in the tables.
        cells = [cell.text for cell in self.tree.iter(f"{HTML}td")]
        self.assertIn(str(late["jobs"]), cells)
        self.assertIn(f"{late['completed_fps']:.1f}", cells)
        self.assertIn(f"{self.data['jobs']} jobs", self.html)

    def test_loads_nothing_and_runs_nothing(self):
        for html in (self.html, self.live_html):
            tree = ElementTree.fromstring(html)
            for element in tree.iter():
                tag = element.tag.rsplit("}", 1)[-1]
                self.assertNotIn(tag, ("link", "iframe", "img", "object", "embed", "base", "image", "use"))
                if tag == "script":
                    self.assertEqual(element.get("type"), "application/json")
                for name, value in element.attrib.items():
                    self.assertNotRegex(name, r"(?i)^on|(^|})(href|src|action|srcset)$")
                    self.assertNotRegex(value, r"(?i)url\(|javascript:")
            self.assertIn("default-src 'none'", html)
            self.assertNotRegex(re.sub(r'xmlns="[^"]*"', "", html), r"https?://|@import")

    def test_names_are_escaped(self):
        self.assertNotIn("<script>alert", self.html)
        self.assertIn(HOSTILE, [cell.text for cell in self.tree.iter(f"{HTML}td")])
        summaries = [summary.text for summary in self.tree.iter(f"{HTML}summary")]
        self.assertIn(HOSTILE, summaries)

    def test_what_it_shows(self):
        self.assertRegex(self.html, r"<td[^>]*>simulated [^<]*2080 Ti</td>")
        self.assertRegex(self.html, r"<td[^>]*>3 partitions: 34 \+ 34 \+ 34 of 68 SMs</td>")
        self.assertEqual((self.done.returncode, self.done.stderr), (0, ""))
        headings = [element.text for element in self.tree.iter(f"{HTML}h2")]
        for heading in ("Tasks", "Misses", "Timeline", "Jitter", "Counts"):
            self.assertIn(heading, headings)
        svg = "{http://www.w3.org/2000/svg}"
        titles = [title.text for picture in self.tree.iter(f"{svg}svg") for title in picture.findall(f"{svg}title")]
        for title in ("queue", "execute", "response"):
            self.assertIn(title, titles)
        self.assertTrue(any("deadline missed" in title for title in titles), titles)
        self.assertEqual(self.live.returncode, 0)
        self.assertIn("waits told of", self.live_html)  # only the daemon knows

    def test_stdout_and_json(self):
        self.assertEqual(self.run_report("--log", str(self.log), "-o", "-").stdout, self.html)
        self.assertEqual(json.loads(self.run_report("--log", str(self.log), "--json").stdout), self.data)

    def test_nonsense(self):
        empty = self.dir / "empty"
        empty.mkdir(exist_ok=True)
        for arguments, code in ((("--log", "/nope"), 1), (("--log", str(empty)), 1), (("--bad",), 2),
                                (("--log", str(self.log), "-o", "/nope/x.html"), 1),
                                (("--socket", "/nope/x"), 1)):
            done = self.run_report(*arguments)
            self.assertEqual((done.returncode, done.stdout), (code, ""), arguments)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual([path.name for path in self.dir.glob("*.new")], [])

    def test_a_damaged_log_is_still_told(self):
        copy = self.dir / "damaged"
        copy.mkdir()
        for path in self.log.glob("jobs.*"):
            data = bytearray(path.read_bytes())
            if len(data) > 20 * job_log.RECORD_BYTES:
                at = job_log.HEADER_BYTES + 15 * job_log.RECORD_BYTES + 100
                data[at] ^= 0xff
            (copy / path.name).write_bytes(bytes(data))
        report = json.loads(self.run_report("--log", str(copy), "--json").stdout)
        self.assertEqual(report["damaged"], 1)
        self.assertLessEqual(report["jobs"], self.data["jobs"])


if __name__ == "__main__":
    unittest.main()
