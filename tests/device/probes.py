#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a driver and a GPU really do: probes.py NAME prints one JSON object. Each runs in a process of its own, since
some end in a fault or hang. The names are those of the list that the design rests on."""
import ctypes
import json
import os
import subprocess
import sys

from cuda_driver import AffinityParam, Cuda, CudaError, Skip, microseconds

GREEN_MINIMUM = 8


def versions(cuda):
    """P1: versions, what a partition may be, MPS, memory domains, priorities."""
    version, least, greatest = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    cuda.call("cuDriverGetVersion", ctypes.byref(version))
    name = ctypes.create_string_buffer(128)
    cuda.call("cuDeviceGetName", name, 128, cuda.device)
    cuda.call("cuCtxGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
    out = {"device": name.value.decode(), "driver": version.value, "sms": cuda.attribute(16),
           "mps": cuda.attribute(133), "memory_domains": cuda.attribute(126),
           "priorities": [least.value, greatest.value]}
    try:
        sm = cuda.sm_resource().sm
        out["sm_resource"] = {"count": sm.count, "minimum": sm.minimum, "alignment": sm.alignment}
    except (Skip, CudaError) as error:
        out["sm_resource"] = {"skipped": str(error)}
    return out


def least_group(cuda):
    """Size of the smallest partition."""
    return max(cuda.sm_resource().sm.minimum, 1) or GREEN_MINIMUM


def atoms(cuda):
    """P2: the SMs of each atom and of a union; overlaps."""
    groups = cuda.atoms(least_group(cuda))
    streams = [cuda.green_stream([group]) for group in groups]
    union = cuda.green_stream(groups[:2])
    out = {"atoms": len(groups), "sizes": [stream.resource for stream in streams], "union_size": union.resource}
    try:
        sets = [cuda.sms_of(stream, 4 * stream.resource) for stream in streams]
        both = cuda.sms_of(union, 4 * union.resource)
        everything = cuda.sms_of(cuda.stream(), 4 * cuda.attribute(16))
        out.update(sms=sets, disjoint=sum(map(len, sets)) == len(set().union(*sets)), union=both,
                   union_is_both=both == sorted(sets[0] + sets[1]), primary_has_all=len(everything) == cuda.attribute(16))
    except Skip as error:
        out["sms"] = {"skipped": str(error)}
    return out


def two_processes(cuda):
    """P3: is atom i the same SMs in another process; do two atoms run at once (needs MPS)?"""
    if cuda.attribute(133) != 1:
        raise Skip("no MPS: processes take turns")
    children = [subprocess.Popen([sys.executable, __file__, "P2"], stdout=subprocess.PIPE, text=True)
                for _ in range(2)]
    sets = [json.loads(child.communicate(timeout=60)[0]).get("sms") for child in children]
    if not all(isinstance(one, list) for one in sets):
        raise Skip("kernels are not computed on this device (a simulated one): no %smid")
    return {"same_sms": sets[0] == sets[1], "max_connections": os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS")}


def functions(cuda):
    """P4: a function of the primary context on a green stream; events across; time between them."""
    green, plain = cuda.green_stream(cuda.atoms(least_group(cuda))[:1]), cuda.stream()
    out = cuda.memory(4096)
    first, second, across = cuda.event(), cuda.event(), cuda.event(timing=False)
    cuda.call("cuEventRecord", first, green.handle)
    cuda.launch(cuda.smid, green, 4, (out, ctypes.c_uint64(1_000_000)))
    cuda.call("cuEventRecord", second, green.handle)
    cuda.call("cuEventRecord", across, green.handle)
    cuda.call("cuStreamWaitEvent", plain.handle, across, 0)
    cuda.launch(cuda.smid, plain, 4, (out, ctypes.c_uint64(0)))
    cuda.call("cuEventRecord", across, plain.handle)
    cuda.call("cuStreamWaitEvent", green.handle, across, 0)
    cuda.synchronize(green)
    cuda.synchronize(plain)
    return {"module_function_on_green_stream": True, "elapsed_ms": cuda.elapsed_ms(first, second)}


def costs(cuda):
    """P5: what partitions cost to make, and a switch between two of them."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    cuda.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    before = free.value
    groups = cuda.atoms(least_group(cuda))
    streams = []
    create_us = microseconds(lambda: streams.append(cuda.green_stream(groups[:1])), 7)
    cuda.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    out, event = cuda.memory(4096), cuda.event(timing=False)
    nothing = (out, ctypes.c_uint64(0))

    def switch(turn=[0]):  # pylint: disable=dangerous-default-value
        here, there = streams[turn[0] % 2], streams[(turn[0] + 1) % 2]
        cuda.call("cuEventRecord", event, here.handle)
        cuda.call("cuStreamWaitEvent", there.handle, event, 0)
        turn[0] += 1

    def round_trip(moves):
        for i in range(100):
            stream = streams[i % 2 if moves else 0]
            if moves:
                switch()
            cuda.launch(cuda.smid, stream, 1, nothing)
        for stream in streams[:2]:
            cuda.synchronize(stream)
    result = {"create_us": create_us, "bytes_each": (before - free.value) // len(streams),
              "switch_cpu_us": microseconds(switch, 500)}
    stay, move = microseconds(lambda: round_trip(False), 10), microseconds(lambda: round_trip(True), 10)
    result.update(launch_us=round(stay / 100, 3), launch_with_switch_us=round(move / 100, 3))
    return result


