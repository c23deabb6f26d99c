// SPDX-License-Identifier: Apache-2.0
#include "shim/issue/streams.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "shim/interpose/interpose.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

uint32_t ThreadId() {
  static thread_local uint32_t id = 0;
  static thread_local int32_t id_pid = 0;
  const int32_t pid = TheSession()->pid;
  if (id == 0 || id_pid != pid) {
    id = static_cast<uint32_t>(syscall(SYS_gettid));
    id_pid = pid;
  }
  return id;
}

// The scheduled context is current meanwhile: NULL and per-thread streams are of whatever is.
class InOurContext {
 public:
  explicit InOurContext(const Session* s) {
    CUcontext current = nullptr;
    SGPRS_REAL(cuCtxGetCurrent)(&current);
    pushed_ = current != s->facts.context &&
              SGPRS_REAL(cuCtxPushCurrent_v2)(s->facts.context) == CUDA_SUCCESS;
  }
  ~InOurContext() {
    CUcontext popped = nullptr;
    if (pushed_) SGPRS_REAL(cuCtxPopCurrent_v2)(&popped);
  }
  InOurContext(const InOurContext&) = delete;
  InOurContext& operator=(const InOurContext&) = delete;

 private:
  bool pushed_;
};

bool IsPerThread(const VirtualStream& v) { return v.thread != 0; }

// The event that stands for the tail of `v`; nullptr: none can be made.
CUevent TailEvent(Session* s, VirtualStream* v) {
  if (v->tail_generation != s->pool_generation) {
    // Events of a pool that is gone may belong to contexts that are gone.
    for (CUevent& old : v->tail_events) old = nullptr;
    v->tail_generation = s->pool_generation;
  }
  CUevent& event = v->tail_events[v->last_partition];
  if (event == nullptr) {
    if (v->last_partition < SGPRS_MAX_PARTITIONS) {
      event = s->backend->MakeEvent(v->last_partition, CU_EVENT_DISABLE_TIMING);
    } else {
      const InOurContext in_ours(s);
      SGPRS_REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);
    }
  }
  return event;
}

// Makes `target` follow everything issued on `v`.
void WaitFor(Session* s, VirtualStream* v, CUstream target) {
  if (!v->used) return;
  CUevent event = TailEvent(s, v);
  // While its anchor captures, what went there before has its event already (EnterCapture).
  const bool recorded = v->capture != 0 && v->last == v->anchor;
  if (event != nullptr && (recorded || SGPRS_REAL(cuEventRecord)(event, v->last) == CUDA_SUCCESS) &&
      SGPRS_REAL(cuStreamWaitEvent)(target, event, 0) == CUDA_SUCCESS) {
    return;
  }
  // No event: order is kept by waiting here.
  ShimLog("no event for the tail of stream %u", v->ordinal);
  SGPRS_REAL(cuStreamSynchronize)(v->last);
}

// Legacy NULL stream and blocking streams of one context follow each other.
void FollowNullOrder(Session* s, VirtualStream* v, CUstream target) {
  if (!v->legacy_null && !v->blocking) return;
  for (VirtualStream* other = s->streams; other != nullptr; other = other->next) {
    if (other == v || other->context != v->context || !other->used) continue;
    if (v->legacy_null && other->blocking && other->seen_by_null != other->issue_count) {
      WaitFor(s, other, target);
      other->seen_by_null = other->issue_count;
    } else if (v->blocking && other->legacy_null && v->null_seen != other->issue_count) {
      WaitFor(s, other, target);
      v->null_seen = other->issue_count;
    }
  }
}

// A row whose stream is gone and whose work is complete; keeps its stand-ins.
VirtualStream* TakeDeadRow(Session* s) {
  const uint64_t completed = s->completed.load(std::memory_order_acquire);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (!v->dead || v->recorded_upto.load(std::memory_order_relaxed) > completed) continue;
    v->used = false;
    v->joined = true;
    v->last = nullptr;
    v->clean_epoch = 0;
    v->null_seen = 0;
    v->seen_by_null = v->issue_count;
    v->capture = 0;
    if (v->attributes != nullptr) {  // its stand-ins have them: made anew
      delete v->attributes;
      v->attributes = nullptr;
      v->streams_generation = 0;
    }
    return v;
  }
  return nullptr;
}

