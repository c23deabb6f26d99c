// SPDX-License-Identifier: Apache-2.0
// One policy's turn in `sgprs demo`: a simulated device, a daemon and the workloads in a private
// directory; started, measured, ended.
#ifndef SGPRS_TOOLS_SGPRS_DEMO_SESSION_H_
#define SGPRS_TOOLS_SGPRS_DEMO_SESSION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "tools/sgprs/child_group.h"
#include "tools/sgprs/demo_report.h"
#include "tools/sgprs/installation.h"
#include "tools/sgprs/state_reader.h"

namespace sgprs::cli {

struct DemoOptions {
  uint32_t tasks = 8;
  uint64_t window_ns = 6 * kNsPerSecond;
  std::string fps = "30";
  uint64_t period_ns = 33'333'333;  // of `fps`
  std::string device = "rtx2080ti";
  std::string workload = "resnet18";
  std::vector<std::string> program;  // a command line instead of the workload
  std::vector<std::string> policies = {"naive", "sgprs"};
  uint32_t partitions = 3;
  double oversubscription = 1.5;
  std::string trace;  // file; empty = sgprs-demo-<policy>.trace.json
  bool json = false;
  bool keep = false;  // leave the directory with logs where it is
};

// Where the trace of `policy` goes. With --trace and several policies "-<policy>" stands before the
// name's first point.
std::string DemoTracePath(const DemoOptions& options, const std::string& policy);

// What runs, for titles: "resnet18", "python3 net.py --fps 30"; paths by their last part.
std::string DemoSubject(const DemoOptions& options);

// The daemon's configuration file.
std::string DemoConfig(const DemoOptions& options, const std::string& policy,
                       const std::string& control_socket, const std::string& trace_path,
                       const std::string& job_log);

// Runs once; one thread. The group ends all children, whatever Run() returns.
class DemoSession {
 public:
  using Progress = std::function<void(std::string_view)>;

  // `directory` is private and exists; `trace_path` is absolute. The references outlive the
  // session.
  DemoSession(const DemoOptions& options, const Installation& installation, ChildGroup* children,
              std::string policy, std::string directory, std::string trace_path, Progress progress);

  // Blocks for start, learning, window and end. Errors: a process that could not be started, failed
  // or does not end (its epitaph); a signal (kRefused).
  Result<DemoResult> Run();

 private:
  Result<ChildProcess*> Start(const std::string& name, std::vector<std::string> arguments);
  Status WaitForSocket(const std::string& path, const ChildProcess& server);
  Status StartDevice();
  Status StartDaemon();
  Status StartWorkloads();
  // The command line of task `name`.
  std::vector<std::string> TaskCommand(const std::string& name) const;
  Status WaitUntilLearnt();
  Status Measure();
  // Error kUnavailable: a program of the user's has ended although nobody asked it to.
  Status CheckStillRunning();
  Status EndWorkloads();
  Status ReadLastRows();
  Status EndServers();
  Result<StateSnapshot> Snapshot() const { return reader_->Read(NowNs()); }
  // The row of task `index` in `snapshot`; nullptr if it is not there.
  const SgprsTaskRow* RowOf(const StateSnapshot& snapshot, size_t index) const;

  const DemoOptions& options_;
  const Installation& installation_;
  ChildGroup* children_;
  std::string directory_;
  Progress progress_;
  std::string simgpu_socket_;
  std::string control_socket_;

  ChildProcess* device_ = nullptr;
  ChildProcess* daemon_ = nullptr;
  std::vector<ChildProcess*> workloads_;
  std::unique_ptr<StateReader> reader_;
  DemoResult result_;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_DEMO_SESSION_H_
