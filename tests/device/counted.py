#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a PyTorch program under torch.profiler (CUPTI): counted.py PROGRAM.py ARGUMENTS... The last line on stderr is
JSON, the kernels that the GPU ran by the profiler's records."""
import json
import runpy
import sys

from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile


def main():
    sys.argv = sys.argv[1:]
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        runpy.run_path(sys.argv[0], run_name="__main__")
    kernels = sum(event.device_type == DeviceType.CUDA and not event.name.startswith(("Memcpy", "Memset"))
                  for event in seen.events())
    print(json.dumps({"counted_by": "torch.profiler", "counted": kernels}), file=sys.stderr)


if __name__ == "__main__":
    main()
