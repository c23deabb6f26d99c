// SPDX-License-Identifier: Apache-2.0
#include "runtime/stage_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "runtime/observe/text.h"
#include "runtime/profile/demangle.h"
#include "sgprs/abi/control.h"

namespace sgprs::runtime {
namespace {

using observe::JsonString;
using observe::OneLine;

constexpr size_t kMostNameBytes = 48;
constexpr size_t kRoomyStages = 8;  // so many can name three kernels each

// Of the latest job in the lane that has the learnt length; empty if there is none.
std::vector<SgprsSlot> LatestJob(const lane::LaneOwner& lane, uint64_t recorded, uint64_t length) {
  std::vector<SgprsSlot> job;
  std::vector<SgprsSlot> latest;
  const uint64_t first = recorded > SGPRS_LANE_SLOTS ? recorded - SGPRS_LANE_SLOTS : 0;
  for (uint64_t i = first; i < recorded; ++i) {
    SgprsSlot slot;
    if (!lane.CopySlotUntrusted(i, &slot) || (!job.empty() && slot.job != job.front().job)) {
      job.clear();
    }
    if (job.empty() && (slot.index != i || (slot.flags & SGPRS_SLOT_JOB_FIRST) == 0)) continue;
    job.push_back(slot);
    if (job.size() == length) latest = job;
  }
  return latest;
}

// What a stage launches, most often first.
class Contents {
 public:
  Contents(const Client& client, std::vector<SgprsSlot> job)
      : client_(client), job_(std::move(job)) {}

  bool empty() const { return job_.empty(); }

  // Names and launches; at most `most`.
  std::vector<std::pair<std::string, uint64_t>> Most(uint64_t from, uint64_t end, size_t most) {
    std::map<std::string, uint64_t> counts;
    for (uint64_t i = from; i < std::min<uint64_t>(end, job_.size()); ++i) {
      if (job_[i].kernel != 0) ++counts[Name(job_[i].kernel)];
    }
    std::vector<std::pair<std::string, uint64_t>> rows(counts.begin(), counts.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (rows.size() > most) rows.resize(most);
    return rows;
  }

  std::string Json(uint64_t from, uint64_t end, size_t most) {
    std::string out;
    for (const auto& [name, count] : Most(from, end, most)) {
      out += fmt::format(R"({}{{"name":{},"launches":{}}})", out.empty() ? "" : ",",
                         JsonString(name), count);
    }
    return out;
  }

 private:
  const std::string& Name(uint32_t id) {
    std::string& name = names_[id];
    SgprsKernelName row;
    if (name.empty() && client_.lane()->CopyKernelNameUntrusted(id, &row)) {
      name = OneLine(profile::ShortName(row.name));
      if (name.size() > kMostNameBytes) name = name.substr(0, kMostNameBytes - 3) + "...";
    }
    return name;
  }

  const Client& client_;
  const std::vector<SgprsSlot> job_;
  std::map<uint32_t, std::string> names_;
};

std::string CostsJson(const sched::TaskProfile::Stage& stage) {
  std::string out;
  for (const auto& cost : stage.costs) {
    out += fmt::format(R"({}{{"sms":{},"ns":{}}})", out.empty() ? "" : ",", cost.sm_count, cost.ns);
  }
  return out;
}

}  // namespace

Result<std::string> StageReport(const Client& client, const sched::Scheduler& scheduler) {
  const std::optional<sched::TaskProfile> learnt = scheduler.LearntProfile(client.task());
  if (!client.started() || !learnt) {
    return Status(ErrorCode::kUnavailable, "stages of " + client.Describe() + " are not known yet");
  }
  const sched::TaskView view = client.View();
  Contents contents(client, LatestJob(*client.lane(), client.recorded(), view.job_launches));
  std::string stages;
  uint64_t from = 0;
  const size_t most = learnt->stages.size() <= kRoomyStages ? 3 : 1;
  for (const sched::TaskProfile::Stage& stage : learnt->stages) {
    const std::string row =
        fmt::format(R"({}{{"launches":{},"costs":[{}],"kernels":[{}]}})", stages.empty() ? "" : ",",
                    stage.end - from, CostsJson(stage), contents.Json(from, stage.end, most));
    if (stages.size() + row.size() + 256 > SGPRS_CONTROL_TEXT_BYTES) break;
    stages += row;
    from = stage.end;
  }
  return fmt::format(R"({{"task":{},"signature":"{:016x}","profiled":{},"stages":[{}]}})",
                     JsonString(client.name()), view.signature, view.profiled, stages);
}

std::vector<SgprsLogStageKernels> KernelsOfStages(const Client& client,
                                                  const sched::Scheduler& scheduler) {
  static_assert(kMostNameBytes < SGPRS_LOG_KERNEL_BYTES);
  const std::optional<sched::TaskProfile> learnt = scheduler.LearntProfile(client.task());
  if (!client.started() || !learnt) return {};
  Contents contents(client,
                    LatestJob(*client.lane(), client.recorded(), client.View().job_launches));
  std::vector<SgprsLogStageKernels> rows;
  uint64_t from = 0;
  for (const sched::TaskProfile::Stage& stage : learnt->stages) {
    if (contents.empty()) break;
    SgprsLogKernel* row = rows.emplace_back().kernels;
    for (const auto& [name, count] : contents.Most(from, stage.end, SGPRS_LOG_KERNELS)) {
      std::memcpy(row->name, name.data(), name.size());
      (row++)->launches = static_cast<uint32_t>(count);
    }
    from = stage.end;
  }
  return rows;
}

}  // namespace sgprs::runtime
