// SPDX-License-Identifier: Apache-2.0
// What a job's response time was made of: parts that add up to it exactly, whatever stamps the
// record has. (The phases of runtime/observe/job_phases.h are moments of the record as they are;
// they begin before the release and say nothing of the stages.) Pure.
#ifndef SGPRS_TOOLS_SGPRS_JOBS_JOB_PARTS_H_
#define SGPRS_TOOLS_SGPRS_JOBS_JOB_PARTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/observe/job_log_reader.h"

namespace sgprs::cli {

enum class JobPart : uint32_t {
#define SGPRS_PART(name, words, help) k_##name,
#include "tools/sgprs/jobs/job_parts.inc"
#undef SGPRS_PART
};

struct JobPartInfo {
  JobPart part;
  const char* name;
  const char* words;
  const char* help;
};

inline constexpr std::array kJobParts = {
#define SGPRS_PART(name, words, help) JobPartInfo{JobPart::k_##name, #name, words, help},
#include "tools/sgprs/jobs/job_parts.inc"
#undef SGPRS_PART
};

inline constexpr const JobPartInfo& InfoOf(JobPart part) {
  return kJobParts[static_cast<size_t>(part)];
}

struct PartSpan {
  JobPart part;
  uint64_t from_ns;
  uint64_t to_ns;  // > from_ns
};

class JobParts {
 public:
  uint64_t of(JobPart part) const { return ns_[static_cast<size_t>(part)]; }
  uint64_t& of(JobPart part) { return ns_[static_cast<size_t>(part)]; }
  uint64_t sum_ns() const;

 private:
  std::array<uint64_t, kJobParts.size()> ns_ = {};
};

// From the release to the completion without a gap: a moment that was not seen, or lies before one
// that came earlier, begins nothing. What came before the release (a timer that was due earlier
// than the deadline counts from) is in no part.
std::vector<PartSpan> SpansOf(const observe::LoggedJob& logged);
// The same, added up by part: complete - release in all.
JobParts PartsOf(const observe::LoggedJob& logged);

// What the thread did in the part `user`, as far as the record tells (SGPRS_LOG_ACTIVITY): the four
// add up to it. The record counts up to the thread's next wait, so a stop or a preemption shortly
// after the first launch is taken for one before it.
struct UserSplit {
  bool known = false;
  uint64_t run_ns = 0;
  uint64_t queued_ns = 0;  // preempted
  uint64_t blocked_ns = 0;
  uint64_t stopped_ns = 0;  // SIGSTOP, a debugger
};
UserSplit SplitUser(const SgprsLogJob& job, uint64_t user_ns);

// Moments in order on the way to the wait's end, all seen: the kernel's word on this release is
// whole. A job that was due before the one before it was over has `due` and `exit` only.
bool HasWholeStamps(const SgprsLogJob& job);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_JOBS_JOB_PARTS_H_
