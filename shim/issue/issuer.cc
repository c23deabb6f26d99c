// SPDX-License-Identifier: Apache-2.0
#include "shim/issue/issuer.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/lane/doorbell.h"
#include "shim/graph/graph_row.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/cooperative.h"
#include "shim/issue/driver_call.h"
#include "shim/issue/streams.h"
#include "shim/issue/value_waits.h"

namespace sgprs::shim {
namespace {

constexpr uint64_t kIdleBeforeMarkNs = 200 * kNsPerUs;  // issued work gets a marker after this
constexpr uint64_t kGrantCheckNs = 50 * kNsPerMs;       // how often a silent runtime is looked at
constexpr uint64_t kLongestWaitNs = 10 * kNsPerSecond;  // for a grant of a runtime that is alive
constexpr uint64_t kAliveLimitNs = 1 * kNsPerSecond;    // heartbeat older than this = silent

enum : uint32_t { kAsleepForRecords = 1, kAsleepForGrant = 2 };

void Announce(SgprsDoorbell* bell, uint32_t why) {
  // seq_cst with RecordScope::Commit() and lane::Ring().
  std::atomic_ref<uint32_t>(bell->asleep).store(why, std::memory_order_seq_cst);
}

// Cooperative launches that do not fit run on the anchor, on the whole device.
bool Fits(const Entry& e, uint32_t partition) {
  return FitsCooperatively(e.launch.function, e.grid, e.block, e.shared_bytes, partition);
}

}  // namespace

void Issuer::Run() {
  s_->issuer_running.store(true, std::memory_order_release);
  Loop();
  if (s_->issued.load(std::memory_order_relaxed) > marked_) {
    FutexLock lock(&s_->issue_lock);
    Mark(false);
  }
  // Release pairs with AtExit(): no driver call of ours comes after this.
  s_->issuer_running.store(false, std::memory_order_release);
}

void Issuer::Loop() {
  while (s_->mode.load(std::memory_order_relaxed) != Mode::kExiting) {
    const uint64_t issued = s_->issued.load(std::memory_order_relaxed);  // only we write it
    // The recorder's cache line is fetched only when what was seen there is used up. Acquire pairs
    // with RecordScope::Commit(): the entry is whole.
    if (recorded_seen_ == issued) recorded_seen_ = s_->recorded.load(std::memory_order_acquire);
    if (recorded_seen_ == issued) {
      SleepForRecords();
      continue;
    }
    const Entry& entry = s_->entries[issued & (kEntries - 1)];
    if (!Covered(entry, issued)) {
      SleepForGrant();
      continue;
    }
    FutexLock lock(&s_->issue_lock);
    IssueOne(entry, issued);
    AfterIssue(entry, issued);
  }
}

// --- grants ---

bool Issuer::Covered(const Entry& entry, uint64_t index) {
  if (!self_ && s_->mode.load(std::memory_order_relaxed) == Mode::kFlushing) GoItself();
  if (self_ && (entry.flags & kEntryJobFirst) != 0 &&
      s_->mode.load(std::memory_order_relaxed) == Mode::kRecording && !RuntimeSilent()) {
    self_ = false;  // it is back: from this job on its grants count again
    have_grant_ = false;
    s_->silent_runtime.store(false, std::memory_order_relaxed);
  }
  const uint64_t lane_index = index - s_->lane_base;
  while (true) {
    if (have_grant_ && entry.job <= grant_.job && (self_ || lane_index < grant_.upto)) return true;
    if (self_) {
      GrantItself(entry);
    } else if (!TakeGrant()) {
      if (!TheValueWaits()->Open()) return false;
      GoItself();  // until the next job: the device waits for what may be held
    }
  }
}

bool Issuer::TakeGrant() {
  SgprsLaneHeader* lane = s_->lane;
  const uint64_t consumed = lane->grants_consumed;  // only we write it
  // Acquire pairs with LaneOwner::PublishGrant(): the grant is whole.
  if (std::atomic_ref<uint64_t>(lane->grants_published).load(std::memory_order_acquire) ==
      consumed) {
    return false;
  }
  SgprsGrant grant;
  auto* ring = reinterpret_cast<SgprsGrant*>(reinterpret_cast<char*>(lane) + lane->grants_offset);
  memcpy(&grant, &ring[consumed & (SGPRS_LANE_GRANTS - 1)], sizeof(grant));
  // Release pairs with PublishGrant(): the cell may be rewritten.
  std::atomic_ref<uint64_t>(lane->grants_consumed).store(consumed + 1, std::memory_order_release);
  BeginGrant(grant);
  waiting_since_ns_ = 0;
  return true;
}

void Issuer::BeginGrant(const SgprsGrant& grant) {
  FutexLock lock(&s_->issue_lock);
  if (s_->issued.load(std::memory_order_relaxed) > marked_) Mark(false);
  if (start_ != nullptr) TheMarkerPool()->Release(start_);
  start_ = nullptr;
  grant_ = grant;
  have_grant_ = true;
  grant_started_ = false;
  switched_ = false;
}

bool Issuer::RuntimeSilent() {
  if (HungUp(s_->control_fd)) return true;
  const uint64_t alive_ns = std::atomic_ref<uint64_t>(s_->lane->settings.alive_ns)
                                .load(std::memory_order_relaxed);  // a lone time stamp
  const uint64_t now_ns = NowNs();
  return now_ns > alive_ns && now_ns - alive_ns > kAliveLimitNs;
}

void Issuer::GoItself() {
  self_ = true;
  have_grant_ = false;
  waiting_since_ns_ = 0;
  s_->silent_runtime.store(true, std::memory_order_relaxed);
}

void Issuer::GrantItself(const Entry& entry) {
  SgprsGrant grant = {};
  grant.upto = SGPRS_GRANT_OPEN;
  grant.job = entry.job;
  grant.partition = have_grant_ ? grant_.partition : 0;
  grant.level = SGPRS_LEVEL_LOW;
  BeginGrant(grant);
}

// --- issuing ---

void Issuer::IssueOne(const Entry& entry, uint64_t index) {
  if ((entry.flags & kEntryJobFirst) != 0) job_first_ = index;
  if (entry.kind == EntryKind::kEventDestroy) {
    CallDriver(entry, nullptr, kAnchorPartition);  // of no stream
    return;
  }
  VirtualStream* stream = entry.stream;
  uint32_t partition = grant_.partition < s_->partition_count ? grant_.partition : 0;
  bool switched = false;
  CUstream target = PrepareTarget(s_, stream, partition, static_cast<SgprsLevel>(grant_.level),
                                  (entry.flags & kEntryWaitAnchor) != 0, &switched);
  const bool by_anchor = target == nullptr ||
                         (entry.kind != EntryKind::kKernel && s_->backend->KernelsOnly()) ||
                         (entry.kind == EntryKind::kKernel &&
                          (s_->backend->FunctionFor(entry.launch.function, partition) == nullptr ||
                           ((entry.flags & kEntryCooperative) != 0 && !Fits(entry, partition))));
  // The anchor is to follow what `target` was made to follow.
  if (by_anchor && target != nullptr) NoteIssued(stream, target, partition);
  if (by_anchor && JoinAnchor(s_, stream)) {
    target = stream->anchor;
    partition = kAnchorPartition;
  }
  if (!grant_started_) {
    grant_started_ = true;
    first_issue_ns_ = NowNs();
    switched_ = switched;
    start_ = TheMarkerPool()->Take(partition);
    if (start_ != nullptr) SGPRS_REAL(cuEventRecord)(start_->event, target);
  }
  if (entry.kind == EntryKind::kGraph) FollowLastLaunch(entry.graph.row, stream, target);
  CallDriver(entry, target, partition);
  NoteIssued(stream, target, partition);
  Touch(stream);
}

// An executable graph runs once at a time, and all its copies are one.
void Issuer::FollowLastLaunch(GraphRow* row, VirtualStream* stream, CUstream target) {
  if (row->last_stream != nullptr && row->last_stream != stream) {
    FollowStream(s_, row->last_stream, target);
  }
  row->last_stream = stream;
}

void Issuer::CallDriver(const Entry& entry, CUstream target, uint32_t partition) {
  const CUresult result = IssueToDriver(s_, entry, target, partition, grant_.partition);
  if (result == CUDA_SUCCESS) return;
  ShimLog("issuing item kind %d failed with %d", static_cast<int>(entry.kind), result);
  CUresult none = CUDA_SUCCESS;
  // The first error is told at the application's next synchronisation; relaxed: a lone word.
  s_->deferred_error.compare_exchange_strong(none, result, std::memory_order_relaxed);
}

void Issuer::AfterIssue(const Entry& entry, uint64_t index) {
  const uint64_t issued = index + 1;
  // Release pairs with RecordScope::WaitForRoom(): entry and arena may be reused.
  s_->arena_free.store(entry.arena_end, std::memory_order_release);
  if (self_) {
    std::atomic_ref<uint64_t> count(s_->lane->counters.self_granted);
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // Release pairs with LaneOwner::Observe().
  std::atomic_ref<uint64_t>(s_->lane->issued)
      .store(issued - s_->lane_base, std::memory_order_release);
  // seq_cst with WaitIssued(): either it sees this index or we see `wake_at`.
  s_->issued.store(issued, std::memory_order_seq_cst);
  const bool whole = !self_ && issued - s_->lane_base == grant_.upto;
  if (whole || AtExpectedEnd(issued) || HalfOfRange(issued) || touched_count_ == kMarkerStreams) {
    Mark(whole);
  }
  WakeWaiters(issued);
}

void Issuer::WakeWaiters(uint64_t issued) {
  const uint64_t at = s_->wake_at.load(std::memory_order_seq_cst);
  if (at == 0 || issued < at) return;
  s_->wake_at.store(0, std::memory_order_seq_cst);
  s_->issue_word.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &s_->issue_word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

// --- markers ---

void Issuer::Touch(VirtualStream* stream) {
  for (uint32_t i = 0; i < touched_count_; ++i) {
    if (touched_[i] == stream) return;
  }
  if (touched_count_ < kMarkerStreams) touched_[touched_count_++] = stream;
}

// The learnt end of the job under its last, open grant: complete at once, do not wait for idleness.
bool Issuer::AtExpectedEnd(uint64_t issued) const {
  if (self_ || (grant_.flags & SGPRS_GRANT_LAST_STAGE) == 0) return false;
  const uint64_t length =
      std::atomic_ref<uint64_t>(s_->lane->settings.job_launches).load(std::memory_order_relaxed);
  return length != 0 && issued - job_first_ == length;
}

// Half of a bounded range of a job of unknown length: the runtime may grant more before the end.
bool Issuer::HalfOfRange(uint64_t issued) const {
  if (self_ || grant_.upto == SGPRS_GRANT_OPEN || (grant_.flags & SGPRS_GRANT_LEARNING) == 0) {
    return false;
  }
  const uint64_t range = grant_.upto - grant_.from;
  return range >= 8 && issued - s_->lane_base == grant_.from + range / 2;
}

void Issuer::Mark(bool whole) {
  Marker marker;
  marker.upto = s_->issued.load(std::memory_order_relaxed);
  marker.generation = s_->lane_generation;
  for (uint32_t i = 0; i < touched_count_; ++i) {
    VirtualStream* stream = touched_[i];
    if (!stream->used) continue;
    MarkerEvent* end = TheMarkerPool()->Take(stream->last_partition);
    if (end == nullptr) continue;
    SGPRS_REAL(cuEventRecord)(end->event, stream->last);
    marker.ends[marker.end_count++] = end;
  }
  if (start_ != nullptr) {
    TheMarkerPool()->AddReference(start_);
    marker.start = start_;
  }
  SgprsCompletion& c = marker.completion;
  c.grant = self_ ? 0 : grant_.sequence;
  c.first_issue_ns = first_issue_ns_;
  c.last_issue_ns = NowNs();
  c.job = grant_.job;
  c.stage = grant_.stage;
  c.partition = grant_.partition;
  c.flags = static_cast<uint16_t>((whole ? 0 : SGPRS_COMPLETION_PARTIAL) |
                                  (self_ ? SGPRS_COMPLETION_SELF : 0) |
                                  (switched_ ? SGPRS_COMPLETION_SWITCHED : 0));
  while (!TheMarkerQueue()->Push(marker)) {
    // 1024 markers under way: the device is far behind; waiting here is what a full driver queue
    // does.
    const timespec pause = ToTimespec(100 * kNsPerUs);
    nanosleep(&pause, nullptr);
  }
  marked_ = marker.upto;
  // Release pairs with TakeDeadRow(): rows up to here are in no list of ours any more.
  touched_count_ = 0;
  s_->marked.store(marked_, std::memory_order_release);
}

// --- sleeping ---

void Issuer::SleepForRecords() {
  const auto something = [this] {
    return s_->recorded.load(std::memory_order_seq_cst) !=
               s_->issued.load(std::memory_order_relaxed) ||
           s_->mode.load(std::memory_order_relaxed) == Mode::kExiting;
  };
  if (s_->online_cpus > 1) {
    for (int spin = 0; spin < 100; ++spin) {
      if (something()) return;
      SpinPause();
    }
  }
  if (self_) TryReconnect();
  SgprsDoorbell* bell = &s_->lane->issuer_doorbell;
  const uint32_t sequence = lane::Sequence(bell);
  Announce(bell, kAsleepForRecords);
  if (something()) {
    lane::CancelSleep(bell);
    return;
  }
  const bool unmarked = s_->issued.load(std::memory_order_relaxed) > marked_;
  lane::Sleep(bell, sequence, unmarked ? kIdleBeforeMarkNs : (self_ ? 100 * kNsPerMs : 0));
  if (unmarked && !something()) {
    FutexLock lock(&s_->issue_lock);
    Mark(false);
  }
}

void Issuer::SleepForGrant() {
  if (s_->issued.load(std::memory_order_relaxed) > marked_) {
    FutexLock lock(&s_->issue_lock);
    Mark(false);
  }
  SgprsDoorbell* bell = &s_->lane->issuer_doorbell;
  const uint32_t sequence = lane::Sequence(bell);
  Announce(bell, kAsleepForGrant);
  const bool published =
      std::atomic_ref<uint64_t>(s_->lane->grants_published).load(std::memory_order_seq_cst) !=
      s_->lane->grants_consumed;
  if (!published && s_->mode.load(std::memory_order_relaxed) != Mode::kExiting &&
      !HungUp(s_->control_fd)) {
    lane::Sleep(bell, sequence, kGrantCheckNs);
  }
  lane::CancelSleep(bell);
  const uint64_t now_ns = NowNs();
  if (published || (now_ns - last_check_ns_ < kGrantCheckNs && !HungUp(s_->control_fd))) return;
  last_check_ns_ = now_ns;
  if (waiting_since_ns_ == 0) waiting_since_ns_ = now_ns;
  // Insurance: a job that the runtime did not notice would wait for ever.
  lane::Ring(&s_->lane->runtime_doorbell);
  if (now_ns - waiting_since_ns_ > kLongestWaitNs) {
    ShimLog("no grant for %llu ms: going on without",
            static_cast<unsigned long long>((now_ns - waiting_since_ns_) / kNsPerMs));
    GoItself();
  } else if (RuntimeSilent()) {
    GoItself();
    SayOnce("sgprsd is gone or silent: this process goes on by itself and returns when it is back");
  }
}

// --- a new runtime ---

void Issuer::TryReconnect() {
  const uint64_t now_ns = NowNs();
  if (!pending_ready_) {
    if (now_ns - last_attempt_ns_ < 300 * kNsPerMs || !HungUp(s_->control_fd)) return;
    last_attempt_ns_ = now_ns;
    char reason[256];
    if (!Register(s_->facts, 1u << s_->backend->kind(), &pending_, reason, sizeof(reason))) return;
    pending_ready_ = true;
  }
  if (AdoptLane(pending_)) pending_ready_ = false;
}

bool Issuer::AdoptLane(const Registration& registration) {
  {
    FutexLock lock(&s_->issue_lock);
    if (s_->issued.load(std::memory_order_relaxed) > marked_) Mark(false);
  }
  FutexLock record(&s_->record_lock);
  FutexLock issue(&s_->issue_lock);
  const uint64_t index = s_->recorded.load(std::memory_order_relaxed);
  if (index != s_->issued.load(std::memory_order_relaxed) || !TheMarkerQueue()->Empty())
    return false;
  const SgprsWelcome& welcome = registration.welcome;
  const bool same_pool =
      welcome.partition_count == s_->partition_count &&
      memcmp(welcome.partitions, s_->plan, sizeof(SgprsPartitionPlan) * s_->partition_count) == 0;
  if (!same_pool) {
    LeavePool(s_);
    TheMarkerPool()->Forget();
    memcpy(s_->plan, welcome.partitions, sizeof(s_->plan));
    s_->partition_count = welcome.partition_count;
    ++s_->pool_generation;
    if (!s_->backend->Build(s_->facts, s_->plan, s_->partition_count, s_->sm_counts)) {
      s_->backend = NoneBackend();
      s_->backend->Build(s_->facts, s_->plan, s_->partition_count, s_->sm_counts);
    }
  }
  FutexLock lane(&s_->lane_lock);
  SgprsLaneHeader* old_lane = s_->lane;
  const uint64_t old_bytes = s_->lane_bytes;
  const int old_fd = s_->control_fd;
  const uint64_t self_granted = old_lane->counters.self_granted;
  s_->lane = registration.lane;
  s_->lane_bytes = registration.lane_bytes;
  s_->lane_base = index;
  s_->control_fd = registration.control_fd;
  ++s_->lane_generation;
  s_->lane->counters.self_granted = self_granted;
  s_->job_mark.store(true, std::memory_order_relaxed);  // what comes next begins a job
  self_ = false;
  have_grant_ = false;
  s_->silent_runtime.store(false, std::memory_order_relaxed);
  UnmapLane(old_lane, old_bytes, old_fd);
  SendReady(s_->control_fd, s_->backend->kind(), s_->sm_counts, s_->partition_count);
  ShimLog("registered with a new sgprsd");
  return true;
}

}  // namespace sgprs::shim
