// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/top_session.h"

#include <algorithm>
#include <utility>

#include "runtime/base/clock.h"
#include "tools/sgprs/state_view.h"

namespace sgprs::cli {
namespace {

Json NsOrNull(std::optional<uint64_t> ns) { return ns.has_value() ? Json(*ns) : Json(); }

}  // namespace

TopSession::TopSession(std::string socket, uint64_t window_ns)
    : socket_(std::move(socket)), sampler_(window_ns) {}

Status TopSession::Connect() {
  daemon_.reset();
  control_.reset();
  jobs_.reset();
  jobs_path_.clear();
  recording_.reset();
  sampler_.Clear();
  Result<Daemon> daemon = OpenDaemon(socket_);
  if (!daemon.ok()) {
    lost_ = daemon.status().text();
    return daemon.status();
  }
  daemon_.emplace(std::move(daemon).value());
  lost_.clear();
  return Status::Ok();
}

void TopSession::Refresh(uint64_t now_ns) {
  if (daemon_.has_value()) {
    const Status alive = daemon_->control.CheckAlive();
    if (alive.ok()) {
      Watch(now_ns);
      return;
    }
    lost_ = alive.text();
    daemon_.reset();
    tried_ns_ = now_ns;
    return;
  }
  if (now_ns - tried_ns_ < kRetryNs) return;
  tried_ns_ = now_ns;
  if (Connect().ok()) Watch(NowNs());
}

void TopSession::Watch(uint64_t now_ns) {
  Result<StateSnapshot> snapshot = daemon_->state->Read(now_ns);
  if (!snapshot.ok()) {
    lost_ = snapshot.status().text();
    daemon_.reset();
    return;
  }
  const uint64_t alive_ns = snapshot->header.alive_ns;
  degradations_ = Degradations(*snapshot);
  sampler_.Add(std::move(snapshot).value());
  if (alive_ns == 0 || now_ns < alive_ns + kSilentNs) AskForRecording();
  if (jobs_ != nullptr) {
    const uint64_t from_ns = now_ns - std::min(now_ns, sampler_.window_ns());
    if (!jobs_->Read(from_ns).ok()) jobs_.reset();
  }
  sample_ = sampler_.Sample(jobs_.get());
}

void TopSession::AskForRecording() {
  if (!control_.has_value()) {
    Result<ControlClient> control = ControlClient::Connect(socket_);
    if (!control.ok()) return;
    control_.emplace(std::move(control).value());
  }
  Result<RecordingInfo> info = AskRecording(&*control_);
  if (!info.ok()) {
    control_.reset();  // an answer that comes late would be taken for the next one's
    return;
  }
  recording_ = std::move(info).value();
  if (recording_->job_log == jobs_path_) return;
  jobs_path_ = recording_->job_log;
  jobs_.reset();
  if (jobs_path_.empty()) return;
  // A log that can not be read (another user's) is no reason to show nothing.
  Result<std::unique_ptr<JobSamples>> jobs = JobSamples::Open(jobs_path_);
  if (jobs.ok()) jobs_ = std::move(jobs).value();
}

void TopSession::Describe(TopPicture* picture) const {
  picture->sample = sample_;
  picture->recording = recording_;
  picture->degradations = degradations_;
  picture->socket = socket_;
  picture->lost = lost_;
}

Json TopSession::Report() const {
  StateView view;
  view.now = sampler_.latest();
  view.before = sampler_.oldest().tasks;
  view.before_ns = sampler_.oldest().read_ns;
  view.recording = recording_;
  Json json = {{"version", kJsonVersion}, {"window_ns", sample_->window_ns}};
  Json status = StatusJson(view);
  status.erase("version");
  json["status"] = std::move(status);
  json["tasks"] = TasksJson(view).at("tasks");
  json["partitions"] = PartitionsJson(view).at("partitions");
  for (size_t i = 0; i < sample_->tasks.size(); ++i) {
    const TopTask& task = sample_->tasks[i];
    Json& row = json["tasks"][i];
    row["response_p50_ns"] = NsOrNull(task.response_p50_ns);
    row["response_p99_ns"] = NsOrNull(task.response_p99_ns);
    row["jitter_p50_ns"] = NsOrNull(task.jitter_p50_ns);
    row["jitter_p99_ns"] = NsOrNull(task.jitter_p99_ns);
  }
  for (size_t i = 0; i < sample_->partitions.size(); ++i) {
    Json& row = json["partitions"][i];
    row["busy_percent"] = sample_->partitions[i].busy_percent;
    row["stages_per_second"] = sample_->partitions[i].stages_per_second;
  }
  return json;
}

Result<Json> TopSession::Ask(const std::string& line) {
  Result<ControlClient> control = ControlClient::Connect(socket_);
  if (!control.ok()) return control.status();
  Result<ControlClient::Reply> reply = control->Command(line);
  if (!reply.ok()) return reply.status();
  if (reply->status != 0) return Status(ErrorCode::kRefused, reply->text);
  Json json = Json::parse(reply->text, nullptr, false);
  if (!json.is_object()) {
    return Status(ErrorCode::kInternal, "sgprsd answers what this sgprs does not know");
  }
  return json;
}

}  // namespace sgprs::cli
