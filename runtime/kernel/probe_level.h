// SPDX-License-Identifier: Apache-2.0
// How much the kernel tells us of releases. Each level is found by really loading, never by asking
// for a version or a capability.
#ifndef SGPRS_RUNTIME_KERNEL_PROBE_LEVEL_H_
#define SGPRS_RUNTIME_KERNEL_PROBE_LEVEL_H_

#include <cstdint>

namespace sgprs::kernel {

// The numbers are in job logs (SgprsLogHeader.probe_level): do not renumber.
enum class ProbeLevel : uint32_t {
  kNone = 0,          // nothing loaded: releases are the shim's first launch
  kNoBtf = 1,         // nothing loaded: the kernel has no BTF, and classic tracepoints need root
  kCapabilities = 2,  // loaded by CAP_BPF and CAP_PERFMON, without root
  kRoot = 3,          // loaded by root
  kPlain = 4,         // loaded by root on classic tracepoints: the kernel has no BTF
};

inline const char* NameOf(ProbeLevel level) {
  switch (level) {
    case ProbeLevel::kNone:
      return "none";
    case ProbeLevel::kNoBtf:
      return "no-btf";
    case ProbeLevel::kCapabilities:
      return "capabilities";
    case ProbeLevel::kRoot:
      return "root";
    case ProbeLevel::kPlain:
      return "plain";
  }
  return "unknown";
}

inline bool HasStamps(ProbeLevel level) { return level >= ProbeLevel::kCapabilities; }

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_PROBE_LEVEL_H_
