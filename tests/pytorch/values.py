# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, how far small results on the device are from the CPU's (largest absolute difference)."""
import copy
import json

import torch
from torch import nn
from torch.nn import functional

ERRORS = {}


def compare(name, device, host):
    """Remembers the difference."""
    ERRORS[name] = float((device.detach().cpu().double() - host.detach().double()).abs().max())


def products():
    """GEMM, batched, GEMV, dot, in several types."""
    a, b = torch.randn(7, 5), torch.randn(5, 9)
    for kind in (torch.float32, torch.float64):
        compare(f"matmul {kind}", a.to(kind).cuda() @ b.to(kind).cuda(), a.to(kind) @ b.to(kind))
    whole_a, whole_b = torch.randint(-4, 5, (7, 5)).float(), torch.randint(-4, 5, (5, 9)).float()
    for kind in (torch.float16, torch.bfloat16):  # small whole numbers: exact in these types
        compare(f"matmul {kind}", whole_a.to(kind).cuda() @ whole_b.to(kind).cuda(), whole_a @ whole_b)
    complex_a, complex_b = torch.randn(4, 4, dtype=torch.complex64), torch.randn(4, 4, dtype=torch.complex64)
    compare("matmul complex", torch.view_as_real(complex_a.cuda() @ complex_b.cuda().mH),
            torch.view_as_real(complex_a @ complex_b.mH))
    compare("transposed", a.t().cuda().t() @ b.t().cuda().t(), a @ b)
    batch_a, batch_b = torch.randn(3, 7, 5), torch.randn(3, 5, 9)
    compare("batched", batch_a.cuda() @ batch_b.cuda(), batch_a @ batch_b)
    compare("vector", a.cuda() @ torch.arange(5.0).cuda(), a @ torch.arange(5.0))
    compare("dot", torch.dot(a[0].cuda(), b[:, 0].contiguous().cuda()), torch.dot(a[0], b[:, 0]))
    layer = nn.Linear(5, 6)
    compare("linear", copy.deepcopy(layer).cuda()(a.cuda()), layer(a))


