# SPDX-License-Identifier: Apache-2.0
"""torch.compile. Exit code 77: its compiler can not run here, with the reason on stderr."""
import importlib.util
import json
import sys

import torch
from torch import nn


def main():
    if importlib.util.find_spec("triton") is None:
        print("skipped: torch.compile for a GPU needs Triton, which is not installed; its code generator "
              "would also need a real GPU's ptxas", file=sys.stderr)
        sys.exit(77)
    model = torch.compile(nn.Sequential(nn.Linear(64, 64), nn.ReLU()).cuda())
    output = model(torch.rand(4, 64, device="cuda"))
    torch.cuda.synchronize()
    print(json.dumps({"shape": list(output.shape)}))


if __name__ == "__main__":
    main()
