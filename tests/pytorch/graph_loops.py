# SPDX-License-Identifier: Apache-2.0
"""A program that launches CUDA graphs and nothing else, paced in the ways that users pace one:

    graph_loops.py HOW [--frames 40] [--fps 30]

sync     replay, torch.cuda.synchronize(), sleep
sleep    replay, sleep; the result is never waited for
input    an asynchronous copy to the device, replay, sleep
two      two graphs with work of the CPU between them, synchronize, sleep
poll     replay, an event that is asked until it is done, sleep
"""
import argparse
import json
import time

import torch
from torch import nn


def capture(model, fixed):
    """A graph of the model."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(fixed)
    return graph


def frame(how, graphs, fixed, host):
    """One frame."""
    if how == "input":
        fixed.copy_(host, non_blocking=True)
    graphs[0].replay()
    if how == "two":
        time.sleep(0.004)
        graphs[1].replay()
    if how in ("sync", "two"):
        torch.cuda.synchronize()
    if how == "poll":
        done = torch.cuda.Event()
        done.record()
        while not done.query():
            time.sleep(0.0002)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=("sync", "sleep", "input", "two", "poll"))
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--fps", type=float, default=30)
    args = parser.parse_args()
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(6))).cuda().eval()
    host = torch.rand(32, 256).pin_memory()
    fixed = host.cuda()
    with torch.inference_mode():
        model(fixed)
        graphs = [capture(model, fixed), capture(model[:2], fixed)]
        due = time.monotonic()
        for _ in range(args.frames):
            time.sleep(max(0.0, due - time.monotonic()))
            frame(args.how, graphs, fixed, host)
            due += 1 / args.fps
    torch.cuda.synchronize()
    print(json.dumps({"frames": args.frames}))


if __name__ == "__main__":
    main()
