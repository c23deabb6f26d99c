// SPDX-License-Identifier: Apache-2.0
// The profile of a task: what a job of it launches, where it is cut and what the stages cost by
// number of SMs. sgprsd writes it when a task ends, and seeds its learning with it later.
//
// A file is one JSON object, "version": 1; profiles of another version are refused. The key of a
// profile is its signature, which follows from the launches, and its device.
#ifndef SGPRS_RUNTIME_PROFILE_PROFILE_H_
#define SGPRS_RUNTIME_PROFILE_PROFILE_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/sched/scheduler.h"

namespace sgprs::profile {

inline constexpr int kVersion = 1;
inline constexpr size_t kMostFileBytes = 64u << 20;

struct Launch {
  uint64_t identity = 0;  // ingress/job_tracker.h
  std::string kind;       // "kernel", "graph", "copy", ...
  uint32_t kernel = 0;    // index of Profile::kernels, plus 1; 0 = none
  uint32_t stream = 0;
  std::array<uint32_t, 3> grid = {};
  std::array<uint32_t, 3> block = {};
  uint32_t shared_bytes = 0;
  uint64_t bytes = 0;  // of a copy or fill
};

struct Profile {
  std::string task;
  std::string program;
  std::string device;
  uint32_t sm_count = 0;             // of the device
  uint64_t period_ns = 0;            // as the task said, 0 = none
  uint64_t period_seen_ns = 0;       // median distance of its jobs, 0 = unknown
  uint64_t jobs = 0;                 // complete, while it was recorded
  std::vector<std::string> kernels;  // names as the driver gives them
  std::vector<Launch> launches;
  std::vector<sched::TaskProfile::Stage> stages;

  uint64_t signature() const;
  sched::TaskProfile ForScheduler() const;
};

// One line a launch, so that a file can be read.
std::string ToText(const Profile& profile);

// Error kInvalid, one line: no JSON, another version, a key that is missing or out of range, a
// signature that is not that of the launches.
Result<Profile> Parse(std::string_view text);

// Files. Errors: kNotFound, kUnavailable, and Parse()'s; `path` stands in the text. Write goes by a
// file beside it, so that no reader meets half of one.
Result<Profile> ReadProfile(const std::string& path);
Status WriteProfile(const Profile& profile, const std::string& path);

// File name of a task's profile: its name with what a file name can not carry replaced.
std::string FileName(std::string_view task);

// Empty if the profile is of this device, else why not: the end of a sentence.
std::string CheckDevice(const Profile& profile, std::string_view device, uint32_t sm_count);

}  // namespace sgprs::profile

#endif  // SGPRS_RUNTIME_PROFILE_PROFILE_H_
