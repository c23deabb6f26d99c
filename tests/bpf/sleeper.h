// SPDX-License-Identifier: Apache-2.0
// Child processes that wait in known ways and say when, for tests of the probes.
#ifndef SGPRS_TESTS_BPF_SLEEPER_H_
#define SGPRS_TESTS_BPF_SLEEPER_H_

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::testing {

// A forked child that runs `body` when it is told to. Killed at the end of its scope.
class Child {
 public:
  explicit Child(const std::function<void()>& body) {
    int go[2];
    if (pipe(go) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(go[1]);
      char byte;
      while (read(go[0], &byte, 1) != 1) {
      }
      body();
      _exit(0);
    }
    close(go[0]);
    go_.reset(go[1]);
    pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  }
  ~Child() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    Wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void Go() { (void)!write(go_.get(), "g", 1); }
  // Until it is over.
  void Wait() {
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }

 private:
  pid_t pid_ = -1;
  UniqueFd go_;
  UniqueFd pidfd_;
};

// What a child notes of each period, in memory shared with the test.
struct Period {
  uint64_t due_ns;   // what it asked of the timer
  uint64_t back_ns;  // when it was back from the system call
};

template <typename T>
class Shared {
 public:
  explicit Shared(size_t count)
      : bytes_(count * sizeof(T)),
        data_(static_cast<T*>(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Shared() { munmap(data_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator[](size_t i) { return data_[i]; }
  T* data() { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

// A periodic process: sleeps until first + i * period, notes it, runs `work`.
inline void RunPeriodic(Period* periods, size_t count, uint64_t period_ns,
                        const std::function<void(size_t)>& work = nullptr) {
  uint64_t due_ns = NowNs() + period_ns;
  for (size_t i = 0; i < count; ++i, due_ns += period_ns) {
    const timespec until = ToTimespec(due_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
    periods[i] = {due_ns, NowNs()};
    if (work) work(i);
  }
}

}  // namespace sgprs::testing

#endif  // SGPRS_TESTS_BPF_SLEEPER_H_