def convolutions():
    """Forward and backward, by strides, padding, dilation, groups, dimensions and memory format. (A change of format
    on the device would be a kernel of PyTorch's own, which is not computed.)"""
    cases = {"plain": {}, "strided": {"stride": 2, "padding": 1}, "dilated": {"dilation": 2}, "grouped": {"groups": 2}}
    for name, how in cases.items():
        weight = torch.randn(8, 4 // how.get("groups", 1), 3, 3, requires_grad=True)
        image = torch.randn(2, 4, 9, 9, requires_grad=True)
        for form in (torch.contiguous_format, torch.channels_last):
            twin_image = image.detach().to(memory_format=form).cuda().requires_grad_()
            twin_weight = weight.detach().to(memory_format=form).cuda().requires_grad_()
            output, expected = functional.conv2d(twin_image, twin_weight, **how), functional.conv2d(image, weight, **how)
            gradient = torch.randn_like(expected)
            got = torch.autograd.grad(output, (twin_image, twin_weight), gradient.to(memory_format=form).cuda())
            want = torch.autograd.grad(expected, (image, weight), gradient)
            label = f"{name} {str(form).rsplit('.', 1)[-1]}"
            compare(f"convolution {label}", output, expected)
            compare(f"convolution {label} dx", got[0], want[0])
            compare(f"convolution {label} dw", got[1], want[1])
    line, kernel = torch.randn(2, 3, 17), torch.randn(4, 3, 5)
    compare("convolution 1d", functional.conv1d(line.cuda(), kernel.cuda()), functional.conv1d(line, kernel))


def normalisation():
    """Batch norm: training, its gradients and running statistics, inference."""
    host, image = nn.BatchNorm2d(3), torch.randn(4, 3, 5, 5, requires_grad=True)
    device, twin = copy.deepcopy(host).cuda(), image.detach().cuda().requires_grad_()
    output, expected = device(twin), host(image)
    gradient = torch.randn_like(expected)
    output.backward(gradient.cuda())
    expected.backward(gradient)
    compare("batch norm", output, expected)
    compare("batch norm dx", twin.grad, image.grad)
    compare("batch norm dscale", device.weight.grad, host.weight.grad)
    compare("batch norm dbias", device.bias.grad, host.bias.grad)
    compare("running variance", device.running_var, host.running_var)
    compare("running mean", device.running_mean, host.running_mean)
    compare("batch norm inference", device.eval()(twin), host.eval()(image))


def control_flow():
    """What the shapes of other tensors hang on, and PyTorch's own kernels that are computed."""
    mask = torch.rand(3, 50, 20) > 0.7
    compare("nonzero", mask.cuda().nonzero(), mask.nonzero())
    for kind in (torch.float32, torch.int64, torch.uint8, torch.float16):
        compare(f"nonzero {kind}", mask.to(kind).cuda().nonzero(), mask.nonzero())
    large = torch.rand(300, 1000) > 0.9  # counted by two kernels
    compare("nonzero large", large.cuda().nonzero(), large.nonzero())
    compare("where", torch.where(mask[0, 0].cuda())[0], torch.where(mask[0, 0])[0])
    a, b = torch.randn(1000), torch.randn(1000)
    compare("add", torch.add(a.cuda(), b.cuda(), alpha=3), torch.add(a, b, alpha=3))
    compare("add scalar", a.cuda() + 2.5, a + 2.5)
    compare("multiply", a.cuda() * b.cuda(), a * b)
    compare("multiply scalar", a.cuda() * 3, a * 3)
    compare("fill", torch.full((100,), 7, device="cuda"), torch.full((100,), 7))
    compare("to half", a.cuda().half(), a.half())
    compare("from bfloat16", a.bfloat16().cuda().float(), a.bfloat16().float())
    compare("clone", a.cuda().clone(), a)
    for name, value in {"below": a < 0.3, "at least": a >= 0.3, "between": a > b, "equal": a.long() == 0}.items():
        twin = {"below": a.cuda() < 0.3, "at least": a.cuda() >= 0.3, "between": a.cuda() > b.cuda(),
                "equal": a.long().cuda() == 0}[name]
        compare(name, twin, value)
    compare("clamp", a.cuda().clamp(-0.5, 0.5), a.clamp(-0.5, 0.5))
    compare("clamp half", a.half().cuda().clamp(min=0), a.half().clamp(min=0))
    twin, host = a.cuda().requires_grad_(), a.clone().requires_grad_()
    compare("relu", torch.relu(twin), torch.relu(host))
    compare("relu dx", torch.autograd.grad(torch.relu(twin), twin, b.cuda())[0],
            torch.autograd.grad(torch.relu(host), host, b)[0])
    for name in ("abs", "ceil", "floor", "neg", "exp", "tanh", "sigmoid", "reciprocal"):
        compare(name, getattr(torch, name)(a.cuda()), getattr(torch, name)(a))
    assert "cuda:0" in repr(a[:3].cuda())  # chooses its format by masks and reductions: must not fail


def reductions():
    """Sums, means, extremes, their places, any, all; of everything and along a dimension."""
    for kind in (torch.float32, torch.float64, torch.float16, torch.int64, torch.int32, torch.uint8):
        host = (torch.randn(6, 50) * 9).clamp(0, 50).to(kind)
        device = host.cuda()
        tests = {"sum": lambda x: x.sum(), "max": lambda x: x.max(), "min": lambda x: x.min(),
                 "argmax": lambda x: x.argmax(), "argmin": lambda x: x.argmin()}
        if kind.is_floating_point:
            tests.update({"mean": lambda x: x.mean(), "mean rows": lambda x: x.mean(1)})
        if kind in (torch.float32, torch.float64, torch.int64):
            tests.update({"sum rows": lambda x: x.sum(1), "sum columns": lambda x: x.sum(0),
                          "argmax rows": lambda x: x.argmax(1), "sum turned": lambda x: x.t().sum(1)})
        for name, test in tests.items():
            compare(f"{name} {kind}", test(device), test(host))
    mask = torch.rand(6, 50) > 0.9
    compare("count", mask.cuda().sum(), mask.sum())
    for name, test in {"any": torch.any, "all": torch.all}.items():
        compare(name, test(mask.cuda()), test(mask))
        compare(f"{name} rows", test(mask.cuda(), 1), test(mask, 1))
        compare(f"{name} of none", test(torch.zeros(9, dtype=torch.bool).cuda()), test(torch.zeros(9, dtype=torch.bool)))
        compare(f"{name} of floats", test(mask.float().cuda()), test(mask.float()))


def main():
    torch.manual_seed(5)
    torch.backends.cudnn.allow_tf32 = False
    products()
    convolutions()
    normalisation()
    control_flow()
    reductions()
    print(json.dumps(ERRORS))


if __name__ == "__main__":
    main()
