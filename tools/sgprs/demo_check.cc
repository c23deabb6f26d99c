// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/demo_check.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/temporary_directory.h"

namespace sgprs::cli {
namespace {

constexpr uint64_t kCheckLimitNs = 10 * kNsPerSecond;
constexpr std::string_view kPrefix = "sgprsd: ";

// One call of `sgprsd --check`.
Status CheckPolicy(const DemoOptions& options, const Installation& installation,
                   const std::string& policy, const std::string& directory, ChildGroup* children) {
  ChildSpec spec;
  spec.name = "sgprsd";
  spec.arguments = {installation.Program("sgprsd"),
                    "--check",
                    "--simulate",
                    "--device=" + options.device,
                    "--policy=" + policy,
                    fmt::format("--partitions={}", options.partitions),
                    fmt::format("--oversubscription={}", options.oversubscription)};
  spec.output_path = directory + "/check.out";
  spec.log_path = fmt::format("{}/check-{}.log", directory, policy);
  Result<ChildProcess*> child = children->Start(spec);
  if (!child.ok()) return child.status();
  const Status ended = children->WaitForEnd(*child, NowNs() + kCheckLimitNs);
  const int status = (*child)->Poll().value_or(0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != kExitUsage) return ended;
  std::string reason = LastLine(spec.log_path);
  if (reason.starts_with(kPrefix)) reason.erase(0, kPrefix.size());
  return Status(ErrorCode::kInvalid, reason);
}

}  // namespace

Status CheckDemoOptions(const DemoOptions& options, const Installation& installation,
                        int* interrupted) {
  const std::vector<std::string>& policies = options.policies;
  for (auto policy = policies.begin(); policy != policies.end(); ++policy) {
    if (policy->empty() || policy->find('/') != std::string::npos) {
      return Status(ErrorCode::kInvalid, fmt::format("--policies: '{}' is no policy", *policy));
    }
    if (std::find(policies.begin(), policy, *policy) != policy) {
      return Status(ErrorCode::kInvalid, fmt::format("--policies: '{}' stands twice", *policy));
    }
  }
  Result<TemporaryDirectory> directory = TemporaryDirectory::Make("sgprs-demo-");
  if (!directory.ok()) return directory.status();
  Result<std::unique_ptr<ChildGroup>> children = ChildGroup::Make();
  if (!children.ok()) return children.status();
  for (const std::string& policy : policies) {
    Status status = CheckPolicy(options, installation, policy, directory->path(), children->get());
    *interrupted = (*children)->interrupted();
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace sgprs::cli
