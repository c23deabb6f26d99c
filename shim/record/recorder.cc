// SPDX-License-Identifier: Apache-2.0
#include "shim/record/recorder.h"

#include <string.h>

#include <algorithm>

#include "runtime/base/clock.h"
#include "runtime/lane/doorbell.h"
#include "shim/hooks.h"
#include "shim/interpose/call_counts.h"
#include "shim/interpose/interpose.h"

namespace sgprs::shim {
namespace {

SgprsSlotKind SlotKindOf(EntryKind kind) {
  switch (kind) {
    case EntryKind::kKernel:
      return SGPRS_SLOT_KERNEL;
    case EntryKind::kCopyHostToDevice:
    case EntryKind::kCopyDeviceToHost:
    case EntryKind::kCopyDeviceToDevice:
    case EntryKind::kCopyAny:
    case EntryKind::kCopyShaped2D:
    case EntryKind::kCopyShaped3D:
    case EntryKind::kPrefetch:
      return SGPRS_SLOT_COPY;
    case EntryKind::kFill:
    case EntryKind::kFillRows:
      return SGPRS_SLOT_FILL;
    case EntryKind::kEventRecord:
      return SGPRS_SLOT_EVENT_RECORD;
    case EntryKind::kEventWait:
      return SGPRS_SLOT_EVENT_WAIT;
    case EntryKind::kEventDestroy:
      return SGPRS_SLOT_EVENT_RECORD;
    case EntryKind::kHostFunction:
    case EntryKind::kCallback:
      return SGPRS_SLOT_HOST_FUNCTION;
    case EntryKind::kFreeAsync:
      return SGPRS_SLOT_FREE;
    case EntryKind::kGraph:
      return SGPRS_SLOT_GRAPH;
  }
  return SGPRS_SLOT_NONE;
}

template <typename T>
T Relaxed(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_relaxed);
}

// Interns the kernel's name in the lane, once per lane. Under record_lock. 0 = table full.
uint32_t InternKernel(Session* s, KernelInfo* info) {
  if (info->lane_generation == s->lane_generation) return info->lane_id;
  const uint64_t count = s->lane->kernels_interned;
  info->lane_generation = s->lane_generation;
  info->lane_id = 0;
  if (count >= SGPRS_LANE_KERNELS) return 0;
  auto* names = reinterpret_cast<SgprsKernelName*>(reinterpret_cast<char*>(s->lane) +
                                                   s->lane->kernels_offset);
  SgprsKernelName* row = &names[count];
  row->hash = info->name_hash;
  row->name_bytes = static_cast<uint32_t>(strlen(info->name));
  row->param_bytes = info->param_bytes;
  strncpy(row->name, info->name, sizeof(row->name) - 1);
  // Release pairs with LaneOwner::Observe(): the row is whole.
  std::atomic_ref<uint64_t>(s->lane->kernels_interned).store(count + 1, std::memory_order_release);
  info->lane_id = static_cast<uint32_t>(count + 1);
  return info->lane_id;
}

// After so many items in a row without a kernel or a synchronisation the program is believed to
// launch graphs, and what belongs to them, and to wait for none.
constexpr uint32_t kGraphsOnly = 8;

// Can the item that is being recorded begin a job, or tell when the next may? If not, nobody looks
// at the clock. Under record_lock.
bool MayBeginJob(Session* s) {
  return s->graph_run + 1 >= kGraphsOnly || s->after_sync.load(std::memory_order_relaxed) ||
         s->job == 0 || s->job_mark.load(std::memory_order_relaxed) ||
         Relaxed(s->lane->settings.job_rule) == SGPRS_JOB_LAUNCHES;
}

// Does it? (design.md 5.) Under record_lock. `identity`: what the item is, whoever launches it.
bool BeginsJob(Session* s, uint64_t identity, uint64_t now_ns, uint64_t* gap_ns) {
  const uint64_t last_ns = s->last_call_ns.load(std::memory_order_relaxed);
  *gap_ns = now_ns > last_ns ? now_ns - last_ns : 0;
  if (s->job == 0) {
    s->job_identity = identity;
    return true;
  }
  SgprsLaneSettings& settings = s->lane->settings;
  const uint64_t length = Relaxed(settings.job_launches);
  if (s->job_mark.load(std::memory_order_relaxed)) return true;
  if (Relaxed(settings.job_rule) == SGPRS_JOB_LAUNCHES) {
    return length != 0 && s->job_launches >= length;
  }
  if (Relaxed(settings.job_rule) == SGPRS_JOB_MARKED) return false;
  // Graphs are few and the clock is looked at for each, so that a pause between two of them is
  // known and tells without a synchronisation.
  const bool synced = s->after_sync.load(std::memory_order_relaxed);
  if (!synced && s->graph_run < kGraphsOnly) return false;
  if (length != 0 && s->job_launches >= length) return true;
  // Not at the learnt end: a pause tells, but bursts within one period are one job.
  const uint64_t period_ns = Relaxed(settings.period_ns);
  if (period_ns != 0 && now_ns - s->job_first_ns < period_ns / 2) return false;
  if (*gap_ns >= Relaxed(settings.pause_ns)) return true;
  // A task that is always late never pauses: what began the first job begins the next.
  return synced && period_ns != 0 && identity == s->job_identity;
}

uint64_t IdentityOf(const Entry& e, uint64_t bytes) {
  const uint64_t what = e.kind == EntryKind::kKernel  ? e.launch.info->name_hash
                        : e.kind == EntryKind::kGraph ? e.graph.info->name_hash
                                                      : bytes;
  return (what ^ static_cast<uint64_t>(e.kind)) * 0x9e3779b97f4a7c15ull;
}

// Has work gone to `stream`'s anchor that the item must follow? Records the event to wait for; its
// thread may be the only one that can name the stream (per-thread streams), so it is done here.
void FollowAnchor(Session* s, VirtualStream* stream, Entry* entry) {
  // Acquire pairs with CloseDirect(), which raises the epoch before it lowers the count: loaded the
  // other way round, so that a call that ends in between is seen by one of the two.
  const bool open = s->direct_open.load(std::memory_order_acquire) != 0;
  const uint64_t epoch = s->direct_epoch.load(std::memory_order_acquire);
  if (stream->clean_epoch == epoch && !open) return;
  if (stream->anchor_event == nullptr) {
    const RelaxedCapture relaxed;
    CUcontext popped = nullptr;
    SGPRS_REAL(cuCtxPushCurrent_v2)(stream->context);
    SGPRS_REAL(cuEventCreate)(&stream->anchor_event, CU_EVENT_DISABLE_TIMING);
    SGPRS_REAL(cuCtxPopCurrent_v2)(&popped);
  }
  if (SGPRS_REAL(cuEventRecord)(stream->anchor_event, stream->anchor) != CUDA_SUCCESS) return;
  entry->flags |= kEntryWaitAnchor;
  stream->clean_epoch = epoch;
}

}  // namespace