def graphs(cuda):
    """P6: a graph captured on a green stream, launched on it and on an ordinary one."""
    green, plain = cuda.green_stream(cuda.atoms(least_group(cuda))[:1]), cuda.stream()
    blocks = 4 * cuda.attribute(16)
    out = cuda.memory(4 * blocks)
    cuda.call("cuMemsetD32_v2", out, ctypes.c_uint(0xFFFFFFFF), ctypes.c_size_t(blocks))
    graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuStreamBeginCapture_v2", green.handle, 0)
    cuda.launch(cuda.smid, green, blocks, (out, ctypes.c_uint64(1_000_000)))
    cuda.call("cuStreamEndCapture", green.handle, ctypes.byref(graph))
    cuda.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_uint64(0))
    result = {"captured": True}
    for name, stream in (("on_green", green), ("on_plain", plain)):
        cuda.call("cuGraphLaunch", ready, stream.handle)
        cuda.synchronize(stream)
        try:
            result[name] = {"sms": len(cuda.read_sms(out, blocks)), "partition": green.resource}
        except Skip as error:
            result[name] = {"skipped": str(error)}
    return result


def cooperative(cuda):
    """P7: a cooperative launch with more blocks than the partition holds at once."""
    green = cuda.green_stream(cuda.atoms(least_group(cuda))[:1])
    out = cuda.memory(4 * 65536)
    arguments = (out, ctypes.c_uint64(0))
    pointers = (ctypes.c_void_p * 2)(*(ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments))
    result = {}
    for name, blocks in (("fits", 1), ("too_large", 32 * cuda.attribute(16))):
        try:
            cuda.call("cuLaunchCooperativeKernel", cuda.smid, blocks, 1, 1, 32, 1, 1, 0, green.handle, pointers)
            cuda.synchronize(green)
            result[name] = "ran"
        except CudaError as error:
            result[name] = str(error)
    return result


def affinity(cuda):
    """P8: contexts with an SM affinity (needs MPS): what is asked for and what is given."""
    if cuda.attribute(133) != 1:
        raise Skip("no MPS: contexts with an affinity need it")
    total, rows = cuda.attribute(16), []
    for wanted in sorted({1, 8, total // 4, total // 2, total}):
        parameter, context, got = AffinityParam(0, wanted), ctypes.c_void_p(), AffinityParam()
        try:
            cuda.call("cuCtxCreate_v3", ctypes.byref(context), ctypes.byref(parameter), 1, 0, cuda.device)
        except CudaError as error:
            rows.append({"wanted": wanted, "error": str(error)})
            continue
        cuda.call("cuCtxGetExecAffinity", ctypes.byref(got), 0)
        row = {"wanted": wanted, "got": got.value}
        try:
            cuda.load()
            row["sms"] = len(cuda.sms_of(cuda.stream(), 4 * total))
        except Skip as error:
            row["sms"] = {"skipped": str(error)}
        rows.append(row)
        cuda.call("cuCtxSetCurrent", cuda.context)
        cuda.load()
    return {"contexts": rows}


def fault_spreads(cuda):
    """P9: one of two clients of an MPS server faults: what becomes of the other?"""
    if cuda.attribute(133) != 1:
        raise Skip("no MPS: a fault can not spread")
    stream, out = cuda.stream(), cuda.memory(4096)
    cuda.launch(cuda.smid, stream, 1, (out, ctypes.c_uint64(0)))
    cuda.synchronize(stream)
    other = subprocess.run([sys.executable, __file__, "fault"], capture_output=True, text=True, timeout=60, check=False)
    fault = json.loads(other.stdout or "{}")
    try:
        cuda.launch(cuda.smid, stream, 1, (out, ctypes.c_uint64(0)))
        cuda.synchronize(stream)
        return {"fault": fault, "other_client": "lives"}
    except CudaError as error:
        return {"fault": fault, "other_client": str(error)}


def fault(cuda):
    """The client that faults."""
    stream = cuda.stream()
    try:
        cuda.launch(cuda.fault, stream)
        cuda.synchronize(stream)
        return {"error": None, "note": "the kernel was not computed (a simulated device): nothing faulted"}
    except CudaError as error:
        return {"error": str(error)}


PROBES = {"P1": versions, "P2": atoms, "P3": two_processes, "P4": functions, "P5": costs, "P6": graphs,
          "P7": cooperative, "P8": affinity, "P9": fault_spreads, "fault": fault}


def main():
    try:
        result = PROBES[sys.argv[1]](Cuda())
    except Skip as error:
        result = {"skipped": str(error)}
    except CudaError as error:
        result = {"error": str(error)}
    print(json.dumps(result), flush=True)
    os._exit(0)  # no clean-up of a context that may have faulted


if __name__ == "__main__":
    main()
