#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo's traces can be opened: by the format's rules, and by Perfetto itself where that is there.

Perfetto's trace processor is a program that its Python package downloads. SGPRS_TRACE_PROCESSOR is
the path of one, in an interpreter that has the package `perfetto` (README.md here).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from stack import program  # noqa: E402
from trace_format import problems  # noqa: E402

POLICIES = ("naive", "sgprs")
TASKS = 4


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="sgprs-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.dir = pathlib.Path(directory.name)
        env = {name: value for name, value in os.environ.items() if not name.startswith("SGPRS_")}
        # Five times what the device can do: late jobs, which reach into their successors.
        done = subprocess.run([program("sgprs"), "demo", "--tasks", str(TASKS), "--fps", "700", "--seconds", "1",
                               "--policies", ",".join(POLICIES)], cwd=cls.dir, env=env, capture_output=True,
                              text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr

    def path(self, policy):
        return self.dir / f"sgprs-demo-{policy}.trace.json"

    def events(self, policy):
        return json.loads(self.path(policy).read_text("utf-8"))["traceEvents"]

    def test_follows_the_format(self):
        for policy in POLICIES:
            with self.subTest(policy):
                self.assertEqual(problems(self.path(policy))[:10], [])

    def test_jobs_and_stages_are_there(self):
        for policy in POLICIES:
            with self.subTest(policy):
                events = self.events(policy)
                jobs = [event for event in events if event["ph"] == "X" and event["name"].startswith("job ")]
                stages = [event for event in events if event["ph"] == "X" and event["name"].startswith("stage ")]
                self.assertEqual(len({job["tid"] for job in jobs}), TASKS)
                self.assertTrue(any(job["name"].endswith(" missed") for job in jobs), "no late job: not what was asked")
                self.assertGreater(len(stages), len(jobs) / 2)
                self.assertEqual({event["ph"] for event in events}, {"X", "i", "M"})

    def test_a_damaged_trace_is_noticed(self):
        """The check itself: each damage must be named."""
        damages = {
            "after the slice around it": lambda event: event.update(dur=event["dur"] + 1e7),
            "ph": lambda event: event.update(ph="Q"),
            "dur is missing": lambda event: event.pop("dur"),
            "ts is": lambda event: event.update(ts=str(event["ts"])),
            "has no name": lambda event: event.update(tid=77),
            "32 bits": lambda event: event.update(tid=1 << 32),
        }
        trace = json.loads(self.path("sgprs").read_text("utf-8"))
        text = json.dumps(trace)
        first = next(i for i, event in enumerate(trace["traceEvents"]) if event["ph"] == "X")
        for part, damage in damages.items():
            with self.subTest(part):
                damaged = json.loads(text)
                damage(damaged["traceEvents"][first])
                path = self.dir / "damaged.json"
                path.write_text(json.dumps(damaged), "utf-8")
                self.assertIn(part, " ".join(problems(path)))

    def test_perfetto_opens_it(self):
        shell = os.environ.get("SGPRS_TRACE_PROCESSOR")
        if not shell:
            self.skipTest("no Perfetto: SGPRS_TRACE_PROCESSOR is not set")
        try:
            from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
        except ImportError as error:
            self.skipTest(f"no Perfetto: {error}")
        for policy in POLICIES:
            with self.subTest(policy):
                config = TraceProcessorConfig(bin_path=shell)
                with TraceProcessor(trace=str(self.path(policy)), config=config) as processor:
                    slices = sum(event["ph"] in "Xi" for event in self.events(policy))
                    self.assertEqual(list(processor.query("select count(*) as n from slice"))[0].n, slices)
                    lost = processor.query("select name, value from stats where severity in ('error', 'data_loss') "
                                           "and value > 0")
                    self.assertEqual([(row.name, row.value) for row in lost], [])


if __name__ == "__main__":
    unittest.main()
