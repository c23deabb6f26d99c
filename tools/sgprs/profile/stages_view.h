// SPDX-License-Identifier: Apache-2.0
// What the stages of the tasks are made of, as sgprsd tells it (`sgprs tasks --stages`).
#ifndef SGPRS_TOOLS_SGPRS_PROFILE_STAGES_VIEW_H_
#define SGPRS_TOOLS_SGPRS_PROFILE_STAGES_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/sgprs/control_client.h"
#include "tools/sgprs/state_view.h"

namespace sgprs::cli {

// One living task. Either `error` says why nothing is known, or `stages` is the daemon's answer.
struct TaskStages {
  std::string name;
  uint32_t pid = 0;
  std::string error;
  Json stages;
};

// Asks for each living task of `snapshot`; blocks for some seconds each at most.
std::vector<TaskStages> AskStages(ControlClient* control, const StateSnapshot& snapshot);

std::string StagesText(const std::vector<TaskStages>& tasks);
Json StagesJson(const std::vector<TaskStages>& tasks);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_PROFILE_STAGES_VIEW_H_
