# SPDX-License-Identifier: Apache-2.0
"""CUDA graphs: capture by torch.cuda.graph, replay, a second graph in the same pool, a graphed callable."""
import json

import torch
from torch import nn


def graphed_gradient():
    """Shape of the gradient of a graphed callable."""
    train = nn.Linear(64, 64).cuda()
    graphed = torch.cuda.make_graphed_callables(train, (torch.rand(8, 64, device="cuda", requires_grad=True),))
    loss = graphed(torch.rand(8, 64, device="cuda", requires_grad=True)).sum()
    loss.backward()
    torch.cuda.synchronize()
    return list(train.weight.grad.shape)


def main():
    # First, not last: PyTorch's autograd thread drops Python objects after backward() has returned, and an interpreter
    # older than 3.13 that ends meanwhile aborts ("terminate called without an active exception"), sgprs or not.
    grad = graphed_gradient()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).cuda().eval()
    fixed = torch.zeros(8, 64, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.inference_mode(), torch.cuda.stream(side):
        for _ in range(3):
            model(fixed)
    torch.cuda.current_stream().wait_stream(side)
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.inference_mode():
        with torch.cuda.graph(first):
            middle = model(fixed)
        with torch.cuda.graph(second, pool=first.pool()):
            output = middle @ fixed.t()
        for i in range(10):
            fixed.copy_(torch.full((8, 64), float(i)))
            first.replay()
            second.replay()
    torch.cuda.synchronize()
    print(json.dumps({"shape": list(output.shape), "grad": grad}))


if __name__ == "__main__":
    main()
