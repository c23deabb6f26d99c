// SPDX-License-Identifier: Apache-2.0
#include "runtime/recording.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/observe/text.h"

namespace sgprs::runtime {
namespace {

// A tool's working directory is another one.
std::string Absolute(const std::string& path) {
  return path.empty() ? "" : std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

Recording::Recording(loop::Loop* loop, const pool::Config& config)
    : loop_(loop),
      rule_(config.release),
      job_log_directory_(Absolute(config.job_log_directory)),
      metrics_listen_(config.metrics_listen),
      probes_(kernel::Probes::Load({.enabled = config.probes, .min_wait_ns = config.min_wait_ns})) {
}

Result<std::unique_ptr<Recording>> Recording::Make(loop::Loop* loop, const pool::Config& config,
                                                   std::function<std::string()> metrics) {
  std::unique_ptr<Recording> made(new Recording(loop, config));
  std::unique_ptr<observe::JobLog> log;
  if (!config.job_log_directory.empty()) {
    Result<std::unique_ptr<observe::JobLog>> opened = observe::JobLog::Open(
        {.directory = config.job_log_directory,
         .total_bytes = uint64_t{config.job_log_mib} << 20,
         .files = config.job_log_files},
        {.policy = config.policy, .probe_level = static_cast<uint32_t>(made->level())});
    if (!opened.ok()) return opened.status().WithContext("job_log");
    log = std::move(*opened);
  }
  made->jobs_ = std::make_unique<recorder::JobRecorder>(made->probes_.get(), std::move(log));
  if (!config.metrics_listen.empty()) {
    Result<std::unique_ptr<recorder::MetricsServer>> server =
        recorder::MetricsServer::Open(loop, config.metrics_listen, std::move(metrics));
    if (!server.ok()) return server.status().WithContext("metrics");
    made->server_ = std::move(*server);
  }
  if (made->probes_->ring_fd() >= 0) {
    Recording* self = made.get();
    made->ring_watch_ =
        loop->WatchReadable(made->probes_->ring_fd(), [self] { self->jobs_->Tick(NowNs()); });
  }
  spdlog::info("kernel probes: {}{}{}", NameOf(made->level()),
               made->probes_->why().empty() ? "" : ": ", made->probes_->why());
  return made;
}

Recording::~Recording() {
  if (ring_watch_ != 0) loop_->Remove(ring_watch_);
}

void Recording::AddClient(const SgprsTaskRow& row, std::optional<SgprsReleaseRule> rule) {
  recorder::JobRecorder::Task task = {.client_id = row.client_id,
                                      .name = row.name,
                                      .program = row.program,
                                      .pid = row.pid,
                                      .task_class = row.task_class,
                                      .period_ns = row.period_ns,
                                      .deadline_ns = row.deadline_ns,
                                      .joined_ns = row.joined_ns,
                                      .rule = rule.value_or(rule_)};
  // Its connection is open, so the pid is still its own but for a death this very moment.
  if (HasStamps(probes_->level())) {
    task.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, row.pid, 0)));
  }
  if (Status added = jobs_->Add(std::move(task)); !added.ok()) {
    spdlog::warn("no kernel stamps of {}: {}", row.name, added.text());
  }
}

void Recording::NotePool(const DevicePool& pool, std::string_view policy) {
  if (jobs_->log() == nullptr) return;
  std::vector<SgprsLogPartition> partitions;
  for (uint32_t i = 0; i < pool.partition_count(); ++i) {
    partitions.push_back({pool.span(i).first_sm, pool.span(i).sm_count});
  }
  jobs_->log()->SetInfo({.policy = std::string(policy),
                         .device = pool.device_name(),
                         .probe_level = static_cast<uint32_t>(level()),
                         .sm_count = pool.sm_count(),
                         .partitions = partitions});
}

void Recording::Tick(uint64_t now_ns) {
  jobs_->Tick(now_ns);
  if (jobs_->log() == nullptr) return;
  std::string trouble = jobs_->log()->Trouble();
  if (trouble == said_trouble_) return;
  spdlog::warn("job log: records are dropped: {}", trouble);
  said_trouble_ = std::move(trouble);
}

observe::ProbeMetrics Recording::Metrics() const {
  const kernel::ProbeCounts counts = probes_->Counts();
  const kernel::WakeCounts wakes = jobs_->WakeTotals();
  observe::ProbeMetrics metrics = {.level = static_cast<uint64_t>(level()),
                                   .sent = counts.sent,
                                   .lost = counts.lost,
                                   .incomplete = wakes.incomplete,
                                   .missed = counts.misses};
  if (jobs_->log() == nullptr) return metrics;
  const observe::JobLogCounts log = jobs_->log()->Counts();
  metrics.log_written = log.written;
  metrics.log_dropped = log.dropped;
  return metrics;
}

std::string Recording::Json() const {
  const kernel::ProbeCounts counts = probes_->Counts();
  const kernel::WakeCounts wakes = jobs_->WakeTotals();
  std::string log = "null";
  if (jobs_->log() != nullptr) {
    const observe::JobLogCounts written = jobs_->log()->Counts();
    log = fmt::format(R"({{"directory":{},"written":{},"dropped":{},"trouble":{}}})",
                      observe::JsonString(observe::OneLine(job_log_directory_)), written.written,
                      written.dropped,
                      observe::JsonString(observe::OneLine(jobs_->log()->Trouble())));
  }
  return fmt::format(
      R"({{"probes":{{"level":"{}","why":{},"records":{},"lost":{},"complete":{},)"
      R"("incomplete":{},"missing":{},"unreleased":{},"missed":{}}},"job_log":{},"metrics":{}}})",
      NameOf(level()), observe::JsonString(observe::OneLine(probes_->why())), counts.sent,
      counts.lost, wakes.complete, wakes.incomplete, wakes.missing, wakes.unreleased, counts.misses,
      log,
      metrics_listen_.empty() ? "null" : observe::JsonString(observe::OneLine(metrics_listen_)));
}

}  // namespace sgprs::runtime
