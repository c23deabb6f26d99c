// SPDX-License-Identifier: Apache-2.0
// A thread that others wait for and that runs some microseconds at a time is to run when it is
// woken, not when the thread that happens to have its CPU has used up its slice.
#ifndef SGPRS_RUNTIME_BASE_PROMPT_THREAD_H_
#define SGPRS_RUNTIME_BASE_PROMPT_THREAD_H_

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace sgprs {

// The shortest slice that the kernel takes (Linux 6.12 and newer: sched_attr::sched_runtime of a
// SCHED_OTHER thread).
inline constexpr uint64_t kPromptSliceNs = 100'000;

// Of the calling thread. A woken thread with a shorter slice preempts one with a longer one, its
// share of the CPU stays what it was, so nobody can be starved by it; no privilege is needed.
// Policy and nice value stay. Does nothing for a thread of another policy (real-time ones are
// prompt) and under kernels that are older (their default preempts for a thread that slept).
// Changes errno.
inline void RunPromptly() {
  // As the kernel's sched_attr of its first version, which glibc 2.36 does not declare.
  struct Attributes {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns;
    uint64_t deadline_ns;
    uint64_t period_ns;
  } attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof(attributes);
  attributes.runtime_ns = kPromptSliceNs;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace sgprs

#endif  // SGPRS_RUNTIME_BASE_PROMPT_THREAD_H_
