// SPDX-License-Identifier: Apache-2.0
// The kernel probes of bpf/: loaded once, attached while at least one thread group is registered,
// read without being woken. Times are CLOCK_MONOTONIC, the probes' and ours.
//
// Thread: one, the loop's; nothing is locked. Nothing blocks but Load() (tens of milliseconds: the
// kernel verifies the programs) and the first Register() and the last Unregister() (they attach and
// detach: some milliseconds).
#ifndef SGPRS_RUNTIME_KERNEL_PROBES_H_
#define SGPRS_RUNTIME_KERNEL_PROBES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/kernel/probe_level.h"
#include "sgprs/abi/wake_record.h"

namespace sgprs::kernel {

struct ProbeOptions {
  bool enabled = true;
  // Waits shorter than this that no timer ended make no record.
  uint64_t min_wait_ns = 50'000;
  // Of the ring between kernel and reader; a power of two, at least 4096.
  uint32_t ring_bytes = 1u << 20;
};

// All only grow. `lost` and the rest at zero do not prove that nothing was missed: see
// wake_order.h.
struct ProbeCounts {
  uint64_t sent = 0;         // records handed to the reader
  uint64_t lost = 0;         // records that found the ring full
  uint64_t short_waits = 0;  // waits too short for a record
  uint64_t mismatched = 0;   // stamps thrown away: the call that ended is not the one slept in
  uint64_t threads = 0;      // threads followed so far
  uint64_t no_memory = 0;    // threads that could not be followed
  uint64_t misses = 0;       // events that the kernel did not hand to a probe that was running
};

class Probes {
 public:
  // Loads what can be loaded. Never fails: level() and why() say what came of it.
  static std::unique_ptr<Probes> Load(const ProbeOptions& options);
  virtual ~Probes() = default;

  virtual ProbeLevel level() const = 0;
  // One line: what keeps the level from being kRoot, and what to do about it; empty at kRoot.
  virtual const std::string& why() const = 0;

  // Follows every thread of the process behind `pidfd` (pidfd_open) until it ends or Unregister().
  // `pidfd` is not kept. Records carry `client_id`. Errors: kUnavailable (no probes at this level),
  // kNotFound (the process is over), kInternal.
  virtual Status Register(int pidfd, uint64_t client_id) = 0;
  // Call once per successful Register(), also for a process that is over.
  virtual void Unregister(int pidfd) = 0;

  // Readable when the ring is half full: watch it, and Drain() then. Otherwise Drain() whenever a
  // release is wanted; an idle reader costs nothing. -1: no probes.
  virtual int ring_fd() const = 0;
  // Hands over what is in the ring, at most `limit` records; in order per CPU, not per thread
  // group. Returns how many.
  // NOLINTNEXTLINE(google-default-arguments): no override gives another one
  virtual size_t Drain(const std::function<void(const SgprsWakeRecord&)>& handler,
                       size_t limit = 4096) = 0;
  virtual ProbeCounts Counts() const = 0;
  // Times that were spent in the probes' programs so far; 0 unless the kernel keeps them
  // (sysctl kernel.bpf_stats_enabled). For the bench.
  virtual uint64_t RunTimeNs() const = 0;
};

}  // namespace sgprs::kernel

#endif  // SGPRS_RUNTIME_KERNEL_PROBES_H_
