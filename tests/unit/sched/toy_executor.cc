// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/sched/toy_executor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace sgprs::sched {
namespace {

double Slowness(uint32_t sm_count) { return 0.03 + 0.97 / sm_count; }

std::vector<uint64_t> Identities(const std::vector<uint64_t>& launches) {
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < launches.size(); ++i) ids.push_back(launches[i] * 31 + i + 1);
  return ids;
}

}  // namespace

ToyExecutor::ToyExecutor(const SchedulerConfig& config, Closing closing)
    : config_(config), closing_(closing) {
  Result<std::unique_ptr<Scheduler>> made = Scheduler::Make(config);
  if (!made.ok()) std::abort();
  scheduler_ = std::move(*made);
}

size_t ToyExecutor::Add(const ToyProcess& process) {
  Process p;
  p.spec = process;
  p.next_release_ns = process.phase_ns;
  processes_.push_back(std::move(p));
  return processes_.size() - 1;
}

std::vector<FinishedJob> ToyExecutor::FinishedOf(size_t process) const {
  std::vector<FinishedJob> jobs;
  for (const FinishedJob& job : finished_) {
    if (job.task == processes_[process].task) jobs.push_back(job);
  }
  return jobs;
}

uint64_t ToyExecutor::WorstFirstGrantNs(size_t process, uint64_t from_ns) const {
  uint64_t worst = 0;
  for (const auto& [first_launch_ns, waited_ns] : processes_[process].first_grants) {
    if (first_launch_ns >= from_ns) worst = std::max(worst, waited_ns);
  }
  return worst;
}

std::string ToyExecutor::Log() const {
  std::ostringstream log;
  for (size_t i = 0; i < grants_.size(); ++i) {
    const Grant& g = grants_[i];
    log << grant_times_[i] << ' ' << g.task << '.' << g.job << '.' << g.stage << '/'
        << g.stage_count << " [" << g.from << ',' << g.upto << ") p" << g.partition << " l"
        << g.level << ' ' << g.virtual_deadline_ns << '\n';
  }
  return log.str();
}

uint64_t ToyExecutor::Recorded(const Process& p) const {
  if (!p.in_job) return 0;
  if (p.spec.endless) return p.done + 1000;  // a full driver queue
  if (p.spec.record_gap_ns == 0) return p.launches.size();
  return std::min<uint64_t>(p.launches.size(),
                            1 + (now_ns_ - p.first_launch_ns) / p.spec.record_gap_ns);
}

uint64_t ToyExecutor::NextRecordNs(const Process& p) const {
  const uint64_t recorded = Recorded(p);
  if (!p.in_job || p.spec.endless || recorded >= p.launches.size()) return kNever;
  return p.first_launch_ns + recorded * p.spec.record_gap_ns;
}

bool ToyExecutor::Runs(const Process& p) const {
  return p.in_job && p.granted && p.grant.job == p.job && p.done < p.grant.upto &&
         p.done < Recorded(p);
}

bool ToyExecutor::Hangs(const Process& p) const {
  return p.job == p.spec.hang_job && p.done == p.spec.hang_launch;
}

std::vector<uint32_t> ToyExecutor::ActivePerPartition() const {
  std::vector<uint32_t> active(config_.partitions.size(), 0);
  for (const Process& p : processes_) active[p.grant.partition] += Runs(p) && !Hangs(p);
  return active;
}

double ToyExecutor::Rate(const Process& p, const std::vector<uint32_t>& active) const {
  if (Hangs(p)) return 0;
  const uint32_t partition = p.grant.partition;
  return Slowness(config_.device_sm_count) / Slowness(config_.partitions[partition].sm_count) /
         active[partition];
}

uint64_t ToyExecutor::LaunchNs(const Process& p, uint64_t index) const {
  return p.launches[index % p.launches.size()];
}

uint64_t ToyExecutor::NextEventNs() {
  uint64_t at = std::max(scheduler_->NextWakeNs(), now_ns_ + 1);
  const std::vector<uint32_t> active = ActivePerPartition();
  for (Process& p : processes_) {
    if (p.gone) continue;
    at = std::min({at, p.spec.killed_ns, NextRecordNs(p)});
    if (!p.in_job && p.job < p.spec.jobs) at = std::min(at, std::max(p.next_release_ns, now_ns_));
    if (!Runs(p) || Hangs(p)) continue;
    if (!p.left_known) p.left_ns = LaunchNs(p, p.done);
    p.left_known = true;
    const double ns = std::ceil(static_cast<double>(p.left_ns) / Rate(p, active));
    at = std::min(at, now_ns_ + static_cast<uint64_t>(ns));
  }
  return std::max(at, now_ns_);
}

void ToyExecutor::Progress(uint64_t to_ns) {
  const std::vector<uint32_t> active = ActivePerPartition();
  for (Process& p : processes_) {
    if (!Runs(p) || p.gone) continue;
    const double made = std::ceil(static_cast<double>(to_ns - now_ns_) * Rate(p, active));
    p.left_ns -= std::min(p.left_ns, static_cast<uint64_t>(made));
  }
  now_ns_ = to_ns;
}

void ToyExecutor::RunUntil(uint64_t end_ns) {
  while (now_ns_ < end_ns) {
    Progress(std::min(NextEventNs(), end_ns));
    Deliver();
    Decide();
  }
}

void ToyExecutor::Deliver() {
  for (Process& p : processes_) {
    if (p.gone) continue;
    if (now_ns_ >= p.spec.killed_ns) {
      Kill(p);
      continue;
    }
    if (Runs(p) && p.left_known && p.left_ns == 0 && !Hangs(p)) LaunchDone(p);
    if (!p.in_job && p.job < p.spec.jobs && now_ns_ >= p.next_release_ns) StartJob(p);
    if (p.in_job && p.granted && p.done < p.grant.upto && p.done == Recorded(p) &&
        !p.idle_reported && p.done > p.grant.from) {
      Report(p, /*whole=*/false);
    }
  }
}

