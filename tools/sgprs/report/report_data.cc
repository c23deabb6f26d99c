// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/report/report_data.h"

#include <algorithm>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/kernel/probe_level.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr uint64_t kLeastPadNs = 5 * kNsPerMs;

bool HasTimes(const SgprsLogJob& job) {
  return job.release_ns != 0 && job.complete_ns >= job.release_ns;
}

uint64_t LateNs(const HistoryJob& job) {
  return job.has_deadline() && job.job.complete_ns > job.job.deadline_ns
             ? job.job.complete_ns - job.job.deadline_ns
             : 0;
}

// Reads the log once more or less: what both passes share.
class Reader {
 public:
  explicit Reader(ReportData* data) : data_(data) {}

  // Statistics, and the worst jobs.
  Status First(const std::string& log);
  // Causes, and what is in the windows.
  Status Second(const std::string& log);
  void ChooseWindows();
  void DiagnoseWorst();

 private:
  using Key = std::pair<uint32_t, uint64_t>;
  static Key KeyOf(const HistoryTask& task) { return {task.run, task.client_id}; }
  void Count(const HistoryJob& job);
  void Keep(size_t task, const HistoryJob& job);
  void Draw(size_t task, const HistoryJob& job);
  bool AddWindow(size_t task, const HistoryJob& job);

  ReportData* const data_;
  std::map<Key, size_t> index_;
  uint64_t last_sequence_ = 0;
  std::optional<ReportMiss> slowest_;  // for a window, if nothing was missed
};

void Reader::Count(const HistoryJob& job) {
  const auto [found, fresh] = index_.emplace(KeyOf(*job.task), data_->tasks.size());
  if (fresh) data_->tasks.emplace_back();
  ReportTask& task = data_->tasks[found->second];
  task.task = *job.task;
  task.statistics.Add(job);
  data_->all.Add(job);
  if (job.missed() && job.learning()) {
    ++task.missed_learning;
    ++data_->missed_learning;
  }
  if (!HasTimes(job.job)) return;
  const uint64_t release_ns = job.job.release_ns;
  if (task.first_release_ns == 0) task.first_release_ns = release_ns;
  task.first_release_ns = std::min(task.first_release_ns, release_ns);
  task.last_complete_ns = std::max(task.last_complete_ns, job.job.complete_ns);
  data_->from_ns = data_->from_ns == 0 ? release_ns : std::min(data_->from_ns, release_ns);
  data_->to_ns = std::max(data_->to_ns, job.job.complete_ns);
  if (!job.learning()) Keep(found->second, job);
}

void Reader::Keep(size_t task, const HistoryJob& job) {
  const uint64_t response_ns = job.job.complete_ns - job.job.release_ns;
  if (!slowest_.has_value() ||
      response_ns > slowest_->job.job.complete_ns - slowest_->job.job.release_ns) {
    slowest_ = {task, job, {}};
  }
  if (!job.missed()) return;
  std::vector<ReportMiss>& worst = data_->worst;
  const auto less = [](const ReportMiss& a, const ReportMiss& b) {
    return LateNs(a.job) > LateNs(b.job);
  };
  ReportMiss miss = {task, job, {}};
  worst.insert(std::upper_bound(worst.begin(), worst.end(), miss, less), std::move(miss));
  if (worst.size() > ReportData::kMostMisses) worst.pop_back();
}

Status Reader::First(const std::string& log) {
  Result<std::unique_ptr<JobHistory>> history = JobHistory::Open(log);
  if (!history.ok()) return history.status();
  for (;;) {
    Result<std::optional<HistoryJob>> next = (*history)->Next();
    if (!next.ok()) return next.status();
    if (!next->has_value()) break;
    last_sequence_ = (*next)->job.record.sequence;
    Count(**next);
  }
  if (data_->tasks.empty()) return Status(ErrorCode::kNotFound, "'" + log + "' holds no job yet");
  data_->header = (*history)->header();
  data_->counts = (*history)->counts();
  for (ReportTask& task : data_->tasks) task.label = (*history)->Label(task.task);
  return Status::Ok();
}

bool Reader::AddWindow(size_t task, const HistoryJob& job) {
  const uint64_t length_ns = job.job.complete_ns - job.job.release_ns;
  const uint64_t pad_ns = std::max(kLeastPadNs, length_ns / 4);
  ReportWindow window = {.task = task, .job = job.job.job, .missed = job.missed()};
  window.to_ns = job.job.complete_ns + std::min(pad_ns, ReportData::kLongestWindowNs / 8);
  window.from_ns = job.job.release_ns - std::min(job.job.release_ns, pad_ns);
  if (window.to_ns - window.from_ns > ReportData::kLongestWindowNs) {
    window.from_ns = window.to_ns - ReportData::kLongestWindowNs;
  }
  for (const ReportWindow& other : data_->windows) {
    if (window.from_ns < other.to_ns && other.from_ns < window.to_ns) return false;
  }
  data_->windows.push_back(std::move(window));
  return true;
}

void Reader::ChooseWindows() {
  for (const ReportMiss& miss : data_->worst) {
    if (data_->windows.size() >= ReportData::kMostWindows) break;
    AddWindow(miss.task, miss.job);
  }
  if (data_->windows.empty() && slowest_.has_value()) AddWindow(slowest_->task, slowest_->job);
}

void Reader::DiagnoseWorst() {
  for (ReportMiss& miss : data_->worst) {
    miss.diagnosis = Diagnose(miss.job, data_->tasks[miss.task].statistics);
  }
}

