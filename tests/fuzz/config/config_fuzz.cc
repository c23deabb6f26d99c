// SPDX-License-Identifier: Apache-2.0
// Any text as sgprsd's configuration. An error is one line that names the file; what is accepted
// can be shown and read again, and makes a pool and a scheduler on any device that it fits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "runtime/device_pool.h"
#include "runtime/pool/config.h"
#include "runtime/pool/config_keys.h"
#include "runtime/pool/layout.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using namespace sgprs;

void Require(bool promise) {
  if (!promise) std::abort();
}

// As `sgprsd --check` prints it.
std::string Show(const pool::Config& config) {
  std::string text;
  for (const pool::ConfigKey& key : pool::ConfigKeys()) {
    if (!key.section.empty()) text += std::string(key.section) + ".";
    text += std::string(key.name) + " = " + key.show(config) + "\n";
  }
  return text;
}

void CheckLayout(const pool::Config& config, const pool::DeviceShape& device,
                 policy::PoolShape shape) {
  const auto spans = pool::LayOutPool(config.pool, device, shape);
  if (!spans.ok()) return;
  Require(!spans->empty() && spans->size() <= SGPRS_MAX_PARTITIONS);
  for (const pool::PartitionSpan& span : *spans) {
    Require(span.sm_count >= 1 && span.sm_count <= device.sm_count);
    Require(span.first_sm <= device.sm_count - span.sm_count);
  }
  const auto scheduler = sched::Scheduler::Make(
      runtime::MakeSchedulerConfig(config, config.policy, *spans, device.sm_count));
  Require(scheduler.ok());
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<pool::Config> config = pool::ParseConfig(text, "file");
  if (!config.ok()) {
    const std::string& error = config.status().text();
    Require(error.starts_with("file:") && error.find('\n') == std::string::npos);
    return 0;
  }
  const std::string shown = Show(*config);
  const Result<pool::Config> again = pool::ParseConfig(shown, "shown");
  Require(again.ok());
  Require(again->pool.sm_counts == config->pool.sm_counts && again->policy == config->policy);
  Require(again->socket_path == config->socket_path && again->trace_file == config->trace_file);
  Require(again->pool.oversubscription == config->pool.oversubscription);
  constexpr pool::DeviceShape kDevices[] = {{1, 1, 1},   {7, 3, 2},    {68, 2, 2},
                                            {132, 8, 8}, {100, 40, 7}, {65536, 1, 65536}};
  for (const pool::DeviceShape& device : kDevices) {
    for (const policy::PoolShape shape :
         {policy::PoolShape::kConfigured, policy::PoolShape::kFullSize,
          policy::PoolShape::kDisjoint}) {
      CheckLayout(*config, device, shape);
    }
  }
  return 0;
}
