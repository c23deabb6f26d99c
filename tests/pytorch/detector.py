# SPDX-License-Identifier: Apache-2.0
"""A detector that looks at its own output in the middle of a frame: .item(), nonzero, a data-dependent second stage."""
import argparse
import json

import torch
from torch import nn
from torch.nn import functional


class Detector(nn.Module):
    """Backbone, score map, and a head that runs on the regions found."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU())
        self.score = nn.Conv2d(32, 1, 1)
        self.head = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, image, most):
        features = self.backbone(image)
        scores = torch.sigmoid(self.score(features)).flatten()
        found = int((scores > 0.5).sum().item())
        keep = min(max(found, 1), most)
        _, place = scores.topk(keep)
        regions = features.flatten(2)[0].t()[place]
        return self.head(regions), found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(1)
    model = Detector().cuda().eval()
    shapes, indices = set(), 0
    with torch.inference_mode():
        for _ in range(args.frames):
            image = torch.rand(1, 3, 128, 128).cuda()
            boxes, _ = model(image, 50)
            inside = (boxes[:, 0] > 0).nonzero()
            indices += inside.shape[0]
            area = functional.relu(boxes[:, 2] * boxes[:, 3]).sum().item()
            assert isinstance(area, float)
            shapes.add((boxes.shape[1], inside.shape[1]))
    print(json.dumps({"frames": args.frames, "shapes": sorted(shapes)}))


if __name__ == "__main__":
    main()
