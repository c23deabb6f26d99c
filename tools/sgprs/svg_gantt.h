// SPDX-License-Identifier: Apache-2.0
// A Gantt of one window of a run: above, what each partition ran; below, each task with its
// releases and deadlines. Drawn alike for a virtual run and for a trace of sgprsd. Pure.
#ifndef SGPRS_TOOLS_SGPRS_SVG_GANTT_H_
#define SGPRS_TOOLS_SGPRS_SVG_GANTT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/sim_result.h"

namespace sgprs::cli {

struct GanttTask {
  std::string name;
  std::string remark;  // beside the name: class, rate
};

struct Gantt {
  std::string title;
  std::vector<std::string> subtitle;
  std::vector<uint32_t> partition_sms;  // SMs of partition i
  std::vector<GanttTask> tasks;         // rows refer to them by index
  // Any order. Stages begin at start_ns, or, if that is 0, at granted_ns.
  std::vector<model::JobRow> jobs;
  std::vector<model::StageRow> stages;
  uint64_t from_ns = 0;  // the window, on the clock of the rows
  uint64_t to_ns = 0;
  uint64_t zero_ns = 0;  // what the axis calls 0
  std::vector<std::string> notes;
};

// More tasks than this are not drawn below; a line says how many are left out.
inline constexpr size_t kGanttTasks = 64;

// The picture as an SVG file. `to_ns` > `from_ns`.
std::string DrawGantt(const Gantt& gantt);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_SVG_GANTT_H_
