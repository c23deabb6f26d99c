#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What only a GPU, its driver and PyTorch can tell, as one JSON object on stdout; progress on stderr.

    run.sh                 this machine's GPU
    run.sh --simulate      the simulated device: runs to its end everywhere
    run.sh --quick         seconds instead of minutes

What is missing is skipped, with the reason in its place. Exit status: 0 if the report is whole, else 1. Nothing of a
daemon that runs already is touched; an MPS daemon is started (and ended) only if none runs.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "pytorch"), str(HERE.parent / "support")]
import bench_frames  # noqa: E402
import programs  # noqa: E402
import stack  # noqa: E402

PROBES = [f"P{i}" for i in range(1, 10)]
FPS = 30
READY_FRAMES = 15
PROBE_LIMIT_S = 20  # of one probe
READY_LIMIT_S = 60  # until every process has run its first frames
TESTS = os.environ.get("SGPRS_TEST_BIN_DIR", "")


def say(text):
    """Progress."""
    print(f"device: {text}", file=sys.stderr, flush=True)


def skipped(reason):
    """In the place of a result."""
    return {"skipped": str(reason).strip()}


class RealStack(stack.Stack):
    """sgprsd in a private directory, on the machine's own device."""

    def start_simgpu(self):
        """There is none."""

    def environment(self, shim=True, **how):
        result = super().environment(shim=shim, **how)
        result.pop("SGPRS_DRIVER", None)
        result.pop("LD_LIBRARY_PATH")  # the stand-in's
        if "LD_LIBRARY_PATH" in os.environ:
            result["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        return result


class Report:
    """One run of everything."""

    def __init__(self, options):
        self.options = options
        self.simulate = options.simulate
        self.python = options.python or (programs.PYTHON if options.simulate else sys.executable)
        self.window_s = 1.0 if options.quick else 4.0
        self.begun = time.monotonic()

    def new_stack(self, **how):
        """A private sgprsd, and a private device if it is a simulated one."""
        if self.simulate:
            return programs.new_stack(**how)
        return RealStack(**how)

    def command(self, name, *arguments):
        """A program of tests/pytorch."""
        return [self.python, "-W", "ignore", str(HERE.parent / "pytorch" / f"{name}.py"), *arguments]

    def late(self):
        """Whether the time for the whole report is nearly over."""
        return time.monotonic() - self.begun > self.options.limit

    # --- parts; each returns its place in the report ---

    def machine(self):
        """What this is."""
        return {"simulated": self.simulate, "cpus": os.cpu_count(), "load": round(os.getloadavg()[0], 2),
                "mps_control": shutil.which("nvidia-cuda-mps-control") is not None, "python": sys.version.split()[0]}

    def torch(self):
        """PyTorch's version, or why it can not be used."""
        text = ("import torch,json;print(json.dumps({'version':torch.__version__,'cuda':torch.version.cuda,"
                "'available':torch.cuda.is_available()}))")
        if not pathlib.Path(self.python).exists():
            return skipped(f"no Python at {self.python} (build/pytorch is made by `make test-pytorch`)")
        with self.new_stack(daemon=False) as private:
            done = private.run(self.python, "-W", "ignore", "-c", text, shim=False)
        if done.returncode != 0:
            return skipped(done.stderr.strip().splitlines()[-1] if done.stderr else "python failed")
        found = json.loads(done.stdout)
        return found if found["available"] else {**found, **skipped("torch.cuda.is_available() is False")}

    def probes(self):
        """P1 to P9, each in a process of its own."""
        out = {}
        with self.new_stack(daemon=False) as private:
            for name in PROBES:
                try:
                    done = private.run(sys.executable, str(HERE / "probes.py"), name, shim=False, timeout=PROBE_LIMIT_S)
                    out[name] = json.loads(done.stdout) if done.stdout else {
                        "error": f"ended with {done.returncode}: {done.stderr.strip()[-300:]}"}
                except subprocess.TimeoutExpired:
                    out[name] = {"error": f"hangs: nothing after {PROBE_LIMIT_S} s"}
                say(f"{name} {'skipped' if 'skipped' in out[name] else 'done'}")
        return out

    def completeness(self):
        """P10: kernels as the profiler (or the simulated device) counted them, and as the shim recorded them."""
        out = {}
        for name, arguments in (("train", []), ("resnet18", ["--frames", "10"]),
                                ("resnet18_graph", ["--frames", "10", "--graph"])):
            with self.new_stack(policy="sgprs") as private:
                how = {"name": "net", "period_ns": 33_333_333}
                command = self.command(name.split("_")[0], *arguments)
                if not self.simulate:
                    command[3:3] = [str(HERE / "counted.py")]
                done = private.run(*command, shim=True, timeout=200, **how)
                if done.returncode != 0:
                    out[name] = {"error": done.stderr.strip()[-300:]}
                    continue
                counters = private.json("tasks")["tasks"][0]["counters"]
                row = {moment: counters[moment] for moment in
                       ("kernels", "recorded", "granted", "issued", "completed", "bypassed")}
                if self.simulate:
                    row.update(counted_by="simulated device", counted=private.device_stats()["kernels_total"])
                else:
                    row.update(json.loads(done.stderr.strip().splitlines()[-1]))
                row["agree"] = row["counted"] == row["kernels"] and row["bypassed"] == 0
                out[name] = row
        return out

    def rates(self, how, count, mode):
        """`count` ResNet18 processes for one window: completed and on-time FPS by their own clocks."""
        policy = {"policy": how} if how != "mps" else {"daemon": False}
        with self.new_stack(**policy) as private:
            logs = [os.path.join(private.dir, f"frames-{i}") for i in range(count)]
            children = []
            for i, log in enumerate(logs):
                command = self.command("resnet18", "--frames", "0", "--fps", str(FPS), "--log", log, *mode)
                shim = {} if how == "mps" else {"name": f"net-{i}", "period_ns": round(1e9 / FPS)}
                children.append(private.start(*command, shim=how != "mps", **shim))

            def ready():
                for child in children:
                    if child.poll() is not None:
                        raise RuntimeError(child.communicate()[1].strip()[-300:])
                return all(len(frames(log)) >= READY_FRAMES for log in logs)
            stack.wait_until(ready, seconds=READY_LIMIT_S, what="frames of every process")
            begin = time.monotonic()
            time.sleep(self.window_s)
            end = time.monotonic()
            for child in children:
                child.terminate()
            for child in children:
                child.communicate(timeout=60)
            done = [(due, at) for log in logs for due, at in frames(log) if begin <= at < end]
            on_time = sum(at <= due + 1 / FPS for due, at in done)
            row = {"completed_fps": round(len(done) / (end - begin), 1), "on_time_fps": round(on_time / (end - begin), 1)}
            if how != "mps":
                tasks = private.json("tasks")["tasks"]
                counters = [task["counters"] for task in tasks]
                for moment in ("recorded", "granted", "issued", "completed", "bypassed", "self_granted"):
                    row[moment] = sum(one[moment] for one in counters)
            return row

    def frame_rates(self):
        """Eager and by graph, at a rising number of processes, by plain MPS, naive and sgprs."""
        counts = [2] if self.options.quick else self.options.processes
        out = {"fps": FPS, "window_s": self.window_s, "mps": "simulated" if self.simulate else self.mps_state()}
        for label, mode in (("eager", []), ("graph", ["--graph"])):
            rows = []
            for count in counts:
                for how in ("mps", "naive", "sgprs"):
                    row = {"processes": count, "by": how}
                    if self.late():
                        row.update(skipped(f"the report's {self.options.limit} s are over"))
                    else:
                        try:
                            row.update(self.rates(how, count, mode))
                        except (TimeoutError, RuntimeError, subprocess.SubprocessError, ValueError) as error:
                            row["error"] = str(error)
                    rows.append(row)
                    say(f"{label} {row}")
            out[label] = rows
        return out

    def frame_cost(self):
        """CPU time of a frame, time to the first one: bare and under sgprs, turn by turn."""
        out = {}
        for mode in bench_frames.MODES:
            if self.late():
                out[mode] = skipped(f"the report's {self.options.limit} s are over")
                continue
            try:
                out[mode] = bench_frames.measure(self.new_stack, self.command, mode, 1 if self.options.quick else 3)
            except (RuntimeError, subprocess.SubprocessError) as error:
                out[mode] = {"error": str(error)}
        return out

    def calls(self):
        """ns of a launch and of other calls, bare and under sgprs."""
        probe = os.path.join(TESTS, "driver_probe")
        if not os.access(probe, os.X_OK):
            return skipped(f"no {probe}: build sgprs_tests")
        seen = {}
        with self.new_stack(policy="sgprs") as private:
            private.env["SGPRS_SIMGPU_KERNELS"] = os.path.join(TESTS, "libshim_order_kernels.so")
            for _ in range(1 if self.options.quick else 5):
                for shim in (False, True):
                    done = private.run(probe, "time-calls", "2000", shim=shim, timeout=60)
                    if done.returncode != 0:
                        return {"error": done.stderr.strip()[-300:]}
                    for key, value in json.loads(done.stdout.splitlines()[0]).items():
                        seen.setdefault(key, {False: [], True: []})[shim].append(value)
        return {key: {"bare": statistics.median(value[False]), "shim": statistics.median(value[True])}
                for key, value in seen.items()}

    def mps_state(self):
        """Whether processes share the device by MPS here."""
        with self.new_stack(daemon=False) as private:
            done = private.run(sys.executable, str(HERE / "probes.py"), "P1", shim=False, timeout=PROBE_LIMIT_S)
        return json.loads(done.stdout or "{}").get("mps")

    def all(self):
        """The report."""
        out = {"version": 1, "machine": self.machine(), "torch": self.torch(), "probes": self.probes()}
        torch = "skipped" not in out["torch"]
        why = skipped(f"PyTorch: {out['torch'].get('skipped')}")
        out["probes"]["P10"] = self.completeness() if torch else why
        say("P10 done")
        out["calls"] = self.calls()
        out["frame_cost"] = self.frame_cost() if torch else why
        say("cost of calls and frames done")
        out["frame_rates"] = self.frame_rates() if torch else why
        out["seconds"] = round(time.monotonic() - self.begun, 1)
        return out


def frames(log):
    """(due, done) of each frame written so far."""
    try:
        with open(log, encoding="utf-8") as file:
            rows = [line.split() for line in file]
    except FileNotFoundError:
        return []
    return [(float(row[0]), float(row[1])) for row in rows if len(row) == 2]


class Mps:
    """A private MPS daemon for as long as this lives, if the machine has one and none runs."""

    def __init__(self, wanted):
        self.directory = None
        self.why = None
        control = shutil.which("nvidia-cuda-mps-control")
        if not wanted:
            self.why = "not wanted on a simulated device"
        elif control is None:
            self.why = "no nvidia-cuda-mps-control here"
        elif os.environ.get("CUDA_MPS_PIPE_DIRECTORY") or os.path.exists("/tmp/nvidia-mps"):
            self.why = "one is configured already: it is used as it is"
        else:
            self.directory = tempfile.mkdtemp(prefix="sgprs-mps-")
            os.environ.update(CUDA_MPS_PIPE_DIRECTORY=self.directory, CUDA_MPS_LOG_DIRECTORY=self.directory)
            started = subprocess.run([control, "-d"], capture_output=True, text=True, timeout=30, check=False)
            if started.returncode != 0:
                self.why = f"nvidia-cuda-mps-control -d: {started.stderr.strip()}"
                self.end()

    def end(self):
        """Ends it."""
        if self.directory is None:
            return
        subprocess.run(["nvidia-cuda-mps-control"], input="quit -t 5\n", text=True, capture_output=True, timeout=30,
                       check=False)
        for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
            os.environ.pop(name, None)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory = None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulate", action="store_true", help="on the simulated device")
    parser.add_argument("--quick", action="store_true", help="less of everything")
    parser.add_argument("--python", help="interpreter that has PyTorch (default: this one; build/pytorch with --simulate)")
    parser.add_argument("--processes", type=lambda text: [int(part) for part in text.split(",")], default=[4, 8, 16],
                        help="numbers of processes to measure (default 4,8,16)")
    parser.add_argument("--limit", type=float, default=420, help="begin no new measurement after so many seconds")
    parser.add_argument("--output", help="write the report to this file, too")
    options = parser.parse_args()
    for name in ("sgprsd", "sgprs"):
        if not os.access(stack.program(name), os.X_OK):
            sys.exit(f"run.sh: no {stack.program(name)}: `make build` first, or set SGPRS_BIN_DIR")
    mps = Mps(not options.simulate)
    try:
        report = Report(options).all()
        report["mps_daemon"] = "started" if mps.directory else mps.why
    finally:
        mps.end()
    text = json.dumps(report, indent=2)
    if options.output:
        pathlib.Path(options.output).write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
