// SPDX-License-Identifier: Apache-2.0
// The state of this process towards the runtime: one lane, its recorded entries, its partitions.
// One object, made before first use without a constructor, never destroyed.
//
// Indexes. A *process index* counts every recorded item of the process from 0 and never restarts; a
// lane that a new runtime hands over begins at process index `lane_base`.
//
// Locks, always taken in this order: attach_lock, record_lock, issue_lock, lane_lock.
//   record_lock  who records: entries, arena head, job borders, stream rows
//   issue_lock   who calls the driver on partition streams: stand-in streams
//   lane_lock    leaf: the completer's use of the lane against its swap (a swap holds all three)
// None is held across a driver call that may block for long, or while sleeping.
#ifndef SGPRS_SHIM_SESSION_H_
#define SGPRS_SHIM_SESSION_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>

#include "sgprs/abi/call_counts.h"
#include "sgprs/abi/control.h"
#include "sgprs/abi/lane.h"
#include "shim/issue/virtual_stream.h"
#include "shim/partition/backend.h"
#include "shim/record/entry.h"
#include "shim/record/futex_mutex.h"
#include "shim/record/kernel_table.h"

namespace sgprs::shim {

inline constexpr uint32_t kEntries = SGPRS_LANE_SLOTS;
inline constexpr uint64_t kArenaBytes = 16u << 20;

enum class Mode : uint32_t {
  kUnattached = 0,  // nothing launched yet
  kAttaching,       // one thread is registering; others that launch wait for it
  kRecording,
  kBypass,    // for good: direct calls, counted
  kRefused,   // SGPRS_REQUIRE: launches answer CUDA_ERROR_NOT_PERMITTED
  kFlushing,  // the process is in exit(): what is held is issued, nothing new is
  kExiting,   // our threads have stopped, or are about to
};

struct Session {
  std::atomic<Mode> mode{Mode::kUnattached};
  std::atomic<int32_t> captures{0};  // captures under way: what belongs to one is not recorded
  int32_t pid = 0;                   // the process that attached; a forked child differs

  FutexMutex attach_lock;
  FutexMutex record_lock;
  FutexMutex issue_lock;
  FutexMutex lane_lock;

  // Set while attaching; from `backend` to `pool_generation` replaced by the issuer with
  // record_lock and issue_lock held, so read under one of them.
  DeviceFacts facts;
  Backend* backend = nullptr;
  bool best_effort = false;  // class of the task: its work gives way on the device too
  SgprsPartitionPlan plan[SGPRS_MAX_PARTITIONS] = {};
  uint32_t partition_count = 0;
  uint32_t sm_counts[SGPRS_MAX_PARTITIONS] = {};
  uint32_t pool_generation = 0;  // from 1 once attached
  uint32_t online_cpus = 0;

  // The lane. Swapped by the issuer with record_lock and issue_lock held.
  SgprsLaneHeader* lane = nullptr;
  uint64_t lane_bytes = 0;
  uint64_t lane_base = 0;
  uint32_t lane_generation = 0;
  int control_fd = 0;  // valid while `lane` is

  // Under record_lock; `recorded` is also read by the issuer.
  alignas(64) std::atomic<uint64_t> recorded{0};  // process index
  Entry* entries = nullptr;
  unsigned char* arena = nullptr;
  uint64_t arena_head = 0;
  uint64_t issued_seen = 0;  // `issued` and `arena_free` as the recorder saw them last
  uint64_t arena_free_seen = 0;
  bool counting = false;  // for `sgprs doctor`
  uint32_t job = 0;
  uint64_t job_launches = 0;  // recorded in the current job
  uint64_t job_first_ns = 0;
  uint64_t job_identity = 0;  // what the first item of the process's first job was
  uint32_t graph_run = 0;     // items in a row without a kernel or a synchronisation (recorder.cc)
  // Hints for job borders, also written without the lock; relaxed: each stands alone.
  std::atomic<uint64_t> last_call_ns{0};  // latest look at the clock: a synchronising call's end,
                                          // an item that might have begun a job
  std::atomic<bool> after_sync{false};
  std::atomic<bool> job_mark{false};  // the next item begins a job, whatever else is known
  uint32_t streams_made = 0;
  // Rows that were given up; a row that was found before is looked up anew (FindStream).
  std::atomic<uint64_t> streams_forgotten{0};
  uint64_t captures_made = 0;  // under issue_lock

  // Written by the issuer (under issue_lock), read by all.
  alignas(64) std::atomic<uint64_t> issued{0};  // process index
  std::atomic<uint64_t> arena_free{0};
  std::atomic<uint64_t> wake_at{0};     // least index that somebody sleeps for, 0 = nobody
  std::atomic<uint32_t> issue_word{0};  // futex of those who wait for `issued`
  std::atomic<CUresult> deferred_error{CUDA_SUCCESS};  // first error of an issued item
  std::atomic<uint64_t> marked{0};     // process index up to which there are markers
  std::atomic<uint64_t> completed{0};  // process index up to which the completer has told
  std::atomic<bool> issuer_running{false};
  std::atomic<bool> silent_runtime{false};  // issuing without grants

  // Direct calls: the driver gets work on the application's own streams. `direct_epoch` counts
  // those that are over, `direct_open` those that may be under way; while one is, every recorded
  // item follows its anchor.
  std::atomic<uint64_t> direct_epoch{0};
  std::atomic<uint32_t> direct_open{0};

  // Streams: rows are never freed while the process lives, so a pointer in an entry stays good.
  VirtualStream* streams = nullptr;
  KernelTable kernels;

  // Counters that have no lane to live in yet.
  std::atomic<uint64_t> bypassed{0};
};

// All fields begin as zero: the object costs a program that never uses CUDA nothing.
extern Session g_session;
inline Session* TheSession() { return &g_session; }

// True if recordable calls are to be recorded now. One load on the launch path.
bool Recording();
// Registers on the first recordable call (context current). True if recording may begin.
bool AttachOnce();
// A thread of the shim: all signals blocked, small stack, detached. False: none could be started.
bool StartShimThread(void* (*body)(void*), const char* name);
// First thing that such a thread does: the scheduled context, relaxed capture.
void EnterShimThread();
// Answer for a launch that may not run (Mode::kRefused), else CUDA_SUCCESS.
CUresult RefusedError();
// The thread has something that must be given up when it ends (hooks_drain.cc).
void NoteThreadState();
// A launch went to the driver unrecorded, and the driver took it.
void CountBypassed(SgprsEscape why);
// One line on stderr, at most once per process and reason.
void SayOnce(const char* reason);
// Diagnostics to $SGPRS_SHIM_LOG, if set.
void ShimLog(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_SESSION_H_