RecordScope::RecordScope(VirtualStream* stream, EntryKind kind, uint32_t arena_bytes)
    : session_(TheSession()) {
  session_->record_lock.lock();
  if (!Recording() || (stream != nullptr && stream->dead) || !WaitForRoom(arena_bytes)) {
    session_->record_lock.unlock();
    return;
  }
  index_ = session_->recorded.load(std::memory_order_relaxed);  // only changed under record_lock
  entry_ = &session_->entries[index_ & (kEntries - 1)];
  entry_->stream = stream;
  entry_->kind = kind;
  entry_->flags = 0;
  entry_->arena_end = session_->arena_head + arena_bytes;
  if (arena_bytes != 0) arena_ = session_->arena + (session_->arena_head & (kArenaBytes - 1));
}

RecordScope::~RecordScope() {
  if (entry_ != nullptr) session_->record_lock.unlock();
}

// Waits, the lock given up meanwhile, until ring and arena have room. False: recording has ended.
bool RecordScope::WaitForRoom(uint32_t arena_bytes) {
  const uint64_t at = session_->arena_head & (kArenaBytes - 1);
  if (at + arena_bytes > kArenaBytes) session_->arena_head += kArenaBytes - at;  // to the start
  for (;;) {
    const uint64_t recorded = session_->recorded.load(std::memory_order_relaxed);
    const uint64_t head = session_->arena_head + arena_bytes;
    // As the issuer was seen last: its cache line is fetched only when that is not enough.
    if (recorded - session_->issued_seen < kEntries &&
        head - session_->arena_free_seen <= kArenaBytes) {
      return true;
    }
    // Acquire pairs with the issuer's release stores: it is done with entry and arena.
    const uint64_t issued = session_->issued.load(std::memory_order_acquire);
    session_->arena_free_seen = session_->arena_free.load(std::memory_order_acquire);
    session_->issued_seen = issued;
    const bool arena_full = head - session_->arena_free_seen > kArenaBytes;
    if (recorded - issued < kEntries && (!arena_full || recorded == issued)) return true;
    session_->record_lock.unlock();
    // A sixteenth of what is queued: one wake-up for many items.
    WaitIssued(session_, issued + 1 + (recorded - issued) / 16);
    session_->record_lock.lock();
    if (!Recording()) return false;
  }
}

