// SPDX-License-Identifier: Apache-2.0
#include "runtime/recorder/job_recorder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sgprs::recorder {
namespace {

constexpr size_t kMostOpenJobs = 64;  // kept of one client; more are not recorded whole

template <size_t kBytes>
void CopyText(char (&to)[kBytes], const std::string& from) {
  std::memset(to, 0, kBytes);
  std::memcpy(to, from.data(), std::min(from.size(), kBytes - 1));
}

void Sum(const kernel::WakeCounts& from, kernel::WakeCounts* to) {
  to->complete += from.complete;
  to->incomplete += from.incomplete;
  to->missing += from.missing;
  to->unreleased += from.unreleased;
}

uint64_t Between(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

SgprsLogTask ToLog(const JobRecorder::Task& task, uint64_t gone_ns) {
  SgprsLogTask out = {};
  out.client_id = task.client_id;
  CopyText(out.name, task.name);
  CopyText(out.program, task.program);
  out.period_ns = task.period_ns;
  out.deadline_ns = task.deadline_ns;
  out.joined_ns = task.joined_ns;
  out.gone_ns = gone_ns;
  out.pid = task.pid;
  out.task_class = task.task_class;
  out.release_rule = task.rule;
  return out;
}

}  // namespace

JobRecorder::JobRecorder(kernel::Probes* probes, std::unique_ptr<observe::JobLog> log)
    : probes_(probes), log_(std::move(log)) {}

JobRecorder::~JobRecorder() {
  while (!clients_.empty()) Remove(clients_.begin()->first, 0);
}

// --- clients ---

Status JobRecorder::Add(Task task) {
  const uint64_t id = task.client_id;
  if (log_ != nullptr) log_->AppendTask(ToLog(task, 0));
  std::unique_ptr<Client> client(new Client{.task = {}, .watch = {task.rule, task.pid}});
  client->task = std::move(task);
  Status followed = Status::Ok();
  if (client->task.pidfd.valid()) {
    followed = probes_->Register(client->task.pidfd.get(), id);
    client->registered = followed.ok();
  }
  clients_[id] = std::move(client);
  return followed;
}

void JobRecorder::Remove(uint64_t client_id, uint64_t now_ns) {
  const auto found = clients_.find(client_id);
  if (found == clients_.end()) return;
  Client* client = found->second.get();
  Drain();
  Settle(client, now_ns, true);
  if (client->registered) probes_->Unregister(client->task.pidfd.get());
  if (log_ != nullptr && now_ns != 0) log_->AppendTask(ToLog(client->task, now_ns));
  Sum(client->watch.counts(), &gone_);
  clients_.erase(found);
}

const observe::PhaseHistograms* JobRecorder::Phases(uint64_t client_id) const {
  const auto found = clients_.find(client_id);
  return found != clients_.end() ? &found->second->phases : nullptr;
}

kernel::WakeCounts JobRecorder::WakeTotals() const {
  kernel::WakeCounts totals = gone_;
  for (const auto& [id, client] : clients_) Sum(client->watch.counts(), &totals);
  return totals;
}

// --- what happens ---

void JobRecorder::Drain() {
  probes_->Drain([this](const SgprsWakeRecord& record) {
    const auto found = clients_.find(record.client_id);
    if (found != clients_.end()) found->second->watch.Add(record);
  });
}

void JobRecorder::Tick(uint64_t now_ns) {
  Drain();
  for (auto& [id, client] : clients_) Settle(client.get(), now_ns, false);
}

JobRecorder::Release JobRecorder::Released(uint64_t client_id, uint64_t job,
                                           uint64_t first_launch_ns) {
  const auto found = clients_.find(client_id);
  if (found == clients_.end()) return {first_launch_ns, false};
  Client* client = found->second.get();
  if (client->registered) Drain();
  const kernel::ReleaseWatch::Job& released =
      client->watch.Released(job, first_launch_ns, client->last_release_ns);
  client->last_release_ns = released.release_ns;
  if (client->first_launch_ns.size() >= kMostOpenJobs) client->first_launch_ns.clear();
  client->first_launch_ns[job] = first_launch_ns;
  // A timer or an input that was not seen is better replaced by the grid than by a late launch.
  return {released.release_ns,
          released.rule == client->task.rule && released.rule != SGPRS_RELEASE_GRID};
}

void JobRecorder::StageEnded(uint64_t client_id, const completion::StageRecord& stage) {
  const auto found = clients_.find(client_id);
  if (found == clients_.end()) return;
  Client* client = found->second.get();
  std::deque<Occupancy>& partition = occupied_[stage.grant.partition];
  if (partition.size() == kKeptStages) partition.pop_front();
  partition.push_back({client_id, stage.granted_ns, stage.complete_ns});
  if (stage.grant.job <= client->last_finished) return;  // what came after its end
  if (client->stages.size() >= kMostOpenJobs) client->stages.erase(client->stages.begin());
  std::vector<SgprsLogStage>& stages = client->stages[stage.grant.job];
  if (stages.size() > SGPRS_MAX_STAGES) return;  // enough to know that there were too many
  SgprsLogStage out = {};
  out.granted_ns = stage.granted_ns;
  out.issued_ns = stage.first_issue_ns;
  out.gpu_end_ns = stage.complete_ns;
  if (stage.gpu_ns != 0) out.gpu_start_ns = Between(stage.gpu_ns, stage.complete_ns);
  out.virtual_deadline_ns = stage.grant.virtual_deadline_ns;
  out.partition = static_cast<uint16_t>(stage.grant.partition);
  out.level = static_cast<uint8_t>(stage.grant.level);
  if (stage.complete_ns <= stage.grant.virtual_deadline_ns) {
    out.flags |= SGPRS_LOG_STAGE_VIRTUAL_MET;
  }
  if (stage.grant.switched) out.flags |= SGPRS_LOG_STAGE_SWITCHED;
  if (stage.grant.learning) out.flags |= SGPRS_LOG_STAGE_LEARNING;
  stages.push_back(out);
}

void JobRecorder::Finished(uint64_t client_id, const sched::FinishedJob& finished,
                           uint64_t now_ns) {
  const auto found = clients_.find(client_id);
  if (found == clients_.end()) return;
  Client* client = found->second.get();
  Waiting waiting = {.job = Begin(*client, finished), .stages = {}, .since_ns = now_ns};
  if (const auto stages = client->stages.find(finished.job); stages != client->stages.end()) {
    waiting.stages = std::move(stages->second);
  }
  SgprsLogJob& job = waiting.job;
  for (const SgprsLogStage& stage : waiting.stages) {
    if (job.first_grant_ns == 0) job.first_grant_ns = stage.granted_ns;
    if (job.first_issue_ns == 0) job.first_issue_ns = stage.issued_ns;
    if (stage.gpu_start_ns != 0) job.gpu_ns += stage.gpu_end_ns - stage.gpu_start_ns;
    if ((stage.flags & SGPRS_LOG_STAGE_LEARNING) != 0) job.flags |= SGPRS_LOG_LEARNING;
  }
  FillHeld(*client, finished, &waiting.stages, &job);
  client->last_complete_ns = finished.complete_ns;
  client->last_finished = std::max(client->last_finished, finished.job);
  client->first_launch_ns.erase(finished.job);
  client->stages.erase(client->stages.begin(), client->stages.upper_bound(finished.job));
  if (client->waiting.size() == kMostWaiting) {
    Write(client, &client->waiting.front());
    client->waiting.pop_front();
  }
  client->waiting.push_back(std::move(waiting));
  Settle(client, now_ns, false);
}

// --- the record ---

SgprsLogJob JobRecorder::Begin(const Client& client, const sched::FinishedJob& finished) const {
  SgprsLogJob job = {};
  job.client_id = client.task.client_id;
  job.job = finished.job;
  job.release_ns = finished.release_ns;
  job.deadline_ns = finished.deadline_ns;
  job.complete_ns = finished.complete_ns;
  const auto first = client.first_launch_ns.find(finished.job);
  job.first_launch_ns =
      first != client.first_launch_ns.end() ? first->second : finished.first_launch_ns;
  if (!finished.on_time) job.flags |= SGPRS_LOG_MISSED;
  if (finished.off_signature) job.flags |= SGPRS_LOG_OFF_SIGNATURE;
  const kernel::ReleaseWatch::Job* seen = client.watch.Find(finished.job);
  job.release_rule =
      static_cast<uint8_t>(seen != nullptr ? seen->rule : SGPRS_RELEASE_FIRST_LAUNCH);
  return job;
}

// Stamps, activity and who had the CPU, as far as they are known by now.
void JobRecorder::FillWake(const Client& client, SgprsLogJob* job) const {
  const kernel::ReleaseWatch::Job* seen = client.watch.Find(job->job);
  if (seen == nullptr || !seen->wake) return;
  const SgprsWakeRecord& wake = *seen->wake;
  job->flags |= SGPRS_LOG_STAMPS;
  if ((wake.flags & SGPRS_WAKE_NO_SLEEP) != 0) job->flags |= SGPRS_LOG_NO_SLEEP;
  job->wait = wake.wait;
  job->cpu = wake.cpu;
  job->due_ns = wake.due_ns;
  job->expire_ns = wake.expire_ns;
  job->wakeup_ns = wake.wakeup_ns;
  job->on_cpu_ns = wake.on_cpu_ns;
  job->wait_exit_ns = wake.exit_ns;
  job->culprit_ns = wake.ran_ns;
  job->culprit_tid = wake.ran_tid;
  std::memcpy(job->culprit_comm, wake.ran_comm, sizeof(job->culprit_comm));
  if (!seen->after) return;
  const SgprsWakeRecord& after = *seen->after;
  job->flags |= SGPRS_LOG_ACTIVITY;
  job->run_ns = after.run_ns;
  job->queued_ns = after.queued_ns;
  job->blocked_ns = after.blocked_ns;
  job->stopped_ns = after.stopped_ns;
  if (after.preempt_ns <= job->culprit_ns) return;
  job->flags |= SGPRS_LOG_PREEMPTED;
  job->culprit_ns = after.preempt_ns;
  job->culprit_tid = after.preempt_tid;
  std::memcpy(job->culprit_comm, after.preempt_comm, sizeof(job->culprit_comm));
}

// From the first launch to the first issue: the job before, the gate, the partition, the issuer;
// the longest of them held it.
void JobRecorder::FillHeld(const Client& client, const sched::FinishedJob& finished,
                           std::vector<SgprsLogStage>* stages, SgprsLogJob* job) const {
  uint64_t ready_ns = job->first_launch_ns;
  for (SgprsLogStage& stage : *stages) {
    if (Between(ready_ns, stage.granted_ns) >= kHeldAtLeastNs) {
      stage.occupant_id = static_cast<uint32_t>(
          Occupant(stage.partition, job->client_id, ready_ns, stage.granted_ns));
    }
    ready_ns = stage.gpu_end_ns;
  }
  const uint64_t own_ns =
      Between(job->first_launch_ns, std::min(client.last_complete_ns, job->first_grant_ns));
  const uint64_t free_ns = job->first_launch_ns + own_ns;
  const uint64_t queued_ns = Between(free_ns, job->first_grant_ns);
  const uint64_t issue_ns = Between(job->first_grant_ns, job->first_issue_ns);
  const uint64_t occupant =
      stages->empty() || queued_ns == 0
          ? 0
          : Occupant(stages->front().partition, job->client_id, free_ns, job->first_grant_ns);
  const SgprsHeldBy queued_by = finished.held_periods != 0 ? SGPRS_HELD_GATE
                                : occupant != 0            ? SGPRS_HELD_PARTITION
                                                           : SGPRS_HELD_RUNTIME;
  const std::pair<uint64_t, SgprsHeldBy> causes[] = {
      {own_ns, SGPRS_HELD_OWN_JOB}, {queued_ns, queued_by}, {issue_ns, SGPRS_HELD_ISSUER}};
  const auto longest =
      std::max_element(std::begin(causes), std::end(causes),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
  if (longest->first < kHeldAtLeastNs) return;
  job->held_ns = longest->first;
  job->held_by = static_cast<uint8_t>(longest->second);
  if (longest->second == SGPRS_HELD_PARTITION) job->held_client = occupant;
}

uint64_t JobRecorder::Occupant(uint32_t partition, uint64_t client_id, uint64_t from,
                               uint64_t to) const {
  const auto found = occupied_.find(partition);
  if (found == occupied_.end()) return 0;
  std::map<uint64_t, uint64_t> overlap_of;
  for (const Occupancy& stage : found->second) {
    if (stage.client_id == client_id) continue;
    overlap_of[stage.client_id] +=
        Between(std::max(stage.from_ns, from), std::min(stage.to_ns, to));
  }
  uint64_t best = 0;
  uint64_t longest = 0;
  for (const auto& [id, overlap] : overlap_of) {
    if (overlap <= longest) continue;
    longest = overlap;
    best = id;
  }
  return best;
}

void JobRecorder::Settle(Client* client, uint64_t now_ns, bool all) {
  while (!client->waiting.empty()) {
    Waiting& first = client->waiting.front();
    const kernel::ReleaseWatch::Job* seen = client->watch.Find(first.job.job);
    // `after` comes with the thread's next wait; the one before the next job is the latest.
    const bool more = seen != nullptr && seen->wake && !seen->after;
    if (more && !all && now_ns < first.since_ns + kPatienceNs) return;
    Write(client, &first);
    client->waiting.pop_front();
  }
}

void JobRecorder::Write(Client* client, Waiting* waiting) {
  FillWake(*client, &waiting->job);
  client->phases.Add(waiting->job);
  if (log_ != nullptr) log_->Append(waiting->job, waiting->stages);
}

}  // namespace sgprs::recorder
