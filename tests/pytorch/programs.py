# SPDX-License-Identifier: Apache-2.0
"""How the tests run PyTorch programs: a Stack with the stand-in libraries' kernels."""
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import stack  # noqa: E402

PYTHON = str(pathlib.Path(os.environ.get("SGPRS_PYTORCH_ENV", HERE.parents[1] / "build" / "pytorch")) / "venv" / "bin" / "python")
KERNELS = ":".join(os.path.join(stack.LIB, "simgpu", f"lib{name}-kernels.so") for name in ("math", "torch"))


def new_stack(**options):
    """A private device and sgprsd; PyTorch's home is the stack's own directory."""
    result = stack.Stack(**options)
    result.env.update(SGPRS_SIMGPU_KERNELS=KERNELS, SGPRS_SIMGPU_LOG=os.path.join(result.dir, "simgpu-client.log"),
                      SGPRS_SHIM_LOG=os.path.join(result.dir, "shim.log"), PYTHONDONTWRITEBYTECODE="1", HOME=result.dir)
    return result


def command(name, *arguments):
    """Command line of a program in this directory."""
    return [PYTHON, "-W", "ignore", str(HERE / f"{name}.py"), *arguments]