void RecordScope::WriteSlot(uint64_t bytes, uint64_t now_ns, uint64_t gap_ns, uint8_t slot_flags) {
  Session* s = session_;
  const uint64_t lane_index = index_ - s->lane_base;
  auto* slots =
      reinterpret_cast<SgprsSlot*>(reinterpret_cast<char*>(s->lane) + s->lane->slots_offset);
  SgprsSlot* slot = &slots[lane_index & (SGPRS_LANE_SLOTS - 1)];
  const Entry& e = *entry_;
  std::atomic_ref<uint64_t> slot_index(slot->index);
  slot_index.store(UINT64_MAX, std::memory_order_relaxed);
  // Release fence: a reader that sees any new field also sees the index gone.
  std::atomic_thread_fence(std::memory_order_release);
  slot->time_ns = now_ns;
  slot->bytes = bytes;
  slot->job = e.job;
  slot->stream = e.stream != nullptr ? e.stream->ordinal : 0;
  slot->kind = SlotKindOf(e.kind);
  slot->flags = slot_flags;
  slot->gap_ns = gap_ns;
  if (e.kind == EntryKind::kKernel) {
    slot->kernel = InternKernel(s, e.launch.info);
    slot->grid_x = e.grid[0];
    slot->grid_y = static_cast<uint16_t>(e.grid[1]);
    slot->grid_z = static_cast<uint16_t>(e.grid[2]);
    slot->block_x = static_cast<uint16_t>(e.block[0]);
    slot->block_y = static_cast<uint16_t>(e.block[1]);
    slot->block_z = static_cast<uint16_t>(e.block[2]);
    slot->shared_bytes = e.shared_bytes;
  } else {
    const bool graph = e.kind == EntryKind::kGraph;
    slot->kernel = graph ? InternKernel(s, e.graph.info) : 0;
    slot->grid_x = graph ? e.graph.kernels : 0;
    slot->shared_bytes = 0;
  }
  // Release pairs with LaneOwner::CopySlotUntrusted().
  slot_index.store(lane_index, std::memory_order_release);
}

