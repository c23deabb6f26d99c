// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/perfetto_export.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/kernel/probe_level.h"
#include "tools/sgprs/jobs/job_parts.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

Json JobArgs(const HistoryJob& job) {
  const SgprsLogJob& row = job.job;
  Json args = {{"job", row.job}, {"release_ns", row.release_ns}, {"missed", job.missed()}};
  if (job.has_deadline()) args["deadline_ns"] = row.deadline_ns;
  if (row.due_ns != 0) args["due_ns"] = row.due_ns;
  if (row.gpu_ns != 0) args["gpu_ns"] = row.gpu_ns;
  if (job.learning()) args["learning"] = true;
  return args;
}

Json StageArgs(const HistoryJob& job, const SgprsLogStage& stage, size_t index) {
  Json args = {{"job", job.job.job}, {"stage", index}, {"level", LevelWord(stage.level)}};
  if (stage.virtual_deadline_ns != UINT64_MAX) {
    args["virtual_deadline_ns"] = stage.virtual_deadline_ns;
    args["virtual_deadline_met"] = (stage.flags & SGPRS_LOG_STAGE_VIRTUAL_MET) != 0;
  }
  if (std::string kernels = job.Kernels(index); !kernels.empty()) args["kernels"] = kernels;
  return args;
}

}  // namespace

PerfettoExport::PerfettoExport(std::function<bool(std::string_view)> write)
    : trace_(std::move(write)) {
  trace_.NameProcess(kTasks, "tasks");
  trace_.NameProcess(kPartitions, "partitions");
  trace_.NameProcess(kCpus, "CPUs");
}

void PerfettoExport::Add(const HistoryJob& job, const std::string& label) {
  waiting_.emplace(job.job.release_ns, Waiting{job, label});
  if (waiting_.size() <= kWindow) return;
  Draw(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
}

void PerfettoExport::Draw(const Waiting& one) {
  const SgprsLogJob& job = one.job.job;
  if (job.release_ns == 0 || job.complete_ns <= job.release_ns) return;
  const uint64_t flow = ++jobs_;
  const ChromeTrace::Lane lane = trace_.AddSlice(kTasks, one.label, fmt::format("job {}", job.job),
                                                 job.release_ns, job.complete_ns, JobArgs(one.job));
  for (const PartSpan& span : SpansOf({.job = job, .stages = one.job.stages})) {
    trace_.AddNested(lane, InfoOf(span.part).name, span.from_ns, span.to_ns, nullptr);
  }
  if (one.job.missed() && job.deadline_ns > job.release_ns && job.deadline_ns < job.complete_ns) {
    trace_.AddInstant(lane, "deadline missed", job.deadline_ns, nullptr);
  }
  trace_.AddFlow(lane, 's', flow, job.release_ns);
  DrawStages(one, flow);
  trace_.AddFlow(lane, 'f', flow, job.complete_ns - 1);
  DrawCpu(one);
}

void PerfettoExport::DrawStages(const Waiting& one, uint64_t flow) {
  const SgprsLogJob& job = one.job.job;
  for (size_t i = 0; i < one.job.stages.size(); ++i) {
    const SgprsLogStage& stage = one.job.stages[i];
    if (stage.granted_ns == 0 || stage.gpu_end_ns <= stage.granted_ns) continue;
    const ChromeTrace::Lane lane =
        trace_.AddSlice(kPartitions, fmt::format("partition {}", stage.partition),
                        fmt::format("{} {}.{}", one.label, job.job, i), stage.granted_ns,
                        stage.gpu_end_ns, StageArgs(one.job, stage, i));
    const uint64_t gpu_ns = std::max(stage.gpu_start_ns, stage.granted_ns);
    if (stage.gpu_start_ns != 0 && gpu_ns < stage.gpu_end_ns) {
      trace_.AddNested(lane, "GPU", gpu_ns, stage.gpu_end_ns, nullptr);
    }
    if (stage.granted_ns >= job.release_ns && stage.granted_ns < job.complete_ns) {
      trace_.AddFlow(lane, 't', flow, stage.granted_ns);
    }
  }
}

void PerfettoExport::DrawCpu(const Waiting& one) {
  const SgprsLogJob& job = one.job.job;
  const bool slept = (job.flags & SGPRS_LOG_NO_SLEEP) == 0;
  if ((job.flags & SGPRS_LOG_STAMPS) == 0 || !slept || job.on_cpu_ns == 0) return;
  const std::string track = fmt::format("CPU {}", job.cpu);
  const bool before = job.culprit_tid != 0 && (job.flags & SGPRS_LOG_PREEMPTED) == 0;
  const uint64_t waited_ns = job.on_cpu_ns - std::min(job.wakeup_ns, job.on_cpu_ns);
  const uint64_t culprit_ns = std::min(job.culprit_ns, waited_ns);
  if (before && culprit_ns != 0) {
    trace_.AddSlice(kCpus, track, Printable(job.culprit_comm), job.on_cpu_ns - culprit_ns,
                    job.on_cpu_ns,
                    {{"thread", job.culprit_tid}, {"in_the_way_of", one.label}, {"job", job.job}});
  }
  if (job.first_launch_ns > job.on_cpu_ns) {
    trace_.AddSlice(kCpus, track, one.label, job.on_cpu_ns, job.first_launch_ns,
                    {{"job", job.job}, {"until", "first launch"}});
  }
}

void PerfettoExport::Finish(const SgprsLogHeader& header) {
  for (const auto& [release_ns, one] : waiting_) Draw(one);
  waiting_.clear();
  trace_.Finish({{"sgprs_jobs", kPerfettoExportVersion},
                 {"policy", Printable(header.policy)},
                 {"device", Printable(header.device_name)},
                 {"sm_count", header.sm_count},
                 {"probe_level", NameOf(static_cast<kernel::ProbeLevel>(header.probe_level))}});
}

}  // namespace sgprs::cli
