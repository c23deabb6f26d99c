// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/miss_cause.h"

#include <algorithm>

namespace sgprs::cli {
namespace {

JobParts PartsOf(const HistoryJob& job) {
  return cli::PartsOf(observe::LoggedJob{.job = job.job, .stages = job.stages});
}

}  // namespace

void TaskStatistics::Add(const HistoryJob& job) {
  ++jobs_;
  if (job.has_deadline()) ++with_deadline_;
  if (job.missed()) ++missed_;
  if ((job.job.flags & SGPRS_LOG_OFF_SIGNATURE) != 0) ++off_signature_;
  if ((job.job.flags & SGPRS_LOG_STAMPS) != 0) ++stamped_;
  if (HasWholeStamps(job.job)) ++whole_;
  for (const observe::JobPhaseInfo& info : observe::kJobPhases) {
    if (const std::optional<uint64_t> ns = observe::PhaseNs(job.job, info.phase)) {
      phases_[static_cast<size_t>(info.phase)].Add(*ns);
    }
  }
  if (job.learning()) {
    ++learning_;
    return;
  }
  const JobParts parts = PartsOf(job);
  for (const JobPartInfo& info : kJobParts) {
    const auto i = static_cast<size_t>(info.part);
    parts_[i].Add(parts.of(info.part));
    if (!job.missed()) usual_[i].Add(parts.of(info.part));
  }
  if (job.missed()) return;
  usual_response_.Add(parts.sum_ns());
  if (job.has_deadline() && job.job.deadline_ns >= job.job.complete_ns) {
    slack_.Add(job.job.deadline_ns - job.job.complete_ns);
  }
}

Diagnosis Diagnose(const HistoryJob& job, const TaskStatistics& task) {
  Diagnosis out;
  const JobParts parts = PartsOf(job);
  out.response_ns = parts.sum_ns();
  out.compared = task.has_usual();
  if (job.has_deadline()) {
    const uint64_t complete_ns = job.job.complete_ns;
    const uint64_t deadline_ns = job.job.deadline_ns;
    out.late_ns = complete_ns > deadline_ns ? complete_ns - deadline_ns : 0;
    out.slack_ns = deadline_ns > complete_ns ? deadline_ns - complete_ns : 0;
  }
  for (const JobPartInfo& info : kJobParts) {
    PartFinding finding = {.part = info.part, .took_ns = parts.of(info.part)};
    if (out.compared) finding.usual_ns = task.usual(info.part).MedianNs();
    if (finding.took_ns > finding.usual_ns) finding.excess_ns = finding.took_ns - finding.usual_ns;
    if (finding.took_ns != 0 || finding.usual_ns != 0) out.parts.push_back(finding);
  }
  std::stable_sort(
      out.parts.begin(), out.parts.end(), [](const PartFinding& a, const PartFinding& b) {
        return a.excess_ns != b.excess_ns ? a.excess_ns > b.excess_ns : a.took_ns > b.took_ns;
      });
  if (out.parts.empty()) return out;
  out.cause = out.parts.front().part;
  uint64_t saved_ns = 0;
  for (const PartFinding& finding : out.parts) {
    if (!out.compared || out.late_ns == 0 || finding.excess_ns == 0) break;
    saved_ns += finding.excess_ns;
    out.cure.push_back(finding.part);
    if (saved_ns >= out.late_ns) return out;
  }
  out.cure.clear();
  return out;
}

}  // namespace sgprs::cli
