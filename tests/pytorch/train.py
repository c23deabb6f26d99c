# SPDX-License-Identifier: Apache-2.0
"""A training loop: SGD and Adam, mixed precision with a gradient scaler, gradient clipping, a checkpoint."""
import argparse
import io
import json

import torch
from torch import nn
from torch.nn import functional

from resnet18 import ResNet18


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=6)
    args = parser.parse_args()
    torch.manual_seed(3)
    model = ResNet18(classes=10, width=16).cuda()
    optimisers = [torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), torch.optim.Adam(model.parameters())]
    scaler = torch.amp.GradScaler("cuda")
    for step in range(args.steps):
        optimiser = optimisers[step % 2]
        images = torch.rand(4, 3, 64, 64).cuda(non_blocking=True)
        labels = torch.randint(0, 10, (4,)).cuda()
        optimiser.zero_grad()
        with torch.autocast("cuda", enabled=step % 3 == 2):
            loss = functional.cross_entropy(model(images), labels)
        if step % 3 == 2:
            scaler.scale(loss).backward()
            scaler.step(optimiser)
            scaler.update()
        else:
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        loss.item()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    grads = sum(p.grad is not None for p in model.parameters())
    print(json.dumps({"steps": args.steps, "grads": grads, "peak": torch.cuda.max_memory_allocated() > 0}))


if __name__ == "__main__":
    main()
