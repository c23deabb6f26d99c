# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges around each job and inside it."""
import json

import torch
from torch import nn


def main():
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).cuda().eval()
    frame = torch.rand(4, 64, device="cuda")
    with torch.inference_mode():
        for i in range(20):
            with torch.cuda.nvtx.range("frame"):
                torch.cuda.nvtx.range_push(f"network {i}")
                output = model(frame)
                torch.cuda.nvtx.range_pop()
                torch.cuda.nvtx.mark("copied")
                output.cpu()
    print(json.dumps({"shape": list(output.shape)}))


if __name__ == "__main__":
    main()
