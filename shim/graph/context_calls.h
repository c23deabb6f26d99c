// SPDX-License-Identifier: Apache-2.0
// A call that concerns a whole context is refused while any of its streams captures, and breaks the
// capture. The builder captures on streams of its own: it does so only while no such call of the
// application is under way, and such a call waits for the one copy that is being made.
#ifndef SGPRS_SHIM_GRAPH_CONTEXT_CALLS_H_
#define SGPRS_SHIM_GRAPH_CONTEXT_CALLS_H_

#include <time.h>

#include <cstdint>

#include "shim/record/futex_mutex.h"

namespace sgprs::shim {

class ContextCalls {
 public:
  // Application threads, around the driver's call, which may block for long.
  void Enter() {
    FutexLock lock(&mutex_);
    ++calls_;
  }
  void Leave() {
    FutexLock lock(&mutex_);
    --calls_;
  }
  // Builder thread, around the making of one copy; holds nothing while it waits.
  void BeginCaptures() {
    for (;;) {
      mutex_.lock();
      if (calls_ == 0) return;
      mutex_.unlock();
      const timespec moment = {0, 200000};
      nanosleep(&moment, nullptr);
    }
  }
  void EndCaptures() { mutex_.unlock(); }
  void ResetAfterFork() {
    mutex_.ResetAfterFork();
    calls_ = 0;
  }

 private:
  FutexMutex mutex_;
  uint32_t calls_ = 0;
};

ContextCalls* TheContextCalls();

// A scope around such a call.
class ContextWide {
 public:
  ContextWide() { TheContextCalls()->Enter(); }
  ~ContextWide() { TheContextCalls()->Leave(); }
  ContextWide(const ContextWide&) = delete;
  ContextWide& operator=(const ContextWide&) = delete;
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_GRAPH_CONTEXT_CALLS_H_
