// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/executor.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "tools/simgpu/driver/mem_op.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/thread_state.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr uint32_t kBusyLookMs = 100;   // how often a sleeping executor looks whether the device
constexpr uint32_t kIdleLookMs = 1000;  // still lives
// How often the watcher looks at the words that streams wait for.
constexpr uint32_t kLeastWatchUs = 10;
constexpr uint32_t kMostWatchUs = 500;

// The program's signals are not for our threads.
bool StartThread(pthread_t* thread, void* (*function)(void*), void* argument, const char* name) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int rc = pthread_create(thread, nullptr, function, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (rc != 0) return false;
  pthread_setname_np(*thread, name);
  pthread_detach(*thread);
  return true;
}

// To the device: the command at the head of that stream may end. False: there is no device.
bool TellReturned(const Op& op, uint32_t stream) {
  Command done{};
  done.kind = static_cast<uint32_t>(CommandKind::kHostDone);
  done.stream = stream;
  done.context = op.context->id;
  done.wait_seq = op.seq;
  return TheProcess().queue.SendControl(done) == CUDA_SUCCESS;
}

bool EffectsWanted() {
  const ProcessState state = TheProcess().state.load(std::memory_order_relaxed);  // a late look is
  return state == ProcessState::kReady;  // caught by effect_mutex_
}

}  // namespace

CUresult Executor::EnsureStarted() {
  if (started_.load(std::memory_order_acquire)) return CUDA_SUCCESS;  // pairs with the store below
  std::lock_guard<std::mutex> lock(start_mutex_);
  if (started_.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  if (!StartThread(&effect_thread_, EffectThread, this, "simgpu-effects")) {
    return CUDA_ERROR_OPERATING_SYSTEM;
  }
  started_.store(true, std::memory_order_release);  // pairs with the load above
  return CUDA_SUCCESS;
}

void Executor::StopEffects() {
  if (!started_.load(std::memory_order_acquire)) return;
  if (pthread_equal(pthread_self(), effect_thread_)) return;  // a kernel body called exit()
  // Kept locked for ever: the effect thread does not get past it.
  (void)effect_mutex_.try_lock_for(std::chrono::seconds(1));
}

void* Executor::EffectThread(void* self) {
  static_cast<Executor*>(self)->RunEffects();
  return nullptr;
}

void* Executor::WatchThread(void* self) {
  static_cast<Executor*>(self)->RunWatch();
  return nullptr;
}

void* Executor::HostThread(void* self) {
  static_cast<Executor*>(self)->RunHostFunctions();
  return nullptr;
}

void Executor::RunEffects() {
  Process& process = TheProcess();
  LogEntry entry;
  while (EffectsWanted()) {
    if (process.channel.TakeLog(&entry)) {
      Handle(entry);
      process.queue.NoteHandled();
      continue;
    }
    process.channel.SleepForLog(process.queue.Busy() ? kBusyLookMs : kIdleLookMs);
    // A look at the socket only when the sleep brought nothing.
    if (!process.channel.HasLog() && !process.channel.Alive()) MarkLost();
  }
}

void Executor::Handle(const LogEntry& entry) {
  Queue& queue = TheProcess().queue;
  Op* op = queue.Pending(entry.seq);
  if (op == nullptr) return;  // a control command
  if (static_cast<LogKind>(entry.kind) == LogKind::kRunHost) {
    if (op->kind == OpKind::kWaitValue) {
      GiveToWatcher(op);
    } else {
      GiveToHostThread(op);
    }
    return;
  }
  std::lock_guard<std::timed_mutex> lock(effect_mutex_);
  ApplyEffect(op, entry);
  queue.Finish(op);
}

void Executor::GiveToHostThread(Op* op) {
  std::lock_guard<std::mutex> lock(host_mutex_);
  host_ops_.push_back(op);
  if (!host_started_) {
    pthread_t thread;
    host_started_ = StartThread(&thread, HostThread, this, "simgpu-host");
  }
  host_more_.notify_one();
}

void Executor::RunHostFunctions() {
  for (;;) {
    Op* op;
    {
      std::unique_lock<std::mutex> lock(host_mutex_);
      host_more_.wait(lock, [this] { return !host_ops_.empty(); });
      op = host_ops_.front();
      host_ops_.pop_front();
    }
    if (!EffectsWanted()) return;
    RunHostFunction(*op);
    if (!TellReturned(*op, op->host.stream)) return;
  }
}

void Executor::RunHostFunction(const Op& op) {
  const HostOp host = op.host;
  const auto status = static_cast<CUresult>(op.context->sticky.load());
  InHostFunction guard;
  if (host.callback != nullptr) {
    host.callback(host.handle, status, host.data);
  } else if (status == CUDA_SUCCESS) {  // cuda.h: not called in the event of an error
    host.function(host.data);
  }
}

void Executor::GiveToWatcher(Op* op) {
  std::lock_guard<std::mutex> lock(watch_mutex_);
  watch_ops_.push_back(op);
  if (!watch_started_) {
    pthread_t thread;
    watch_started_ = StartThread(&thread, WatchThread, this, "simgpu-watch");
  }
  watch_more_.notify_one();
}

void Executor::RunWatch() {
  uint32_t sleep_us = kLeastWatchUs;
  while (EffectsWanted()) {
    std::vector<Op*> met;
    {
      std::unique_lock<std::mutex> lock(watch_mutex_);
      watch_more_.wait(lock, [this] { return !watch_ops_.empty(); });
      std::erase_if(watch_ops_, [&](Op* op) {
        const bool over = op->context->sticky.load() != 0 || ConditionMet(op->wait);
        if (over) met.push_back(op);
        return over;
      });
    }
    for (const Op* op : met) {
      if (!TellReturned(*op, op->wait.stream)) return;
    }
    sleep_us = met.empty() ? std::min(sleep_us * 2, kMostWatchUs) : kLeastWatchUs;
    usleep(sleep_us);
  }
}

}  // namespace sgprs::simgpu::driver
