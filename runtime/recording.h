// SPDX-License-Identifier: Apache-2.0
// What sgprsd records of jobs beside its schedule: kernel probes, job log and metrics, as the
// configuration's [probes], [job_log] and [metrics] ask for. Thread: the loop's.
#ifndef SGPRS_RUNTIME_RECORDING_H_
#define SGPRS_RUNTIME_RECORDING_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/base/result.h"
#include "runtime/device_pool.h"
#include "runtime/kernel/probes.h"
#include "runtime/loop/loop.h"
#include "runtime/observe/open_metrics.h"
#include "runtime/pool/config.h"
#include "runtime/recorder/job_recorder.h"
#include "runtime/recorder/metrics_server.h"
#include "sgprs/abi/state.h"

namespace sgprs::runtime {

class Recording {
 public:
  // `metrics` makes the text that scrapers get. Errors: a job log or an address that can not be
  // had (kInvalid, kRefused). Missing probes are no error: level() says.
  static Result<std::unique_ptr<Recording>> Make(loop::Loop* loop, const pool::Config& config,
                                                 std::function<std::string()> metrics);
  ~Recording();

  recorder::JobRecorder* jobs() { return jobs_.get(); }
  kernel::ProbeLevel level() const { return probes_->level(); }
  // For tools, as JSON: level of the probes and what is missing, what was counted, where the job
  // log lies. docs: tools/sgprs/recording_info.h.
  std::string Json() const;

  // The client that `row` tells of, from now until jobs()->Remove(). `rule`: as it asked, else the
  // configuration's.
  void AddClient(const SgprsTaskRow& row, std::optional<SgprsReleaseRule> rule);
  // For the log's files from now on.
  void NotePool(const DevicePool& pool, std::string_view policy);
  // At least every 100 ms.
  void Tick(uint64_t now_ns);
  observe::ProbeMetrics Metrics() const;

 private:
  Recording(loop::Loop* loop, const pool::Config& config);

  loop::Loop* const loop_;
  const SgprsReleaseRule rule_;
  const std::string job_log_directory_;  // absolute; empty = no job log is written
  const std::string metrics_listen_;
  std::unique_ptr<kernel::Probes> probes_;
  std::unique_ptr<recorder::JobRecorder> jobs_;
  std::unique_ptr<recorder::MetricsServer> server_;
  loop::WatchId ring_watch_ = 0;
  std::string said_trouble_;  // of the job log, in our log
};

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_RECORDING_H_
