# SPDX-License-Identifier: Apache-2.0
"""A DataLoader with four worker processes and pinned memory feeds a network."""
import json

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    """Images and labels made in the worker."""

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((3, 32, 32), float(index)), index % 10


def main():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(128, 10)).cuda()
    loader = DataLoader(Images(), batch_size=8, num_workers=4, pin_memory=True)
    batches, total = 0, 0
    with torch.inference_mode():
        for images, labels in loader:
            output = model(images.cuda(non_blocking=True))
            total += int(labels.sum())
            batches += 1
    torch.cuda.synchronize()
    print(json.dumps({"batches": batches, "labels": total, "shape": list(output.shape)}))


if __name__ == "__main__":
    main()