void RecordScope::Commit(uint64_t bytes) {
  Session* s = session_;
  VirtualStream* stream = entry_->stream;
  uint64_t now_ns = s->last_call_ns.load(std::memory_order_relaxed);
  uint64_t gap_ns = 0;
  bool first = false;
  uint8_t slot_flags = 0;
  const bool synced = s->after_sync.load(std::memory_order_relaxed);
  if (MayBeginJob(s)) {
    now_ns = NowNs();
    first = BeginsJob(s, IdentityOf(*entry_, bytes), now_ns, &gap_ns);
    if (synced) slot_flags |= SGPRS_SLOT_AFTER_SYNC;
    s->after_sync.store(false, std::memory_order_relaxed);
    s->last_call_ns.store(now_ns, std::memory_order_relaxed);
  }
  if (first) {
    slot_flags |= SGPRS_SLOT_JOB_FIRST;
    entry_->flags |= kEntryJobFirst;
    ++s->job;
    s->job_launches = 0;
    s->job_first_ns = now_ns;
    s->job_mark.store(false, std::memory_order_relaxed);
    std::atomic_ref<uint64_t>(s->lane->jobs).store(s->job, std::memory_order_relaxed);
  }
  ++s->job_launches;
  const bool graph_like = entry_->kind != EntryKind::kKernel && !synced;
  s->graph_run = graph_like ? std::min(s->graph_run + 1, kGraphsOnly) : 0;
  entry_->job = s->job;
  if (stream != nullptr) FollowAnchor(s, stream, entry_);
  WriteSlot(bytes, now_ns, first ? gap_ns : 0, slot_flags);
  if (entry_->kind == EntryKind::kKernel || entry_->kind == EntryKind::kGraph) {
    const uint64_t more = entry_->kind == EntryKind::kKernel ? 1 : entry_->graph.kernels;
    std::atomic_ref<uint64_t> kernels(s->lane->counters.kernels);
    kernels.store(kernels.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  if (s->counting) CountRecorded();
  s->arena_head = entry_->arena_end;
  // Release, under record_lock; read by WaitForStream() and Query.
  if (stream != nullptr) stream->recorded_upto.store(index_ + 1, std::memory_order_release);
  SgprsLaneHeader* lane = s->lane;
  // Release pairs with LaneOwner::Observe().
  std::atomic_ref<uint64_t>(lane->recorded)
      .store(index_ + 1 - s->lane_base, std::memory_order_release);
  // seq_cst, with the load of `asleep` below: either the issuer sees this index on its last look,
  // or we see that it sleeps (runtime/lane/doorbell.h).
  s->recorded.store(index_ + 1, std::memory_order_seq_cst);
  SgprsDoorbell* bell = &lane->issuer_doorbell;
  // 1 = asleep for want of records; 2 = for want of a grant, which only the runtime can give.
  if (std::atomic_ref<uint32_t>(bell->asleep).load(std::memory_order_seq_cst) == 1) {
    lane::Ring(bell);
  }
  if (first) lane::Ring(&lane->runtime_doorbell);
  entry_ = nullptr;
  s->record_lock.unlock();
}

void WaitIssued(Session* s, uint64_t upto) {
  const auto done = [s, upto] { return s->issued.load(std::memory_order_acquire) >= upto; };
  if (done()) return;
  if (s->online_cpus > 1) {
    for (int spin = 0; spin < 200; ++spin) {
      if (done()) return;
      SpinPause();
    }
  }
  while (true) {
    // Order matters: the word is read before `wake_at` is lowered, so a wake-up between the two
    // makes the wait below return at once (Issuer::WakeWaiters).
    const uint32_t word = s->issue_word.load(std::memory_order_seq_cst);
    uint64_t at = s->wake_at.load(std::memory_order_relaxed);
    while ((at == 0 || upto < at) &&
           !s->wake_at.compare_exchange_weak(at, upto, std::memory_order_seq_cst)) {
    }
    if (done()) return;
    // The time-out only guards against our own faults: the issuer wakes us.
    const timespec limit = ToTimespec(20 * kNsPerMs);
    syscall(SYS_futex, &s->issue_word, FUTEX_WAIT_PRIVATE, word, &limit, nullptr, 0);
    // At exit the issuer stops: nobody waits for what will never be issued.
    if (done() || s->mode.load(std::memory_order_relaxed) == Mode::kExiting) return;
  }
}

void WaitIssuedAtMost(Session* s, uint64_t limit_ns) {
  const uint64_t end_ns = NowNs() + limit_ns;
  const timespec moment = ToTimespec(200 * kNsPerUs);
  while (s->issued.load(std::memory_order_acquire) < s->recorded.load(std::memory_order_acquire) &&
         NowNs() < end_ns) {
    nanosleep(&moment, nullptr);
  }
}

void WaitCompleted(Session* s, uint64_t limit_ns) {
  const uint64_t end_ns = NowNs() + limit_ns;
  const timespec moment = ToTimespec(200 * kNsPerUs);
  while (s->completed.load(std::memory_order_acquire) < s->marked.load(std::memory_order_acquire) &&
         NowNs() < end_ns) {
    nanosleep(&moment, nullptr);
  }
}

void NoteBlockingCall(Session* s, uint64_t upto) {
  if (!Recording()) return;
  FutexLock lock(&s->record_lock);  // the issuer may swap the lane
  std::atomic_ref<uint64_t>(s->lane->counters.blocked_upto)
      .store(upto >= s->lane_base ? upto - s->lane_base : 0, std::memory_order_relaxed);
}

void NoteBlockingCallEnd(Session* s) {
  if (!Recording()) return;
  s->after_sync.store(true, std::memory_order_relaxed);
  s->last_call_ns.store(NowNs(), std::memory_order_relaxed);
}

}  // namespace sgprs::shim
