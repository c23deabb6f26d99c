// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/scenario.h"

namespace sgprs::model {

std::vector<TaskSpec> Scenario::Tasks() const {
  std::vector<TaskSpec> tasks;
  for (const TaskGroup& group : groups) {
    const uint32_t count = group.count_is_n ? n : group.count;
    for (uint32_t i = 0; i < count; ++i) {
      tasks.push_back(group.task);
      if (count > 1 || group.count_is_n) tasks.back().name += "-" + std::to_string(i);
    }
  }
  return tasks;
}

}  // namespace sgprs::model
