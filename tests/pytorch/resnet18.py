# SPDX-License-Identifier: Apache-2.0
"""ResNet18 in plain PyTorch, as torchvision defines it, and a loop that runs it by a timer.

    resnet18.py [--frames 30] [--fps 30] [--batch 1] [--size 224] [--graph] [--half] [--channels-last] [--log FILE]

--frames 0: until SIGTERM. --log: a line a frame, when it was due and done (s, monotonic).
Prints one line of JSON: frames, late, the output's shape, times in ms.
"""
import argparse
import itertools
import json
import os
import signal
import time

import torch
from torch import nn


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or inputs != outputs:
            self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        shortcut = x if self.down is None else self.down(x)
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + shortcut)


class ResNet18(nn.Module):
    """The 18-layer network."""

    def __init__(self, classes=1000, width=64):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width),
                                  nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        blocks, inputs = [], width
        for i in range(4):
            outputs = width << i
            blocks += [Block(inputs, outputs, 1 if i == 0 else 2), Block(outputs, outputs, 1)]
            inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class Ending:
    """True once SIGTERM has come."""

    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGTERM, self.ask)

    def ask(self, *_):
        self.asked = True

    def __bool__(self):
        return self.asked


def main():
    started = time.monotonic()
    ending = Ending()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=30)
    parser.add_argument("--fps", type=float, default=30)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--log", default=os.devnull)
    args = parser.parse_args()
    device = torch.device("cuda")
    model = ResNet18().to(device).eval()
    frame = torch.rand(args.batch, 3, args.size, args.size, device=device)
    if args.half:
        model, frame = model.half(), frame.half()
    if args.channels_last:
        model, frame = model.to(memory_format=torch.channels_last), frame.to(memory_format=torch.channels_last)
    graph = None
    with torch.inference_mode(), open(args.log, "w", encoding="utf-8", buffering=1) as log:
        for _ in range(3):
            output = model(frame)
        torch.cuda.synchronize()
        if args.graph:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                output = model(frame)
        first = time.monotonic() - started
        period, late, times, cpu = 1 / args.fps, 0, [], time.process_time()
        due = time.monotonic()
        for frame_number in itertools.count():
            if ending or frame_number == (args.frames or -1):
                break
            time.sleep(max(0.0, due - time.monotonic()))
            begin = time.monotonic()
            if graph is not None:
                graph.replay()
            else:
                output = model(frame)
            torch.cuda.synchronize()
            end = time.monotonic()
            times.append((end - begin) * 1e3)
            log.write(f"{due:.6f} {end:.6f}\n")
            due += period
            late += end > due
        cpu = time.process_time() - cpu
    print(json.dumps({"frames": len(times), "late": late, "shape": list(output.shape),
                      "median_ms": round(sorted(times or [0])[len(times) // 2], 3), "worst_ms": round(max(times or [0]), 3),
                      "cpu_ms": round(cpu / max(1, len(times)) * 1e3, 3), "first_s": round(first, 3)}))


if __name__ == "__main__":
    main()
