// SPDX-License-Identifier: Apache-2.0
// `sgprs why`: finds the job that is asked about, what is usual for its task and who was beside it,
// and says which part cost the deadline. Reading blocks on the disk; the text and the JSON are
// pure.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_WHY_VIEW_H_
#define SGPRS_TOOLS_SGPRS_JOBS_WHY_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/sgprs/jobs/miss_cause.h"
#include "tools/sgprs/json.h"

namespace sgprs::cli {

// Another task that had stages on the GPU between the job's release and its completion.
struct Neighbour {
  std::string label;
  uint64_t job = 0;           // the one that was there longest
  uint64_t same_ns = 0;       // in a partition that this job used or waited for
  uint64_t beside_ns = 0;     // in another one, on some of the same SMs
  uint64_t elsewhere_ns = 0;  // on other SMs
};

struct WhyView {
  std::string label;
  HistoryTask task;
  HistoryJob job;  // its `task` is not to be used
  Diagnosis diagnosis;
  UserSplit user;
  std::vector<Neighbour> neighbours;  // most in the way first
  std::vector<SgprsLogPartition> partitions;
  bool simulated = false;  // the device runs on CPUs of this machine
  // Of the task.
  uint64_t jobs = 0;
  uint64_t with_deadline = 0;
  uint64_t missed = 0;
  uint64_t usual_jobs = 0;
  uint64_t usual_response_ns = 0;
};

// `word`: a task as JobHistory::Matches() takes it. `number`: the job; nullopt: the last that
// missed its deadline, else the one that came closest to it, else the last. Reads the log twice.
// Errors: as JobHistory; kNotFound: no such task or job (the text says which jobs there are).
Result<WhyView> ReadWhy(const std::string& log, const std::string& word,
                        std::optional<uint64_t> number);

std::string WhyText(const WhyView& view);
Json WhyJson(const WhyView& view);
// "run-queue delay": the word for what cost the deadline. Which of the things that user code does
// is said after a colon.
std::string CauseWords(const WhyView& view);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_WHY_VIEW_H_
