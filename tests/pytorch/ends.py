# SPDX-License-Identifier: Apache-2.0
"""Ways a program ends: ends.py interrupt | exit | hard | error. Each with work in flight on the device."""
import os
import sys
import time

import torch


def main():
    how = sys.argv[1]
    data = torch.rand(512, 512, device="cuda")
    torch.cuda.synchronize()
    print("running", flush=True)
    for _ in range(200):
        data = data @ data
    if how == "exit":
        sys.exit(3)
    if how == "hard":
        os._exit(4)
    if how == "error":
        raise ValueError("on purpose")
    end = time.monotonic() + 60
    while time.monotonic() < end:  # until Ctrl-C
        data = data @ data
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