void Reader::Draw(size_t task, const HistoryJob& job) {
  for (ReportWindow& window : data_->windows) {
    if (job.job.release_ns >= window.to_ns || job.job.complete_ns < window.from_ns) continue;
    if (window.jobs.size() >= ReportData::kMostRows) {
      ++window.left_out;
      continue;
    }
    window.jobs.push_back({.task = static_cast<uint32_t>(task),
                           .job = job.job.job,
                           .release_ns = job.job.release_ns,
                           .deadline_ns = job.job.deadline_ns,
                           .first_launch_ns = job.job.first_launch_ns,
                           .first_grant_ns = job.job.first_grant_ns,
                           .complete_ns = job.job.complete_ns,
                           .held = job.job.held_by == SGPRS_HELD_GATE,
                           .on_time = !job.missed()});
    for (size_t i = 0; i < job.stages.size(); ++i) {
      const SgprsLogStage& stage = job.stages[i];
      const uint64_t start_ns = stage.gpu_start_ns != 0 ? stage.gpu_start_ns : stage.issued_ns;
      if (stage.gpu_end_ns < start_ns || stage.partition >= SGPRS_MAX_PARTITIONS) continue;
      window.stages.push_back({.task = static_cast<uint32_t>(task),
                               .job = job.job.job,
                               .stage = static_cast<uint32_t>(i),
                               .stage_count = static_cast<uint32_t>(job.stages.size()),
                               .partition = stage.partition,
                               .level = static_cast<SgprsLevel>(stage.level),
                               .switched = (stage.flags & SGPRS_LOG_STAGE_SWITCHED) != 0,
                               .granted_ns = stage.granted_ns,
                               .start_ns = start_ns,
                               .end_ns = stage.gpu_end_ns,
                               .virtual_deadline_ns = stage.virtual_deadline_ns});
    }
  }
}

Status Reader::Second(const std::string& log) {
  Result<std::unique_ptr<JobHistory>> history = JobHistory::Open(log);
  if (!history.ok()) return history.status();
  for (;;) {
    Result<std::optional<HistoryJob>> next = (*history)->Next();
    if (!next.ok()) return next.status();
    // What was written meanwhile is not in the statistics.
    if (!next->has_value() || (*next)->job.record.sequence > last_sequence_) return Status::Ok();
    const HistoryJob& job = **next;
    const auto found = index_.find(KeyOf(*job.task));
    if (found == index_.end()) continue;
    ReportTask& task = data_->tasks[found->second];
    if (HasTimes(job.job)) Draw(found->second, job);
    if (!job.missed() || job.learning()) continue;
    const Diagnosis diagnosis = Diagnose(job, task.statistics);
    for (CauseCount* count : {&task.causes[diagnosis.cause], &data_->causes[diagnosis.cause]}) {
      ++count->jobs;
      count->worst_late_ns = std::max(count->worst_late_ns, diagnosis.late_ns);
    }
  }
}

Json PhasesJson(const TaskStatistics& statistics) {
  Json json = Json::object();
  for (const observe::JobPhaseInfo& info : observe::kJobPhases) {
    const DurationHistogram& histogram = statistics.phase(info.phase);
    if (histogram.count() == 0) continue;
    json[info.name] = {{"count", histogram.count()},
                       {"p50_ns", histogram.QuantileNs(0.5)},
                       {"p99_ns", histogram.QuantileNs(0.99)},
                       {"most_ns", histogram.most_ns()}};
  }
  return json;
}

Json CausesJson(const std::map<JobPart, CauseCount>& causes) {
  Json json = Json::object();
  for (const auto& [part, count] : causes) json[InfoOf(part).name] = count.jobs;
  return json;
}

}  // namespace

TaskRates ReportTask::rates() const {
  SgprsTaskCounters counters = {};
  counters.jobs_completed = statistics.jobs();
  counters.jobs_on_time = on_time();
  return RatesOf(counters, last_complete_ns - first_release_ns);
}

Result<ReportData> ReadReport(const std::string& log) {
  ReportData data;
  data.log = log;
  Reader reader(&data);
  if (Status first = reader.First(log); !first.ok()) return first;
  reader.ChooseWindows();
  reader.DiagnoseWorst();
  if (Status second = reader.Second(log); !second.ok()) return second;
  return data;
}

Json ReportJson(const ReportData& data) {
  Json json = {{"version", kJsonVersion},
               {"device", Printable(data.header.device_name)},
               {"policy", Printable(data.header.policy)},
               {"probe_level", NameOf(kernel::ProbeLevel{data.header.probe_level})},
               {"jobs", data.all.jobs()},
               {"missed", data.all.missed()},
               {"missed_learning", data.missed_learning},
               {"whole_stamps", data.all.whole()},
               {"dropped", data.counts.dropped},
               {"overwritten", data.counts.overwritten},
               {"damaged", data.counts.damaged},
               {"causes", CausesJson(data.causes)},
               {"phases", PhasesJson(data.all)}};
  Json tasks = Json::array();
  for (const ReportTask& task : data.tasks) {
    const TaskRates rates = task.rates();
    tasks.push_back({{"task", task.label},
                     {"client_id", task.task.client_id},
                     {"jobs", task.statistics.jobs()},
                     {"on_time", task.on_time()},
                     {"missed", task.statistics.missed()},
                     {"missed_learning", task.missed_learning},
                     {"completed_fps", rates.completed_fps},
                     {"on_time_fps", rates.on_time_fps},
                     {"causes", CausesJson(task.causes)},
                     {"phases", PhasesJson(task.statistics)}});
  }
  json["tasks"] = std::move(tasks);
  return json;
}

}  // namespace sgprs::cli
