// SPDX-License-Identifier: Apache-2.0
// Probes::Load() of a build without probes.
#include "runtime/kernel/no_probes.h"

namespace sgprs::kernel {

std::unique_ptr<Probes> Probes::Load(const ProbeOptions&) {
  return std::make_unique<NoProbes>(ProbeLevel::kNone,
                                    "this build has no probes, " SGPRS_BPF_MISSING);
}

}  // namespace sgprs::kernel
