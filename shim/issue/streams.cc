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

bool IsPerThread(const VirtualStream& v) { return v.thread != 0; }

// An event that stands for everything issued on `v`; nullptr if nothing was.
CUevent MarkTail(Session* s, VirtualStream* v) {
  if (!v->used) return nullptr;
  CUevent& event = v->tail_events[v->last_partition];
  if (event == nullptr) {
    if (v->last_partition < SGPRS_MAX_PARTITIONS) {
      event = s->backend->MakeEvent(v->last_partition, CU_EVENT_DISABLE_TIMING);
    } else {
      SGPRS_REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING);
    }
  }
  if (event == nullptr || SGPRS_REAL(cuEventRecord)(event, v->last) != CUDA_SUCCESS) return nullptr;
  return event;
}

void WaitFor(Session* s, VirtualStream* v, CUstream target) {
  if (CUevent event = MarkTail(s, v)) SGPRS_REAL(cuStreamWaitEvent)(target, event, 0);
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

VirtualStream* MakeRow(Session* s, CUstream anchor, uint32_t thread) {
  VirtualStream* v = new (std::nothrow) VirtualStream;
  if (v == nullptr) return nullptr;
  v->anchor = anchor;
  v->context = s->facts.context;
  v->thread = thread;
  v->legacy_null = anchor == nullptr;
  unsigned flags = CU_STREAM_DEFAULT;
  if (!v->legacy_null && thread == 0) {
    SGPRS_REAL(cuStreamGetFlags)(anchor, &flags);
    SGPRS_REAL(cuStreamGetPriority)(anchor, &v->priority);
  }
  v->blocking = !v->legacy_null && (flags & CU_STREAM_NON_BLOCKING) == 0;
  v->ordinal = v->legacy_null ? 0 : ++s->streams_made;
  v->next = s->streams;
  s->streams = v;
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

void DestroyStandIns(VirtualStream* v) {
  for (auto& pair : v->streams) {
    for (CUstream& stand_in : pair) {
      if (stand_in != nullptr && stand_in != v->anchor) SGPRS_REAL(cuStreamDestroy_v2)(stand_in);
      stand_in = nullptr;
    }
  }
  v->used = false;
  v->joined = true;
  v->last = nullptr;
}

// Makes all stand-ins of `v` at once: a later switch creates nothing.
void MakeStandIns(Session* s, VirtualStream* v) {
  const int greatest = s->facts.priority_greatest;
  for (uint32_t p = 0; p < s->partition_count; ++p) {
    v->streams[p][0] = s->backend->MakeStream(p, v->priority);
    v->streams[p][1] = s->backend->MakeStream(p, greatest);
  }
  v->streams_generation = s->pool_generation;
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
  static thread_local VirtualStream* latest = nullptr;
  VirtualStream* v = latest;
  // `dead` is read without the lock: the application may not destroy a stream while it uses it.
  if (v != nullptr && v->anchor == stream && v->thread == thread && !v->dead &&
      v->context == s->facts.context) {
    return v;
  }
  FutexLock record(&s->record_lock);
  for (v = s->streams; v != nullptr; v = v->next) {
    if (v->anchor == stream && v->thread == thread && !v->dead) return latest = v;
  }
  if (stream != nullptr && thread == 0 && !OfOurContext(s, stream)) return nullptr;
  FutexLock issue(&s->issue_lock);
  return latest = MakeRow(s, stream, thread);
}

CUstream PrepareTarget(Session* s, VirtualStream* v, uint32_t partition, SgprsLevel level,
                       bool wait_anchor, bool* switched) {
  *switched = false;
  if (partition >= s->partition_count) partition = 0;
  if (v->streams_generation != s->pool_generation) MakeStandIns(s, v);
  CUstream target = v->streams[partition][level == SGPRS_LEVEL_HIGH ? 1 : 0];
  if (target == nullptr) return nullptr;
  if (wait_anchor) {
    SGPRS_REAL(cuStreamWaitEvent)(target, v->anchor_event, 0);
    // The anchor followed everything before it was joined, so it covers the latest stand-in too.
  }
  if (v->used && v->last != target) {
    *switched = true;
    if (!wait_anchor || !v->joined) WaitFor(s, v, target);
  }
  FollowNullOrder(s, v, target);
  return target;
}

void NoteIssued(VirtualStream* v, CUstream target, uint32_t partition) {
  v->last = target;
  v->last_partition = partition;
  v->used = true;
  v->joined = false;
  ++v->issue_count;
}

bool JoinAnchor(Session* s, VirtualStream* v) {
  if (IsPerThread(*v) && v->thread != ThreadId()) return false;
  if (!v->used || v->joined) return true;
  if (v->last != v->anchor) WaitFor(s, v, v->anchor);
  v->joined = true;
  return true;
}

void DrainAll(Session* s) {
  if (s->lane == nullptr) return;
  // Other threads may go on recording; what this thread recorded is issued then, which is enough.
  WaitIssued(s, s->recorded.load(std::memory_order_acquire));
  s->record_lock.lock();
  s->issue_lock.lock();
  VirtualStream* null_stream = nullptr;
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v->dead) continue;
    if (v->legacy_null) null_stream = v;
    if (JoinAnchor(s, v)) v->anchor_dirty = true;
  }
  // Per-thread streams of other threads can not be named here, but the NULL stream follows them.
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v->dead || v->joined || !v->used) continue;
    WaitFor(s, v, nullptr);
    if (null_stream != nullptr) null_stream->anchor_dirty = true;
  }
  s->issue_lock.unlock();
  s->record_lock.unlock();
}

CUstream TailOf(Session* s, VirtualStream* v) {
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  return v->used && !v->anchor_dirty ? v->last : v->anchor;
}

void ForgetStream(Session* s, CUstream stream) {
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v->anchor != stream || v->dead || v->legacy_null || IsPerThread(*v)) continue;
    DestroyStandIns(v);
    v->dead = true;
  }
}

void ForgetContext(Session* s, CUcontext context) {
  FutexLock record(&s->record_lock);
  FutexLock issue(&s->issue_lock);
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (context != nullptr && v->context != context) continue;
    DestroyStandIns(v);
    v->dead = true;
  }
}

void DropStandIns(Session* s) {
  for (VirtualStream* v = s->streams; v != nullptr; v = v->next) {
    if (v->dead) continue;
    if (JoinAnchor(s, v)) v->anchor_dirty = true;
    DestroyStandIns(v);
    v->streams_generation = 0;
  }
}

}  // namespace sgprs::shim
