// SPDX-License-Identifier: Apache-2.0
// One child process with its output in files, ended for certain when its owner goes.
#ifndef SGPRS_TOOLS_SGPRS_CHILD_PROCESS_H_
#define SGPRS_TOOLS_SGPRS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::cli {

struct ChildSpec {
  std::string name;                                // for messages
  std::vector<std::string> arguments;              // [0] = path of the program
  std::map<std::string, std::string> environment;  // added to ours
  std::string output_path;                         // stdout; empty = with the log
  std::string log_path;                            // stderr
};

// Text of a wait status: "exited with code 3", "was killed by signal 9 (Killed)".
std::string DescribeExit(int wait_status);
// The last line of a file that is not blank; empty if there is none.
std::string LastLine(const std::string& path);

// Owned by one thread, the one that started it (the child gets SIGKILL when that thread ends).
class ChildProcess {
 public:
  // Forks and executes: own process group (Ctrl-C reaches only us), no signal blocked, stdin is
  // /dev/null. Errors kInternal, kNotFound: it could not be executed, with the reason.
  static Result<ChildProcess> Start(const ChildSpec& spec);
  ChildProcess(ChildProcess&&) = default;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // kills and reaps

  const ChildSpec& spec() const { return spec_; }
  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // readable once it ended
  // Whether Poll() or Stop() has seen its end.
  bool reaped() const { return status_.has_value(); }
  // Wait status, once it ended; reaps. Never blocks.
  std::optional<int> Poll();
  void Signal(int signal);
  // SIGTERM, up to `grace_ms`, then SIGKILL; reaps. Returns the wait status.
  int Stop(int grace_ms);
  // "resnet18-3 exited with code 1: <last line of its log>".
  std::string Epitaph() const;

 private:
  ChildProcess(ChildSpec spec, pid_t pid, UniqueFd pidfd)
      : spec_(std::move(spec)), pid_(pid), pidfd_(std::move(pidfd)) {}

  ChildSpec spec_;
  pid_t pid_;
  UniqueFd pidfd_;  // invalid in a moved-from object
  std::optional<int> status_;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_CHILD_PROCESS_H_
