// SPDX-License-Identifier: Apache-2.0
// Applies in this process what the device reports done: copies, fills, kernel bodies, event stamps,
// in the order of the log. One thread for all effects, one more for host functions, one that looks
// at the words that streams wait for.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_EXECUTOR_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_EXECUTOR_H_

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/op.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu::driver {

class Executor {
 public:
  // Starts the thread at the first call. Thread: any.
  CUresult EnsureStarted();
  // At exit: no effect is applied from now on. Waits for the one at work, a second at most.
  void StopEffects();

 private:
  static void* EffectThread(void* self);
  static void* HostThread(void* self);
  static void* WatchThread(void* self);
  void RunEffects();
  void RunHostFunctions();
  void RunHostFunction(const Op& op);
  void RunWatch();
  void Handle(const LogEntry& entry);
  void GiveToHostThread(Op* op);
  void GiveToWatcher(Op* op);

  std::mutex start_mutex_;
  std::atomic<bool> started_{false};
  pthread_t effect_thread_{};
  std::timed_mutex effect_mutex_;  // held while an effect is applied

  std::mutex host_mutex_;
  std::condition_variable host_more_;
  std::deque<Op*> host_ops_;
  bool host_started_ = false;

  std::mutex watch_mutex_;
  std::condition_variable watch_more_;
  std::vector<Op*> watch_ops_;  // cuStreamWaitValue at the head of its stream
  bool watch_started_ = false;
};

// The effect of one finished command; frees what the op owns. `error` != 0: the command failed.
// Executor thread.
void ApplyEffect(Op* op, const LogEntry& entry);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_EXECUTOR_H_
