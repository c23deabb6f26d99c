# SPDX-License-Identifier: Apache-2.0
"""A private SGPRS stack for tests: simulated device, sgprsd and wrapped programs in one directory.

    with Stack(policy="sgprs") as stack:
        result = stack.run("resnet18", "--frames", "30", period="33.3ms")

Programs come from $SGPRS_BIN_DIR, libraries from $SGPRS_LIB_DIR (CTest sets both). Everything that
was started is ended, whatever happens.
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

BIN = os.environ.get("SGPRS_BIN_DIR", os.path.join(os.getcwd(), "build", "bin"))
LIB = os.environ.get("SGPRS_LIB_DIR", os.path.join(os.getcwd(), "build", "lib"))
SHIM = os.path.join(LIB, "libsgprs-shim.so")
DRIVER = os.path.join(LIB, "simgpu", "libcuda.so.1")
KERNELS = os.path.join(LIB, "simgpu", "libworkload-kernels.so")


def program(name):
    """Full path of one of our programs."""
    return name if os.path.isabs(name) else os.path.join(BIN, name)


def wait_until(condition, seconds=20.0, what="condition"):
    """Polls until condition() is true; raises after `seconds`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise TimeoutError(f"{what} did not come true within {seconds} s")


class Stack:
    """One simulated device and one sgprsd (unless daemon=False)."""

    def __init__(self, device="rtx2080ti", daemon=True, mps="on", env=None, sgprsd_args=(), simgpu_args=(), **options):
        self.dir = tempfile.mkdtemp(prefix="sgprs-test-")
        self.socket = os.path.join(self.dir, "control.sock")
        self.sim_socket = os.path.join(self.dir, "simgpu.sock")
        self.device = device
        self.mps = mps
        self.children = []
        self.daemon = None
        self.simgpu = None
        self.env = dict(os.environ)
        for name in list(self.env):
            if name.startswith("SGPRS_") and name not in ("SGPRS_BIN_DIR", "SGPRS_LIB_DIR"):
                del self.env[name]
        self.env.update(SGPRS_RUNTIME_DIR=self.dir, SGPRS_SOCKET=self.socket,
                        SGPRS_SIMGPU_SOCKET=self.sim_socket, SGPRS_SIMGPU_KERNELS=KERNELS)
        self.env.update(env or {})
        self.simgpu_args = list(simgpu_args)
        self.sgprsd_args = list(sgprsd_args)
        for key, value in options.items():
            self.sgprsd_args += [f"--{key.replace('_', '-')}", str(value)]
        self.start_simgpu()
        if daemon:
            self.start_daemon()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def start_logged(self, name, *args):
        """Starts one of our daemons; its output goes to NAME.log."""
        with open(os.path.join(self.dir, f"{name}.log"), "ab") as log:
            return subprocess.Popen([program(name), *args], stdout=log, stderr=log, env=self.env)

    def start_simgpu(self):
        """Starts the device process and waits for its socket."""
        self.simgpu = self.start_logged(
            "simgpu", "--device", self.device, "--socket", self.sim_socket, "--mps", self.mps, *self.simgpu_args)
        wait_until(lambda: os.path.exists(self.sim_socket) or self.simgpu.poll() is not None, what="simgpu")
        assert self.simgpu.poll() is None, self.log("simgpu.log")

    def start_daemon(self):
        """Starts sgprsd and waits until it answers."""
        self.daemon = self.start_logged("sgprsd", "--socket", self.socket, *self.sgprsd_args)
        wait_until(lambda: self.daemon.poll() is not None or self.answers(), what="sgprsd")
        assert self.daemon.poll() is None, self.log("sgprsd.log")

    def answers(self):
        """True if sgprsd answers `sgprs status`."""
        return self.sgprs("status", "--json", check=False).returncode == 0

    def log(self, name):
        """Text of a log file."""
        with open(os.path.join(self.dir, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def sgprs(self, *args, check=True, timeout=60):
        """Runs the CLI."""
        return subprocess.run([program("sgprs"), *args], env=self.env, capture_output=True, text=True,
                              timeout=timeout, check=check)

    def json(self, *args):
        """Runs a reading command with --json."""
        return json.loads(self.sgprs(*args, "--json").stdout)

    def environment(self, shim=True, period_ns=None, name=None, cls=None, env=None):
        """Environment of a program on the simulated device, with or without the shim."""
        result = dict(self.env)
        result["LD_LIBRARY_PATH"] = os.path.dirname(DRIVER)
        if shim:
            result["LD_PRELOAD"] = SHIM
            result["SGPRS_DRIVER"] = DRIVER
        if period_ns:
            result["SGPRS_PERIOD_NS"] = str(period_ns)
        if name:
            result["SGPRS_NAME"] = name
        if cls:
            result["SGPRS_CLASS"] = cls
        result.update(env or {})
        return result

    def start(self, *command, **how):
        """Starts a program; its output goes to pipes."""
        child = subprocess.Popen([program(command[0]), *command[1:]], env=self.environment(**how),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.children.append(child)
        return child

    def run(self, *command, timeout=120, **how):
        """Runs a program to its end."""
        return subprocess.run([program(command[0]), *command[1:]], env=self.environment(**how),
                              capture_output=True, text=True, timeout=timeout, check=False)

    def device_stats(self):
        """What the device process itself counted."""
        done = subprocess.run([program("simgpu"), "--stats", "--socket", self.sim_socket], env=self.env,
                              capture_output=True, text=True, timeout=30, check=True)
        return json.loads(done.stdout)

    def close(self):
        """Ends everything."""
        for child in [*self.children, self.daemon, self.simgpu]:
            if child is None or child.poll() is not None:
                continue
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait(5)
        for child in self.children:
            for pipe in (child.stdout, child.stderr):
                if pipe:
                    pipe.close()
        shutil.rmtree(self.dir, ignore_errors=True)
