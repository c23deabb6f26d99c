// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/job_history.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "runtime/base/unique_fd.h"
#include "tools/sgprs/suggestion.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

bool SameRun(const SgprsLogHeader& a, const SgprsLogHeader& b) {
  return a.pid == b.pid && std::memcmp(a.boot_id, b.boot_id, sizeof(a.boot_id)) == 0;
}

// Headers of the files in `directory`, oldest first; what is no log file is passed over.
std::vector<SgprsLogHeader> HeadersIn(const std::string& directory) {
  std::vector<SgprsLogHeader> headers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("jobs.", 0) != 0) continue;
    const UniqueFd file(open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) continue;
    Result<SgprsLogHeader> header = observe::ReadLogHeader(file.get(), name);
    if (header.ok()) headers.push_back(*header);
  }
  std::sort(headers.begin(), headers.end(), [](const SgprsLogHeader& a, const SgprsLogHeader& b) {
    return a.file_number < b.file_number;
  });
  return headers;
}

// Number of the first file that the daemon which wrote the newest one wrote.
uint64_t FirstFileOfNewestRun(const std::string& directory) {
  const std::vector<SgprsLogHeader> headers = HeadersIn(directory);
  if (headers.empty()) return 0;
  uint64_t first = headers.back().file_number;
  for (auto header = headers.rbegin(); header != headers.rend(); ++header) {
    if (!SameRun(*header, headers.back())) break;
    first = header->file_number;
  }
  return first;
}

}  // namespace

std::string HistoryJob::Kernels(size_t stage) const {
  const bool as_learnt = (job.flags & (SGPRS_LOG_OFF_SIGNATURE | SGPRS_LOG_LEARNING)) == 0;
  if (!as_learnt || contents == nullptr || contents->size() != stages.size()) return "";
  std::string out;
  for (const SgprsLogKernel& kernel : contents->at(stage).kernels) {
    if (kernel.launches == 0) break;
    out +=
        fmt::format("{}{} x{}", out.empty() ? "" : ", ", Printable(kernel.name), kernel.launches);
  }
  return out;
}

Result<std::unique_ptr<JobHistory>> JobHistory::Open(const std::string& path) {
  Result<std::unique_ptr<observe::JobLogReader>> reader = observe::JobLogReader::Open(path);
  if (!reader.ok()) return reader.status();
  std::unique_ptr<JobHistory> history(new JobHistory(path, std::move(*reader)));
  history->first_file_ = FirstFileOfNewestRun(path);
  return history;
}

HistoryTask* JobHistory::Learn(uint64_t client_id) {
  HistoryTask* task = &tasks_[{run_, client_id}];
  task->run = run_;
  task->client_id = client_id;
  const SgprsLogTask* logged = reader_->Task(client_id);
  if (logged == nullptr) return task;
  task->name = Printable(logged->name);
  task->program = Printable(logged->program);
  task->period_ns = logged->period_ns;
  task->deadline_ns = logged->deadline_ns;
  task->pid = logged->pid;
  task->task_class = logged->task_class;
  task->release_rule = logged->release_rule;
  task->gone = logged->gone_ns != 0;
  return task;
}

Result<std::optional<HistoryJob>> JobHistory::Next() {
  for (;;) {
    Result<std::optional<observe::LoggedJob>> next = reader_->Next();
    if (!next.ok()) return next.status();
    if (!next->has_value()) return std::optional<HistoryJob>();
    const SgprsLogHeader& header = reader_->header();
    if (header.file_number < first_file_) continue;
    if (run_pid_ != 0 && run_pid_ != header.pid) ++run_;
    run_pid_ = header.pid;
    observe::LoggedJob& logged = **next;
    HistoryJob job = {.job = logged.job,
                      .stages = std::move(logged.stages),
                      .contents = std::move(logged.contents),
                      .task = Learn(logged.job.client_id)};
    return std::optional<HistoryJob>(std::move(job));
  }
}

Status JobHistory::SkipToEnd() {
  for (;;) {
    Result<std::optional<HistoryJob>> job = Next();
    if (!job.ok()) return job.status();
    if (!job->has_value()) return Status::Ok();
  }
}

std::vector<const HistoryTask*> JobHistory::Tasks() const {
  std::vector<const HistoryTask*> tasks;
  tasks.reserve(tasks_.size());
  for (const auto& [key, task] : tasks_) tasks.push_back(&task);
  return tasks;
}

std::string JobHistory::Label(const HistoryTask& task) const {
  if (task.name.empty()) return fmt::format("client#{}", task.client_id);
  const auto same = std::count_if(tasks_.begin(), tasks_.end(), [&task](const auto& entry) {
    return entry.second.name == task.name;
  });
  return same > 1 ? fmt::format("{}#{}", task.name, task.client_id) : task.name;
}

bool JobHistory::Matches(const HistoryTask& task, std::string_view word) {
  if (!task.name.empty() && word == task.name) return true;
  const std::string id = fmt::format("#{}", task.client_id);
  return word == id || word == task.name + id || (task.name.empty() && word == "client" + id);
}

Result<std::vector<const HistoryTask*>> JobHistory::Find(std::string_view word) const {
  std::vector<const HistoryTask*> found;
  std::set<std::string> names;
  for (const auto& [key, task] : tasks_) {
    if (Matches(task, word)) found.push_back(&task);
    names.insert(Label(task));
  }
  if (!found.empty()) return found;
  if (names.empty()) return Status(ErrorCode::kNotFound, "no job is recorded yet in " + path_);
  const std::vector<std::string> known(names.begin(), names.end());
  const uint64_t lost = counts().dropped + counts().overwritten;
  return Status(ErrorCode::kNotFound,
                fmt::format("no task '{}' in {}{} (there are: {}{})", Printable(word), path_,
                            DidYouMean(word, known), fmt::join(known, ", "),
                            lost == 0 ? "" : fmt::format("; {} records were lost", lost)));
}

const SgprsLogTask* JobHistory::Logged(const HistoryTask& task) const {
  return task.run == run_ ? reader_->Task(task.client_id) : nullptr;
}

}  // namespace sgprs::cli
