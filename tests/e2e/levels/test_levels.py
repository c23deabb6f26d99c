#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything runs at every level of the kernel probes; `status` and `doctor` say which, and what is missing.

Each level is the whole stack in a child that gave up what the level lacks.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from stack import Stack  # noqa: E402

NOBODY = "65534"
FRAMES = 60
DROP = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]
TWO_CAPABILITIES = [*DROP, "--inh-caps", "-all,+bpf,+perfmon", "--ambient-caps", "-all,+bpf,+perfmon"]
HIDE_BTF = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null /sys/kernel/btf/vmlinux && exec "$@"', "sh"]


def measure():
    """In the child: one task from start to end, and what the tools say meanwhile."""
    log = tempfile.mkdtemp(prefix="sgprs-test-log-")
    try:
        with Stack(policy="sgprs", job_log=log) as stack:
            task = stack.run("resnet18", "--frames", str(FRAMES), "--fps", "50", name="cam", period_ns=20_000_000)
            tasks = stack.json("tasks")["tasks"]
            print(json.dumps({
                "program": task.returncode, "errors": task.stderr, "log": log,
                "counters": tasks[0]["counters"] if tasks else {},
                "status": stack.json("status"), "status_text": stack.sgprs("status").stdout,
                "checks": stack.json("doctor")["checks"]}))
    finally:
        shutil.rmtree(log, ignore_errors=True)


class Levels(unittest.TestCase):
    as_it_is = None  # what measure() says without giving anything up

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("giving up rights needs root")

    def at(self, prefix):
        """What measure() says behind `prefix`; the level is looked for in both commands."""
        done = subprocess.run([*prefix, sys.executable, "-B", os.path.abspath(__file__), "--measure"],
                              cwd="/", capture_output=True, text=True, timeout=250, check=False)
        if "unshare" in done.stderr or "mount:" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads(done.stdout)
        self.assertEqual(seen["program"], 0, seen["errors"])
        counters = seen["counters"]
        self.assertGreater(counters["recorded"], 0)
        for count in ("granted", "issued", "completed"):
            self.assertEqual(counters[count], counters["recorded"], count)
        self.assertEqual(counters["bypassed"], 0)
        self.assertEqual(seen["status"]["job_log"]["directory"], seen["log"])
        self.assertGreater(seen["status"]["job_log"]["written"], FRAMES // 2)
        return seen

    def said(self, seen, level, missing):
        """Both commands name the level, and what keeps it from being root."""
        probes = seen["status"]["probes"]
        self.assertEqual(probes["level"], level, probes)
        check = next(row for row in seen["checks"] if row["check"] == "kernel probes")
        self.assertTrue(check["detail"].startswith(level), check)
        self.assertRegex(seen["status_text"], rf"(?m)^probes +{level}")
        for word in missing:
            for text in (probes["why"], seen["status_text"], check["detail"]):
                self.assertIn(word, text)
        stamps = level in ("root", "capabilities", "plain")
        self.assertEqual(check["result"], "ok" if stamps else "absent")
        if stamps:
            self.assertGreater(probes["complete"], FRAMES // 2, probes)
        else:
            self.assertEqual(probes["records"], 0)
            self.assertIn("releases are first launches", check["detail"])

    def best(self):
        """The level of this machine as it is."""
        if Levels.as_it_is is None:
            Levels.as_it_is = self.at([])
        probes = Levels.as_it_is["status"]["probes"]
        if probes["level"] != "root":
            self.skipTest(probes["why"])
        return Levels.as_it_is

    def test_root(self):
        seen = self.best()
        self.said(seen, "root", [])
        self.assertEqual(seen["status"]["probes"]["why"], "")

    def test_two_capabilities(self):
        self.best()
        self.said(self.at(TWO_CAPABILITIES), "capabilities", ["without root"])

    def test_no_capability(self):
        self.said(self.at(DROP), "none", ["CAP_BPF and CAP_PERFMON", "root"])

    def test_btf_hidden_as_root(self):
        self.best()
        seen = self.at(HIDE_BTF)
        if not os.path.exists("/sys/kernel/tracing/events"):
            self.said(seen, "no-btf", ["BTF"])
        else:
            self.said(seen, "plain", ["BTF"])

    def test_btf_hidden_with_capabilities(self):
        self.best()
        self.said(self.at([*HIDE_BTF, *TWO_CAPABILITIES]), "no-btf", ["BTF", "CAP_BPF"])

    def test_switched_off(self):
        with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as config:
            config.write("[probes]\nenabled = false\n")
            config.flush()
            with Stack(config=config.name) as stack:
                self.assertIn("configuration", stack.json("status")["probes"]["why"])
                self.assertIsNone(stack.json("status")["job_log"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        measure()
    else:
        unittest.main()
