// SPDX-License-Identifier: Apache-2.0
// A small mutex for the launch path: one compare-exchange when free, a futex when not. Private to
// the process; a forked child makes its own (session.cc).
#ifndef SGPRS_SHIM_RECORD_FUTEX_MUTEX_H_
#define SGPRS_SHIM_RECORD_FUTEX_MUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace sgprs::shim {

inline void SpinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield" ::: "memory");
#endif
}

class FutexMutex {
 public:
  void lock() {
    uint32_t expected = 0;
    // Acquire pairs with the release exchange in unlock().
    if (word_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
    // 2 = held, and somebody may sleep.
    while (word_.exchange(2, std::memory_order_acquire) != 0) {
      syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
    }
  }
  bool try_lock() {
    uint32_t expected = 0;
    return word_.compare_exchange_strong(expected, 1, std::memory_order_acquire);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) {
      syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
  }
  // Only for a forked child, which has no other thread: forgets the holder.
  void ResetAfterFork() { word_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> word_{0};
};

class FutexLock {
 public:
  explicit FutexLock(FutexMutex* mutex) : mutex_(mutex) { mutex_->lock(); }
  ~FutexLock() { mutex_->unlock(); }
  FutexLock(const FutexLock&) = delete;
  FutexLock& operator=(const FutexLock&) = delete;

 private:
  FutexMutex* mutex_;
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_RECORD_FUTEX_MUTEX_H_
