// SPDX-License-Identifier: Apache-2.0
// Children that end together: whatever happens, Ctrl-C included, none outlives the group.
#ifndef SGPRS_TOOLS_SGPRS_CHILD_GROUP_H_
#define SGPRS_TOOLS_SGPRS_CHILD_GROUP_H_

#include <csignal>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "tools/sgprs/child_process.h"

namespace sgprs::cli {

// One thread; one group at a time. While it lives, SIGINT, SIGTERM and SIGHUP are not delivered but
// reported by WaitUntil().
class ChildGroup {
 public:
  static constexpr uint64_t kGraceNs = 3'000'000'000;
  // `grace_ns`: time that children have between SIGTERM and SIGKILL.
  static Result<std::unique_ptr<ChildGroup>> Make(uint64_t grace_ns = kGraceNs);
  // SIGTERM to all, the time of grace, SIGKILL to the rest; restores the signals.
  ~ChildGroup();
  ChildGroup(const ChildGroup&) = delete;
  ChildGroup& operator=(const ChildGroup&) = delete;

  // The child belongs to the group and lives as long as it. Errors as ChildProcess::Start.
  Result<ChildProcess*> Start(const ChildSpec& spec);

  // Sleeps until `until_ns`. Errors: kRefused (a signal asks us to end; interrupted() names it),
  // kUnavailable (a child failed; the text is its epitaph).
  Status WaitUntil(uint64_t until_ns);
  // Waits until `child` ended, with exit code 0. Errors: as WaitUntil, and kUnavailable if it is
  // still there at `until_ns` or ended otherwise.
  Status WaitForEnd(ChildProcess* child, uint64_t until_ns);

  // The signal that asked us to end, 0 = none.
  int interrupted() const { return interrupted_; }

 private:
  ChildGroup(const sigset_t& old_mask, UniqueFd signals, uint64_t grace_ns)
      : old_mask_(old_mask), signals_(std::move(signals)), grace_ns_(grace_ns) {}
  // A child other than `expected` that failed. Reaps.
  Status CheckChildren(const ChildProcess* expected);
  // One round of poll(): until a signal, the end of a child, or time is over.
  Status WaitOnce(uint64_t until_ns, const ChildProcess* expected);

  sigset_t old_mask_;
  UniqueFd signals_;
  uint64_t grace_ns_;
  int interrupted_ = 0;
  std::vector<std::unique_ptr<ChildProcess>> children_;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_CHILD_GROUP_H_
