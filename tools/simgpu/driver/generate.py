#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what follows from cuda.h: entries for every driver call that no source file implements.

generate.py --preprocessed FILE --variants abi_variants.txt --out DIR SOURCE...

  DIR/stubs.cc           NOT_SUPPORTED entries, and _ptsz/_ptds entries of implemented calls
  DIR/lookup_table.inc   rows for lookup.cc: base name, per-thread, first version, symbol
  DIR/error_names.inc    rows for error.cc: enumerator, text
  DIR/not_simulated.txt  the calls that answer NOT_SUPPORTED without looking, one a line

FILE is cuda.h and cudaProfiler.h after the preprocessor, with __CUDA_API_VERSION_INTERNAL.
"""
import argparse
import pathlib
import re
import sys

PROTOTYPE = re.compile(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;{]*?)\)\s*;", re.S)
IMPLEMENTED = re.compile(r"^SIM_API CUresult (cu[A-Z]\w*)\(", re.M)
FAMILY = re.compile(r"^GRAPH_NODE_CALLS\((cu[A-Z]\w*),\s+(cu[A-Z]\w*),\s+(cu[A-Z]\w*),", re.M)
ERROR = re.compile(r"\b(CUDA_(?:SUCCESS|ERROR_\w+))\s*=\s*(\d+)")

# What real drivers say, where it is well known; for others the name in words.
TEXTS = {
    "CUDA_SUCCESS": "no error",
    "CUDA_ERROR_INVALID_VALUE": "invalid argument",
    "CUDA_ERROR_OUT_OF_MEMORY": "out of memory",
    "CUDA_ERROR_NOT_INITIALIZED": "initialization error",
    "CUDA_ERROR_DEINITIALIZED": "driver shutting down",
    "CUDA_ERROR_NO_DEVICE": "no CUDA-capable device is detected",
    "CUDA_ERROR_INVALID_DEVICE": "invalid device ordinal",
    "CUDA_ERROR_INVALID_IMAGE": "device kernel image is invalid",
    "CUDA_ERROR_INVALID_CONTEXT": "invalid device context",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "no kernel image is available for execution on the device",
    "CUDA_ERROR_INVALID_PTX": "a PTX JIT compilation failed",
    "CUDA_ERROR_FILE_NOT_FOUND": "file not found",
    "CUDA_ERROR_INVALID_HANDLE": "invalid resource handle",
    "CUDA_ERROR_NOT_FOUND": "named symbol not found",
    "CUDA_ERROR_NOT_READY": "device not ready",
    "CUDA_ERROR_ILLEGAL_ADDRESS": "an illegal memory access was encountered",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "too many resources requested for launch",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "the launch timed out and was terminated",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": "context is destroyed",
    "CUDA_ERROR_LAUNCH_FAILED": "unspecified launch failure",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "too many blocks in cooperative launch",
    "CUDA_ERROR_NOT_PERMITTED": "operation not permitted",
    "CUDA_ERROR_NOT_SUPPORTED": "operation not supported",
    "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY": "execution affinity not supported",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "CUDA-capable device(s) is/are busy or unavailable",
    "CUDA_ERROR_UNKNOWN": "unknown error",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "uncorrectable ECC error encountered",
    "CUDA_ERROR_ILLEGAL_STATE": "the operation cannot be performed in the present state",
    "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED": "peer access is already enabled",
    "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED": "peer access has not been enabled",
    "CUDA_ERROR_ASSERT": "device-side assert triggered",
    "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED":
        "part or all of the requested memory range is already mapped",
    "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED":
        "pointer does not correspond to a registered memory region",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "hardware stack error",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "an illegal instruction was encountered",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "misaligned address",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "operation not supported on global/shared address space",
    "CUDA_ERROR_INVALID_PC": "invalid program counter",
    "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED": "operation not permitted when stream is capturing",
    "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED":
        "operation failed due to a previous error during capture",
    "CUDA_ERROR_STREAM_CAPTURE_MERGE":
        "operation would result in a merge of separate capture sequences",
    "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED": "capture was not ended in the same stream as it began",
    "CUDA_ERROR_STREAM_CAPTURE_UNJOINED": "capturing stream has unjoined work",
    "CUDA_ERROR_STREAM_CAPTURE_ISOLATION":
        "dependency created on uncaptured work in another stream",
    "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT":
        "operation would make the legacy stream depend on a capturing blocking stream",
    "CUDA_ERROR_CAPTURED_EVENT":
        "operation not permitted on an event last recorded in a capturing stream",
    "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD":
        "attempt to terminate a thread-local capture sequence from another thread",
    "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE":
        "the graph update was not performed because it included changes which violated constraints "
        "specific to instantiated graph update",
}


def die(text):
    sys.exit(f"generate.py: {text}")


def parameters(text):
    """[(type, name)] of a parameter list."""
    text = " ".join(text.split())
    if text in ("", "void"):
        return []
    result = []
    for item in text.split(","):
        match = re.fullmatch(r"(.*?)(\w+)(\[\])?", item.strip())
        if match is None or not match.group(1).strip():
            die(f"can not read the parameter {item!r}")
        result.append((match.group(1).strip() + ("*" if match.group(3) else ""), match.group(2)))
    return result


def stub(name, params):
    types = ", ".join(kind for kind, _ in params) or "void"
    return (f'SIM_API CUresult {name}({types}) {{\n'
            f'  static std::atomic<bool> logged{{false}};\n'
            f'  return NotSupported("{name}", &logged);\n}}\n')


def per_thread(name, base, params):
    declared = ", ".join(f"{kind} {word}" for kind, word in params) or "void"
    passed = ", ".join(word for _, word in params)
    return (f"SIM_API CUresult {name}({declared}) {{\n"
            f"  PerThreadDefaultStream scope;\n"
            f"  return {base}({passed});\n}}\n")


def write_stubs(prototypes, implemented, path):
    out = ["// Generated by tools/simgpu/driver/generate.py.",
           '#include "tools/simgpu/driver/process.h"',
           '#include "tools/simgpu/driver/thread_state.h"',
           "using namespace sgprs::simgpu::driver;", ""]
    for name, params in sorted(prototypes.items()):
        if name in implemented:
            continue
        base = re.sub(r"_pt[sd][zs]$", "", name)
        if base != name and base in implemented:
            same = [kind for kind, _ in prototypes[base]] == [kind for kind, _ in params]
            if not same:
                die(f"{name} and {base} differ")
            out.append(per_thread(name, base, params))
        else:
            out.append(stub(name, params))
    path.write_text("\n".join(out))


def write_not_simulated(prototypes, implemented, path):
    names = {re.sub(r"_pt[sd][zs]$", "", name) for name in prototypes} - implemented
    path.write_text("".join(f"{name}\n" for name in sorted(names)))


def write_table(variants, prototypes, path):
    rows = []
    for line in variants.read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        base, kind, *items = line.split()
        for item in items:
            version, symbol = item.split(":")
            if symbol not in prototypes:
                die(f"{variants}: {symbol} is not in cuda.h")
            flag = "false" if kind == "legacy" else "true"
            rows.append((base, flag, int(version), symbol))
    rows.sort()
    text = [f'LOOKUP_ROW("{b}", {f}, {v}, {s})' for b, f, v, s in rows]
    path.write_text("// Generated by tools/simgpu/driver/generate.py.\n" + "\n".join(text) + "\n")


def write_errors(header, path):
    seen, rows = set(), []
    for name, value in ERROR.findall(header):
        if value in seen:
            continue
        seen.add(value)
        text = TEXTS.get(name, name.replace("CUDA_ERROR_", "").replace("_", " ").lower())
        rows.append(f'ERROR_ROW({name}, "{text}")')
    path.write_text("// Generated by tools/simgpu/driver/generate.py.\n" + "\n".join(rows) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preprocessed", type=pathlib.Path, required=True)
    parser.add_argument("--variants", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("sources", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    header = args.preprocessed.read_text()
    prototypes = {name: parameters(text) for name, text in PROTOTYPE.findall(header)}
    if len(prototypes) < 600:
        die(f"only {len(prototypes)} calls found: not CUDA 13.0's cuda.h?")
    implemented = set()
    for source in args.sources:
        text = source.read_text()
        implemented |= set(IMPLEMENTED.findall(text))
        implemented |= {name for names in FAMILY.findall(text) for name in names}
    if unknown := implemented - set(prototypes):
        die(f"implemented, but not in cuda.h: {sorted(unknown)}")
    args.out.mkdir(parents=True, exist_ok=True)
    write_stubs(prototypes, implemented, args.out / "stubs.cc")
    write_not_simulated(prototypes, implemented, args.out / "not_simulated.txt")
    write_table(args.variants, prototypes, args.out / "lookup_table.inc")
    write_errors(header, args.out / "error_names.inc")


if __name__ == "__main__":
    main()
