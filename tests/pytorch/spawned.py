# SPDX-License-Identifier: Apache-2.0
"""multiprocessing by spawn, a CUDA context in each process; and a fork, in which CUDA must be refused."""
import json
import multiprocessing
import os

import torch


def child(number, queue):
    """Runs in a process of its own."""
    result = torch.full((64, 64), float(number), device="cuda") @ torch.eye(64, device="cuda")
    torch.cuda.synchronize()
    queue.put((number, list(result.shape), os.getpid()))


def forked():
    """Exit code of a forked child that uses CUDA: 7 if PyTorch refuses, as it must."""
    pid = os.fork()
    if pid == 0:
        try:
            torch.zeros(1, device="cuda")
            os._exit(0)
        except RuntimeError:
            os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main():
    torch.zeros(1, device="cuda")
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    children = [context.Process(target=child, args=(i, queue)) for i in range(2)]
    for process in children:
        process.start()
    answers = sorted(queue.get(timeout=120)[:2] for _ in children)
    for process in children:
        process.join(60)
    print(json.dumps({"answers": answers, "codes": [p.exitcode for p in children], "forked": forked()}))


if __name__ == "__main__":
    main()
