// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/profile/stages_view.h"

#include <fmt/format.h>

#include "runtime/base/duration.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

std::string CostsInWords(const Json& costs) {
  std::string out;
  for (const Json& cost : costs) {
    out += fmt::format("{}{} ({} SMs)", out.empty() ? "" : ", ",
                       FormatDurationNs(cost.value("ns", uint64_t{0})), cost.value("sms", 0u));
  }
  return out.empty() ? "-" : out;
}

std::string KernelsInWords(const Json& kernels) {
  std::string out;
  for (const Json& kernel : kernels) {
    out += fmt::format("{}{} x {}", out.empty() ? "" : ", ", kernel.value("launches", uint64_t{0}),
                       Printable(kernel.value("name", std::string())));
  }
  return out.empty() ? "-" : out;
}

std::string TaskText(const TaskStages& task) {
  std::string out = fmt::format("\n{} (pid {})", Printable(task.name), task.pid);
  if (!task.error.empty()) return out + ": " + Printable(task.error) + "\n";
  out += fmt::format(", signature {}{}\n", Printable(task.stages.value("signature", "?")),
                     task.stages.value("profiled", false) ? ", by its profile" : "");
  TextTable table;
  for (const char* title : {"STAGE", "LAUNCHES"}) table.AddColumn(title);
  for (const char* title : {"COST", "KERNELS"}) table.AddColumn(title, TextTable::Align::kLeft);
  size_t number = 0;
  for (const Json& stage : task.stages.value("stages", Json::array())) {
    table.AddRow({std::to_string(++number), std::to_string(stage.value("launches", uint64_t{0})),
                  CostsInWords(stage.value("costs", Json::array())),
                  KernelsInWords(stage.value("kernels", Json::array()))});
  }
  return out + table.Format();
}

}  // namespace

std::vector<TaskStages> AskStages(ControlClient* control, const StateSnapshot& snapshot) {
  std::vector<TaskStages> out;
  for (const SgprsTaskRow& row : snapshot.tasks) {
    if (row.state == SGPRS_TASK_GONE) continue;
    TaskStages task = {.name = row.name, .pid = row.pid, .error = "", .stages = {}};
    const Result<ControlClient::Reply> reply = control->Command(fmt::format("stages {}", row.pid));
    if (!reply.ok()) {
      task.error = reply.status().text();
    } else if (reply->status != 0) {
      task.error = reply->text;
    } else {
      task.stages = Json::parse(reply->text, nullptr, false);
      if (!task.stages.is_object()) task.error = "sgprsd's answer makes no sense";
    }
    out.push_back(std::move(task));
  }
  return out;
}

std::string StagesText(const std::vector<TaskStages>& tasks) {
  if (tasks.empty()) return "\nno task is alive: stages are told of those that are\n";
  std::string out;
  for (const TaskStages& task : tasks) out += TaskText(task);
  return out;
}

Json StagesJson(const std::vector<TaskStages>& tasks) {
  Json list = Json::array();
  for (const TaskStages& task : tasks) {
    if (task.error.empty()) {
      list.push_back(task.stages);
    } else {
      list.push_back({{"task", task.name}, {"error", task.error}});
    }
    list.back()["pid"] = task.pid;
  }
  return list;
}

}  // namespace sgprs::cli