void ToyExecutor::LaunchDone(Process& p) {
  ++p.done;
  ++p.launches_done;
  p.left_known = false;
  p.idle_reported = false;
  const bool job_done = !p.spec.endless && p.done == p.launches.size();
  if (p.done == p.grant.upto) {
    Report(p, /*whole=*/true);
  } else if (p.done == Recorded(p)) {
    Report(p, /*whole=*/false);
  }
  if (job_done) JobDone(p);
}

void ToyExecutor::Report(Process& p, bool whole) {
  StageReport report;
  report.job = p.job;
  report.stage = p.grant.stage;
  report.partition = p.grant.partition;
  report.done = p.done;
  report.whole = whole;
  report.complete_ns = now_ns_;
  report.recorded = Recorded(p);
  p.idle_reported = !whole;
  scheduler_->StageProgress(p.task, report, now_ns_);
}

void ToyExecutor::JobDone(Process& p) {
  p.in_job = false;
  p.complete_ns = now_ns_;
  p.close_pending = true;
  if (closing_ == Closing::kAtCompletion) Close(p);
  if (p.spec.config.period_ns == 0) {
    p.next_release_ns = now_ns_;
    return;
  }
  // Overrun: whole periods are skipped until the next release is less than one period behind.
  p.next_release_ns += p.spec.config.period_ns;
  while (now_ns_ >= p.next_release_ns + p.spec.config.period_ns) {
    p.next_release_ns += p.spec.config.period_ns;
  }
}

void ToyExecutor::Close(Process& p) {
  if (!p.close_pending) return;
  p.close_pending = false;
  scheduler_->JobClosed(p.task, p.job, Identities(p.launches), p.complete_ns, now_ns_);
}

void ToyExecutor::StartJob(Process& p) {
  if (!p.registered) {
    p.registered = true;
    p.task = *scheduler_->AddTask(p.spec.config, now_ns_);
    by_task_[p.task] = static_cast<size_t>(&p - processes_.data());
  }
  if (closing_ == Closing::kBeforeNextRelease) Close(p);
  const std::vector<uint64_t> before = p.launches;
  const bool close_after = p.close_pending;
  p.launches = p.spec.vary ? p.spec.vary(p.job + 1) : p.spec.launch_ns;
  scheduler_->JobReleased(p.task, p.job + 1, now_ns_, now_ns_);
  if (close_after) {
    scheduler_->JobClosed(p.task, p.job, Identities(before), p.complete_ns, now_ns_);
    p.close_pending = false;
  }
  ++p.job;
  p.in_job = true;
  p.granted = false;
  p.granted_upto = 0;
  p.done = 0;
  p.left_known = false;
  p.idle_reported = false;
  p.first_launch_ns = now_ns_;
}

void ToyExecutor::Kill(Process& p) {
  if (p.registered) scheduler_->RemoveTask(p.task, now_ns_);
  by_task_.erase(p.task);
  p.gone = true;
  p.in_job = false;
}

void ToyExecutor::Decide() {
  std::vector<Grant> grants;
  scheduler_->Decide(now_ns_, &grants);
  for (const Grant& grant : grants) TakeGrant(grant);
  for (const FinishedJob& job : scheduler_->TakeFinishedJobs()) finished_.push_back(job);
}

void ToyExecutor::TakeGrant(const Grant& grant) {
  grants_.push_back(grant);
  grant_times_.push_back(now_ns_);
  if (by_task_.count(grant.task) == 0) return Violation(grant, "no such task");
  Process& p = processes_[by_task_[grant.task]];
  if (grant.partition >= config_.partitions.size()) return Violation(grant, "no such partition");
  if (grant.upto <= grant.from) Violation(grant, "empty");
  if (grant.job != p.job) {
    if (grant.job > p.job) Violation(grant, "job not released");
    return;  // the rest of an earlier job, which is complete
  }
  if (grant.from != p.granted_upto) Violation(grant, "not contiguous");
  if (p.granted && p.done < p.grant.upto) Violation(grant, "granted while another stage runs");
  if (!p.granted) p.first_grants.emplace_back(p.first_launch_ns, now_ns_ - p.first_launch_ns);
  p.grant = grant;
  p.granted = true;
  p.granted_upto = grant.upto;
  p.idle_reported = false;
}

void ToyExecutor::Violation(const Grant& grant, const std::string& what) {
  std::ostringstream text;
  text << now_ns_ << ": task " << grant.task << " job " << grant.job << " stage " << grant.stage
       << " [" << grant.from << ", " << grant.upto << "): " << what;
  violations_.push_back(text.str());
}

SchedulerConfig PaperPool(const std::string& policy) {
  SchedulerConfig config;
  config.device_sm_count = 68;
  config.partitions = {{34, 2}, {34, 2}, {34, 2}};
  config.policy = policy;
  return config;
}

ToyProcess Periodic(const std::string& name, uint64_t period_ns, uint64_t work_ns,
                    uint64_t launches, SgprsTaskClass task_class) {
  ToyProcess process;
  process.config.name = name;
  process.config.task_class = task_class;
  process.config.period_ns = period_ns;
  process.launch_ns.assign(launches, work_ns / launches);
  return process;
}

ToyProcess Flood(const std::string& name, uint64_t launch_ns) {
  ToyProcess process;
  process.config.name = name;
  process.config.task_class = SGPRS_CLASS_BEST_EFFORT;
  process.launch_ns = {launch_ns};
  process.endless = true;
  return process;
}

}  // namespace sgprs::sched