// Both locks held.
VirtualStream* MakeRow(Session* s, CUstream anchor, uint32_t thread) {
  VirtualStream* v = TakeDeadRow(s);
  const bool fresh = v == nullptr;
  if (fresh) v = new (std::nothrow) VirtualStream;
  if (v == nullptr) return nullptr;
  const int old_priority = v->priority;
  v->anchor = anchor;
  v->context = s->facts.context;
  v->thread = thread;
  v->legacy_null = anchor == nullptr;
  v->priority = 0;
  unsigned flags = CU_STREAM_DEFAULT;
  if (!v->legacy_null && thread == 0) {
    SGPRS_REAL(cuStreamGetFlags)(anchor, &flags);
    SGPRS_REAL(cuStreamGetPriority)(anchor, &v->priority);
  }
  v->blocking = !v->legacy_null && (flags & CU_STREAM_NON_BLOCKING) == 0;
  v->ordinal = v->legacy_null ? 0 : ++s->streams_made;
  if (v->priority != old_priority) v->streams_generation = 0;
  v->dead.store(false, std::memory_order_relaxed);  // read under the record lock
  if (fresh) {
    v->next = s->streams;
    s->streams = v;
  }
  return v;
}

// Is `stream` one of the scheduled context? Asks the driver.
bool OfOurContext(Session* s, CUstream stream) {
  CUcontext context = nullptr;
  if (stream == nullptr || stream == CU_STREAM_PER_THREAD) {
    return SGPRS_REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS && context == s->facts.context;
  }
  if (SGPRS_REAL(cuStreamGetCtx)(stream, &context) != CUDA_SUCCESS) return false;
  if (context != s->facts.context) return false;
  if (SGPRS_HAS(cuStreamGetGreenCtx)) {
    CUgreenCtx green = nullptr;  // the application's own partitioning is left alone
    if (SGPRS_REAL(cuStreamGetGreenCtx)(stream, &green) == CUDA_SUCCESS && green != nullptr) {
      return false;
    }
  }
  return true;
}

void PassOnAttribute(VirtualStream* v, CUstreamAttrID id, const CUstreamAttrValue& value) {
  for (auto& of_partition : v->streams) {
    for (CUstream stream : of_partition) {
      if (stream != nullptr) SGPRS_REAL(cuStreamSetAttribute)(stream, id, &value);
    }
  }
}

// Makes all stand-ins of `v` at once: a later switch creates nothing.
void MakeStandIns(Session* s, VirtualStream* v) {
  const int least = s->facts.priority_least;
  const int greatest = s->facts.priority_greatest;
  // Best effort gives way to everyone; above it the level decides, and within the lower level what
  // the application asked for, as far as it leaves the high level alone.
  int ordinary = least;
  if (!s->best_effort) {
    ordinary = (least + greatest) / 2;
    if (v->priority < 0 && ordinary - 1 > greatest) --ordinary;
  }
  const int high = s->best_effort ? least : greatest;
  for (uint32_t p = 0; p < s->partition_count; ++p) {
    v->streams[p][0] = s->backend->MakeStream(p, ordinary);
    v->streams[p][1] = s->backend->MakeStream(p, high);
  }
  v->streams_generation = s->pool_generation;
  for (uint32_t i = 0; v->attributes != nullptr && i < kKeptCount; ++i) {
    if (v->attributes->set[i]) PassOnAttribute(v, kKeptAttributes[i], v->attributes->values[i]);
  }
}

// What this thread asked for last.
struct LatestRow {
  VirtualStream* row = nullptr;
  CUstream stream = nullptr;
  uint32_t thread = 0;
  uint64_t forgotten = 0;  // Session::streams_forgotten when it was found
};

// A row is given up: its work goes on, its handle may come again. Both locks held.
void GiveUp(Session* s, VirtualStream* v) {
  v->dead.store(true, std::memory_order_relaxed);  // read under the record lock
  // Release pairs with FindStream().
  s->streams_forgotten.fetch_add(1, std::memory_order_release);
}

}  // namespace

VirtualStream* FindStream(Session* s, CUstream stream, bool per_thread_api) {
  if (stream == CU_STREAM_LEGACY)
    stream = nullptr;
  else if (stream == nullptr && per_thread_api)
    stream = CU_STREAM_PER_THREAD;
  const uint32_t thread = stream == CU_STREAM_PER_THREAD ? ThreadId() : 0;
  // The NULL and per-thread streams are of whatever context is current.
  if ((stream == nullptr || thread != 0) && !OfOurContext(s, stream)) return nullptr;
  static thread_local LatestRow latest;
  // Acquire pairs with the release in Forget...(): a row that was given up, and may be somebody
  // else's by now, is not looked at. The application may not destroy a stream while it uses it.
  const uint64_t forgotten = s->streams_forgotten.load(std::memory_order_acquire);
  if (latest.row != nullptr && latest.forgotten == forgotten && latest.stream == stream &&
      latest.thread == thread && latest.row->context == s->facts.context) {
    return latest.row;
  }
  FutexLock record(&s->record_lock);
  VirtualStream* v = s->streams;
  while (v != nullptr && (v->anchor != stream || v->thread != thread || v->dead)) v = v->next;
  if (v == nullptr) {
    if (stream != nullptr && thread == 0 && !OfOurContext(s, stream)) return nullptr;
    FutexLock issue(&s->issue_lock);
    if (thread != 0) NoteThreadState();
    v = MakeRow(s, stream, thread);
  }
  latest = {v, stream, thread, forgotten};
  return v;
}

