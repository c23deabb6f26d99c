#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python environment of the PyTorch tests: environment.py DIRECTORY

Makes a virtual environment in DIRECTORY and installs requirements.txt into it, without the packages that those ask
for themselves (2 GB of NVIDIA's). One that is there already is only looked at. About 540 MB are downloaded, once.
"""
import pathlib
import subprocess
import sys

REQUIREMENTS = pathlib.Path(__file__).resolve().parent / "requirements.txt"


def python_of(directory):
    """The environment's interpreter."""
    return pathlib.Path(directory) / "venv" / "bin" / "python"


def ready(directory):
    """True if the environment has what requirements.txt asks for."""
    stamp = pathlib.Path(directory) / "requirements.done"
    return python_of(directory).exists() and stamp.exists() and stamp.read_text() == REQUIREMENTS.read_text()


def make(directory):
    """Makes the environment; raises CalledProcessError."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if not python_of(directory).exists():
        subprocess.run([sys.executable, "-m", "venv", directory / "venv"], check=True)
    subprocess.run([python_of(directory), "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:",
                    "--no-cache-dir", "--disable-pip-version-check", "-r", REQUIREMENTS], check=True)
    (directory / "requirements.done").write_text(REQUIREMENTS.read_text())


def main():
    directory = sys.argv[1]
    if ready(directory):
        return
    try:
        make(directory)
    except subprocess.CalledProcessError as error:
        sys.exit(f"the PyTorch environment in {directory} could not be made: {error}")


if __name__ == "__main__":
    main()
