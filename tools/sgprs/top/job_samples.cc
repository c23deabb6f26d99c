// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/job_samples.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tools/sgprs/top/top_sampler.h"

namespace sgprs::cli {
namespace {

// Of a list that it sorts; nullopt if it is empty. The smallest that at least p of them reach.
std::optional<uint64_t> Quantile(std::vector<uint64_t>* values, double p) {
  if (values->empty()) return std::nullopt;
  std::sort(values->begin(), values->end());
  const auto last = static_cast<double>(values->size() - 1);
  return (*values)[static_cast<size_t>(std::lround(p * last))];
}

}  // namespace

Result<std::unique_ptr<JobSamples>> JobSamples::Open(const std::string& directory) {
  auto samples = std::make_unique<JobSamples>();
  Result<std::unique_ptr<JobHistory>> history = JobHistory::Open(directory);
  if (!history.ok()) return history.status();
  samples->history_ = std::move(*history);
  if (Status end = samples->history_->SkipToEnd(); !end.ok()) return end;
  return samples;
}

Status JobSamples::Read(uint64_t from_ns) {
  for (;;) {
    Result<std::optional<HistoryJob>> next = history_->Next();
    if (!next.ok()) return next.status();
    if (!next->has_value()) break;
    Add((*next)->job);
  }
  for (auto task = jobs_.begin(); task != jobs_.end();) {
    std::deque<Job>& jobs = task->second;
    while (!jobs.empty() && jobs.front().complete_ns < from_ns) jobs.pop_front();
    task = jobs.empty() ? jobs_.erase(task) : std::next(task);
  }
  return Status::Ok();
}

void JobSamples::Add(const SgprsLogJob& job) {
  if (job.release_ns == 0 || job.complete_ns < job.release_ns) return;
  Job sample = {.complete_ns = job.complete_ns,
                .response_ns = job.complete_ns - job.release_ns,
                .jitter_ns = std::nullopt};
  if (job.first_launch_ns >= job.release_ns)
    sample.jitter_ns = job.first_launch_ns - job.release_ns;
  std::deque<Job>& jobs = jobs_[job.client_id];
  jobs.push_back(sample);
  if (jobs.size() > kMostJobs) jobs.pop_front();
}

void JobSamples::Fill(uint64_t from_ns, TopTask* task) const {
  const auto found = jobs_.find(task->row.client_id);
  if (found == jobs_.end()) return;
  std::vector<uint64_t> responses;
  std::vector<uint64_t> jitters;
  for (const Job& job : found->second) {
    if (job.complete_ns < from_ns) continue;
    responses.push_back(job.response_ns);
    if (job.jitter_ns.has_value()) jitters.push_back(*job.jitter_ns);
  }
  if (responses.empty()) return;
  task->response_p50_ns = Quantile(&responses, 0.5);
  task->response_p99_ns = Quantile(&responses, 0.99);
  task->jitter_p50_ns = Quantile(&jitters, 0.5);
  task->jitter_p99_ns = Quantile(&jitters, 0.99);
}

}  // namespace sgprs::cli