CUstream PrepareTarget(Session* s, VirtualStream* v, uint32_t partition, SgprsLevel level,
                       bool wait_anchor, bool* switched) {
  *switched = false;
  if (partition >= s->partition_count) partition = 0;
  if (v->streams_generation != s->pool_generation) MakeStandIns(s, v);
  CUstream target = v->streams[partition][level == SGPRS_LEVEL_HIGH ? 1 : 0];
  // The issuer can not name another thread's own stream: such an item goes by the NULL stream.
  const CUstream anchor = IsPerThread(*v) ? nullptr : v->anchor;
  const CUstream follower = target != nullptr ? target : anchor;
  if (wait_anchor && target != nullptr) {
    SGPRS_REAL(cuStreamWaitEvent)(target, v->anchor_event, 0);
  }
  if (v->used && v->last != follower) {
    *switched = true;
    WaitFor(s, v, follower);
  }
  FollowNullOrder(s, v, follower);
  return target;
}

void FollowStream(Session* s, VirtualStream* v, CUstream target) { WaitFor(s, v, target); }

void NoteIssued(VirtualStream* v, CUstream target, uint32_t partition) {
  v->last = target;
  v->last_partition = partition;
  v->used = true;
  v->joined = false;
  ++v->issue_count;
}

void EnterCapture(Session* s, VirtualStream* v, uint64_t id) {
  if (v->used && v->last == v->anchor) {
    if (CUevent event = TailEvent(s, v)) SGPRS_REAL(cuEventRecord)(event, v->anchor);
  }
  v->capture = id;
}

void LeaveCapture(Session* s, uint64_t id) {
  if (id == 0) return;
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v->capture == id) v->capture = 0;
  }
}

bool JoinAnchor(Session* s, VirtualStream* v) {
  if (IsPerThread(*v) && v->thread != ThreadId()) return false;
  if (!v->used || v->joined) return true;
  if (v->last != v->anchor) WaitFor(s, v, v->anchor);
  v->joined = true;
  return true;
}

void DrainAll(Session* s) {
  // Other threads may go on recording; what this thread recorded is issued then, which is enough.
  WaitIssued(s, s->recorded.load(std::memory_order_acquire));
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  if (s->lane == nullptr) return;
  const InOurContext in_ours(s);
  // The NULL stream may not be used while a stream that orders itself with it captures.
  bool no_null = false;
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    no_null = no_null || (v->capture != 0 && v->blocking);
  }
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (!v->used || v->joined || v->capture != 0 || (no_null && v->legacy_null)) continue;
    // What can not be named here (another thread's per-thread stream, a destroyed stream) is
    // followed by the NULL stream, as the driver itself would have it.
    if (!v->dead && JoinAnchor(s, v)) continue;
    if (v->blocking && no_null) continue;
    if (v->blocking) WaitFor(s, v, nullptr);
    if (v->dead) v->joined = true;
  }
}

uint32_t TailsOf(Session* s, VirtualStream* row, CUstream* tails, uint32_t room) {
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  uint32_t count = 0;
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v != row && !(row->legacy_null && v->blocking)) continue;
    if (!v->used || v->last == v->anchor) continue;
    if (count == room) return room + 1;
    tails[count++] = v->last;
  }
  return count;
}

void SetAttribute(Session* s, VirtualStream* v, CUstreamAttrID id, const CUstreamAttrValue& value) {
  FutexLock issue(&s->issue_lock);
  for (uint32_t i = 0; i < kKeptCount; ++i) {
    if (kKeptAttributes[i] != id) continue;
    if (v->attributes == nullptr) v->attributes = new (std::nothrow) StreamAttributes;
    if (v->attributes == nullptr) return;
    v->attributes->set[i] = true;
    v->attributes->values[i] = value;
    PassOnAttribute(v, id, value);
  }
}

void ForgetStream(Session* s, CUstream stream) {
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v->anchor == stream && !v->legacy_null && !IsPerThread(*v)) GiveUp(s, v);
  }
}

void ForgetThread(Session* s) {
  const uint32_t thread = ThreadId();
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v->thread == thread) GiveUp(s, v);
  }
}

void ForgetAllStreams(Session* s) {
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) GiveUp(s, v);
}

void LeavePool(Session* s) {
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (!v->used) continue;
    if (!JoinAnchor(s, v)) SGPRS_REAL(cuStreamSynchronize)(v->last);
    v->used = false;
    v->joined = true;
    v->streams_generation = 0;
  }
  // The anchors hold it all now.
  s->direct_epoch.fetch_add(1, std::memory_order_release);
}

}  // namespace sgprs::shim
