// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/run_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/base/job_rule.h"
#include "runtime/base/release_rule.h"
#include "runtime/model/device_description.h"
#include "sgprs/abi/abi.h"
#include "tools/sgprs/suggestion.h"

namespace sgprs::cli {
namespace {

// Puts `entry` before the list's other entries, once.
std::string Prepend(const std::string& entry, const char* list, const char* separators) {
  std::string out = entry;
  std::string rest = list != nullptr ? list : "";
  while (!rest.empty()) {
    const size_t end = rest.find_first_of(separators);
    const std::string item = rest.substr(0, end);
    if (!item.empty() && item != entry) out += ":" + item;
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return out;
}

Status CheckListable(const std::string& path, const char* separators, const char* variable) {
  if (path.find_first_of(separators) == std::string::npos) return Status::Ok();
  return Status(
      ErrorCode::kInvalid,
      fmt::format("{} can not carry the path '{}': move it to one without ' ', ':' and ';'",
                  variable, path));
}

// NVTX in the program asks one library what to do with its calls.
Status PutNvtx(const RunOptions& options, const Installation& installation,
               const EnvironmentLookup& lookup, std::map<std::string, std::string>* out) {
  const char* rule = options.job ? options.job->c_str() : lookup(env::kJob);
  if (NvtxJobName(rule) == nullptr) return Status::Ok();
  const char* present = lookup(kNvtxInjection);
  if (present != nullptr && present[0] != '\0' && present != installation.shim) {
    return Status(ErrorCode::kInvalid,
                  fmt::format("--job {}: {} is '{}', and NVTX ranges go to one library: unset it, "
                              "or use another --job",
                              rule, kNvtxInjection, present));
  }
  (*out)[kNvtxInjection] = installation.shim;
  return Status::Ok();
}

std::string CheckOneOf(const std::string& word, const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), word) != words.end()) return "";
  return fmt::format("'{}' is none of {}{}", word, fmt::join(words, ", "), DidYouMean(word, words));
}

}  // namespace

Result<std::map<std::string, std::string>> BuildRunEnvironment(const RunOptions& options,
                                                               const Installation& installation,
                                                               const EnvironmentLookup& lookup) {
  std::map<std::string, std::string> out;
  Status listable = CheckListable(installation.shim, " :", "LD_PRELOAD");
  if (!listable.ok()) return listable;
  std::string preload = lookup("LD_PRELOAD") != nullptr ? lookup("LD_PRELOAD") : "";
  // A program may bring NVIDIA's libraries on a run path, which LD_LIBRARY_PATH does not beat.
  if (options.simulate) {
    for (auto path = installation.stand_ins.rbegin(); path != installation.stand_ins.rend();
         ++path) {
      preload = Prepend(*path, preload.c_str(), ": ");
    }
  }
  out["LD_PRELOAD"] = Prepend(installation.shim, preload.c_str(), ": ");
  auto set = [&](const char* name, const std::optional<std::string>& value) {
    if (value) out[name] = *value;
  };
  set(env::kName, options.name);
  if (options.period_ns) out[env::kPeriodNs] = std::to_string(*options.period_ns);
  if (options.deadline_ns) out[env::kDeadlineNs] = std::to_string(*options.deadline_ns);
  set(env::kClass, options.task_class);
  set(env::kJob, options.job);
  Status nvtx = PutNvtx(options, installation, lookup, &out);
  if (!nvtx.ok()) return nvtx;
  set(env::kRelease, options.release);
  set(env::kBackend, options.backend);
  set(env::kSocket, options.socket);
  if (options.require) out.insert_or_assign(env::kRequire, std::string(1, '1'));
  if (!options.simulate) return out;

  listable = CheckListable(installation.simgpu_lib, ":;", "LD_LIBRARY_PATH");
  if (!listable.ok()) return listable;
  out["LD_LIBRARY_PATH"] = Prepend(installation.simgpu_lib, lookup("LD_LIBRARY_PATH"), ":;");
  out[env::kDriver] = installation.simgpu_cuda;
  set(env::kSimgpuSocket, options.simgpu_socket);
  std::string kernels = Prepend(installation.demo_kernels, lookup(env::kSimgpuKernels), ":");
  for (const std::string& path : installation.stand_in_kernels) {
    kernels = Prepend(path, kernels.c_str(), ":");
  }
  for (auto path = options.kernels.rbegin(); path != options.kernels.rend(); ++path) {
    listable = CheckListable(*path, ":", env::kSimgpuKernels);
    if (!listable.ok()) return listable;
    kernels = Prepend(*path, kernels.c_str(), ":");
  }
  out[env::kSimgpuKernels] = kernels;
  return out;
}

std::string CheckTaskName(const std::string& name) {
  if (name.empty() || name.size() >= SGPRS_NAME_BYTES) {
    return fmt::format("a task's name has 1 to {} bytes", SGPRS_NAME_BYTES - 1);
  }
  const bool clean =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return clean ? "" : "a task's name has no control characters";
}

std::string CheckTaskClass(const std::string& task_class) {
  return CheckOneOf(task_class, {"high", "low", "best-effort"});
}

std::string CheckRelease(const std::string& release) {
  return CheckOneOf(release, {kReleaseRuleNames.begin(), kReleaseRuleNames.end()});
}

std::string CheckBackend(const std::string& backend) {
  return CheckOneOf(backend, {"green", "mps", "priority", "none"});
}

std::string CheckDevice(const std::string& device) {
  std::vector<std::string> names;
  for (const model::DeviceDescription& one : model::AllDevices()) names.emplace_back(one.name);
  return CheckOneOf(device, names);
}

std::string CheckJobRule(const std::string& job) {
  if (job == "auto" || job == "marked") return "";
  constexpr std::string_view kLaunches = "launches:";
  const std::string number = job.starts_with(kLaunches) ? job.substr(kLaunches.size()) : "";
  const bool digits =
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number.empty() && digits && number.size() <= 9 &&
      number.find_first_not_of('0') != std::string::npos) {
    return "";
  }
  if (NvtxJobName(job.c_str()) != nullptr) {
    if (job.size() - kNvtxRule.size() <= kNvtxNameBytes) return "";
    return fmt::format("a range's name has 1 to {} bytes", kNvtxNameBytes);
  }
  return fmt::format("'{}' is none of auto, marked, launches:N (N from 1 to 999999999), nvtx:NAME",
                     job);
}

Result<uint64_t> ParseFpsAsPeriodNs(const std::string& text) {
  char* end = nullptr;
  const double fps = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(fps) || fps < 0.001 || fps > 1e6) {
    return Status(
        ErrorCode::kInvalid,
        fmt::format("'{}' is not a number of frames per second (0.001 to 1000000)", text));
  }
  return static_cast<uint64_t>(std::llround(static_cast<double>(kNsPerSecond) / fps));
}

}  // namespace sgprs::cli
