// SPDX-License-Identifier: Apache-2.0
// Handles to objects, and what is current.
#include "tools/simgpu/driver/objects.h"

#include <algorithm>

#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/thread_state.h"

namespace sgprs::simgpu::driver {

ContextArena& Contexts() {
  static auto* arena = new ContextArena();
  return *arena;
}
StreamArena& Streams() {
  static auto* arena = new StreamArena();
  return *arena;
}
EventArena& Events() {
  static auto* arena = new EventArena();
  return *arena;
}
GreenArena& Greens() {
  static auto* arena = new GreenArena();
  return *arena;
}
std::mutex& ObjectMutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

CUresult ContextStatus(const Context* context) {
  if (!context->usable.load(std::memory_order_acquire)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  // relaxed: an error is seen at the latest by the call after the wait that saw its command end.
  return static_cast<CUresult>(context->root->sticky.load(std::memory_order_relaxed));
}

CUresult CurrentContext(Context** context) {
  const ThreadState* thread = ThisThreadOrNull();
  if (thread == nullptr || thread->stack.empty() || thread->stack.back() == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *context = thread->stack.back();
  return ContextStatus(*context);
}

CUresult EnterWithContext(Context** context) {
  if (CUresult status = Enter()) return status;
  return CurrentContext(context);
}

CUresult FindContext(CUcontext handle, bool null_is_current, Context** context) {
  if (handle == nullptr) {
    return null_is_current ? CurrentContext(context) : CUDA_ERROR_INVALID_CONTEXT;
  }
  *context = Contexts().Find(handle);
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return ContextStatus(*context);
}

namespace {

CUresult PerThreadStream(Context* view, Stream** stream) {
  // With a green context current there is no per-thread default stream (cuda.h, cuStreamGetCtx).
  if (view->kind == Context::Kind::kGreenView) return CUDA_ERROR_INVALID_HANDLE;
  ThreadState* thread = ThisThread();
  auto [place, fresh] = thread->per_thread.try_emplace(view, nullptr);
  if (place->second == nullptr || Streams().Find(place->second) == nullptr) {
    if (CUresult result = MakeStream(view, CU_STREAM_DEFAULT, 0, &place->second)) {
      thread->per_thread.erase(place);
      return result;
    }
    place->second->per_thread = true;
  }
  *stream = place->second;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult FindStream(CUstream handle, Stream** stream) {
  Context* current;
  if (CUresult status = CurrentContext(&current)) return status;
  if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
    const bool per_thread =
        handle == CU_STREAM_PER_THREAD || (handle == nullptr && PerThreadDefaultStream::Active());
    return per_thread ? PerThreadStream(current, stream) : LegacyStream(current, stream);
  }
  *stream = Streams().Find(handle);
  if (*stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return ContextStatus((*stream)->view);
}

CUresult EnterWithStream(CUstream handle, Stream** stream) {
  if (CUresult status = Enter()) return status;
  return FindStream(handle, stream);
}

CUresult FindEvent(CUevent handle, Event** event) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *event = Events().Find(handle);
  if (*event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // relaxed: a reset that races with uses of the context's events is the program's own error.
  const uint32_t now = (*event)->root->generation.load(std::memory_order_relaxed);
  return (*event)->generation == now ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

void ReleaseEvent(Event* event) {
  // acq_rel: whoever frees it sees the last use of every other holder.
  if (event->references.fetch_sub(1, std::memory_order_acq_rel) == 1) Events().Free(event);
}

}  // namespace sgprs::simgpu::driver
