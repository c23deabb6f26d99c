// SPDX-License-Identifier: Apache-2.0
// The daemon that `sgprs top` watches: found again when it comes back.
#ifndef SGPRS_TOOLS_SGPRS_TOP_TOP_SESSION_H_
#define SGPRS_TOOLS_SGPRS_TOP_TOP_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "tools/sgprs/daemon.h"
#include "tools/sgprs/top/job_samples.h"
#include "tools/sgprs/top/top_sampler.h"
#include "tools/sgprs/top/top_view.h"

namespace sgprs::cli {

// One thread. The state segment is read without the daemon noticing; a question (probe counts,
// policies) goes over a connection of its own, so that a daemon that does not answer costs its
// picture nothing.
class TopSession {
 public:
  TopSession(std::string socket, uint64_t window_ns);

  // Connects. Errors as OpenDaemon. Blocks for a few seconds at most.
  Status Connect();
  // Another snapshot; connects again if the daemon had gone, at most once every kRetryNs.
  void Refresh(uint64_t now_ns);
  // What was seen so far is not to be compared with what comes (after a pause).
  void ForgetWindow() { sampler_.Clear(); }

  // Fills in what there is of the daemon: sample, recording, degradations, lost.
  void Describe(TopPicture* picture) const;
  // As `status`, `tasks` and `partitions` print it, with quantiles and windows. After a Refresh().
  Json Report() const;

  // "policy", "policy NAME", "overload MODE". Errors: the daemon's words.
  Result<Json> Ask(const std::string& line);

 private:
  static constexpr uint64_t kRetryNs = 1'000'000'000;
  static constexpr uint64_t kSilentNs = 2'000'000'000;  // heartbeat: then nothing is asked

  void Watch(uint64_t now_ns);
  void AskForRecording();

  const std::string socket_;
  std::optional<Daemon> daemon_;
  std::optional<ControlClient> control_;
  TopSampler sampler_;
  std::unique_ptr<JobSamples> jobs_;
  std::string jobs_path_;
  std::optional<TopSample> sample_;
  std::optional<RecordingInfo> recording_;
  std::vector<std::string> degradations_;
  std::string lost_;
  uint64_t tried_ns_ = 0;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TOP_TOP_SESSION_H_
