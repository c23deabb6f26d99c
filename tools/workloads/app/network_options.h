// SPDX-License-Identifier: Apache-2.0
#ifndef SGPRS_TOOLS_WORKLOADS_APP_NETWORK_OPTIONS_H_
#define SGPRS_TOOLS_WORKLOADS_APP_NETWORK_OPTIONS_H_

#include <cstdint>
#include <string>

#include "tools/workloads/driver/cuda_api.h"
#include "tools/workloads/nn/plan.h"

namespace workloads {

enum class StreamChoice { kNull, kOwn, kBlocking };

struct NetworkOptions {
  InputSize input{224, 224};
  uint64_t blocks = 0;            // of a group of a residual network
  uint64_t period_ns = 33333334;  // 30 fps; 0: back to back
  uint64_t deadline_ns = 0;       // 0: the period
  uint64_t length_ns = 0;
  uint64_t frames = 0;
  uint64_t phase_ns = 0;
  uint64_t warmup = 1;
  uint64_t seed = 1;
  StreamChoice stream = StreamChoice::kOwn;
  DriverEntry entry = DefaultDriverEntry();
  std::string frames_file;  // empty: none
  bool json = false;
};

// False: the program ends with `exit_code`; what is to be said has been said. `options->blocks` not
// 0: there is an option --blocks, with this default.
bool ParseNetworkOptions(int argc, char** argv, const char* name, NetworkOptions* options,
                         int* exit_code);

}  // namespace workloads

#endif  // SGPRS_TOOLS_WORKLOADS_APP_NETWORK_OPTIONS_H_
