// SPDX-License-Identifier: Apache-2.0
// Probes::Load() of a build with probes: the best level that really loads.
#include "runtime/kernel/bpf_probes.h"
#include "runtime/kernel/no_probes.h"

namespace sgprs::kernel {

std::unique_ptr<Probes> Probes::Load(const ProbeOptions& options) {
  if (!options.enabled) {
    return std::make_unique<NoProbes>(ProbeLevel::kNone, "switched off by the configuration");
  }
  Result<std::unique_ptr<BpfProbes>> loaded = BpfProbes::Make(options);
  if (loaded.ok()) return std::move(*loaded);
  const ProbeLevel level =
      loaded.status().code() == ErrorCode::kNotFound ? ProbeLevel::kNoBtf : ProbeLevel::kNone;
  return std::make_unique<NoProbes>(level, loaded.status().text());
}

}  // namespace sgprs::kernel
