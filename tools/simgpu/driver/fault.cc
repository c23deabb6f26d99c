// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/fault.h"

#include <cstdlib>
#include <string>

#include "runtime/base/environment.h"
#include "tools/simgpu/driver/module.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

// The number behind `colon`, up to the end or another colon.
bool Number(const std::string& text, size_t colon, unsigned long long* value) {
  const char* begin = text.c_str() + colon + 1;
  char* end;
  *value = strtoull(begin, &end, 10);
  return end != begin && *value > 0 && (*end == '\0' || *end == ':');
}

}  // namespace

void ReadFaultPlan(FaultPlan* plan) {
  const char* value = env::Get(env::kSimgpuFault);
  if (value == nullptr || *value == '\0') return;
  const std::string text(value);
  const size_t first = text.find(':');
  const size_t second = first != std::string::npos ? text.find(':', first + 1) : first;
  unsigned long long launch = 1;
  unsigned long long code = CUDA_ERROR_ILLEGAL_ADDRESS;
  if ((first != std::string::npos && !Number(text, first, &launch)) ||
      (second != std::string::npos && !Number(text, second, &code))) {
    LogLine("%s: '%s' is not KERNEL[:N[:CODE]]", env::kSimgpuFault, value);
    return;
  }
  plan->name_hash = HashOfName(text.substr(0, first));
  plan->code = static_cast<uint32_t>(code);
  plan->launches_left = static_cast<int64_t>(launch);
  plan->armed = true;
}

uint32_t TakeFault(uint64_t name_hash) {
  FaultPlan& plan = TheProcess().fault;
  if (name_hash != plan.name_hash) return 0;
  return plan.launches_left.fetch_sub(1) == 1 ? plan.code : 0;
}

}  // namespace sgprs::simgpu::driver
