// SPDX-License-Identifier: Apache-2.0
// Streams come and go; everything of a context.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

std::atomic<uint32_t> g_next_stream{1};  // the device's ids; never used again

CUresult Announce(const Stream& stream) {
  Command command{};
  command.kind = static_cast<uint32_t>(CommandKind::kStreamCreate);
  command.stream = stream.id;
  command.context = stream.view->root->id;
  command.priority = stream.priority;
  command.sm_limit = stream.view->root->sm_limit;
  if (stream.view->green != nullptr) {
    memcpy(command.sm_set, stream.view->green->sm_set, sizeof(command.sm_set));
  }
  return TheProcess().queue.SendControl(command);
}

// Makes it known to the device, not yet to the view.
CUresult NewStream(Context* view, unsigned int flags, int priority, Stream** out) {
  Stream* stream = Streams().New();
  if (stream == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  stream->id = g_next_stream.fetch_add(1, std::memory_order_relaxed);  // only has to be unique
  stream->unique_id = stream->id;
  stream->view = view;
  stream->flags = flags;
  stream->priority = priority;
  if (CUresult result = Announce(*stream)) {
    Streams().Close(stream);
    Streams().Free(stream);
    return result;
  }
  *out = stream;
  return CUDA_SUCCESS;
}

// Work submitted to the context before the stream was made may gate it (cuCtxWaitEvent).
CUresult WaitAtGates(Stream* stream) {
  std::vector<uint64_t> gates;
  {
    std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
    gates = stream->view->gates;
  }
  if (gates.empty()) return CUDA_SUCCESS;
  Submission submission(stream);
  for (uint64_t gate : gates) submission.WaitFor(gate);
  return submission.Publish();
}

void Collect(const Context* view, std::vector<uint64_t>* out) {
  const Queue& queue = TheProcess().queue;
  const Stream* legacy = view->legacy;
  if (legacy != nullptr && !queue.IsDone(legacy->last)) out->push_back(legacy->last);
  for (const Stream* stream : view->streams) {
    if (!queue.IsDone(stream->last)) out->push_back(stream->last);
  }
  for (const Context::Orphan& orphan : view->orphans) {
    if (!queue.IsDone(orphan.last)) out->push_back(orphan.last);
  }
}

}  // namespace

CUresult MakeStream(Context* view, unsigned int flags, int priority, Stream** out) {
  Process& process = TheProcess();
  if (CUresult result = process.executor.EnsureStarted()) return result;
  const Welcome& welcome = process.channel.welcome();
  priority = std::clamp(priority, welcome.priority_greatest, welcome.priority_least);
  if (CUresult result = NewStream(view, flags, priority, out)) return result;
  {
    std::lock_guard<std::mutex> lock(process.queue.mutex());
    view->streams.push_back(*out);
  }
  return WaitAtGates(*out);
}

CUresult LegacyStream(Context* view, Stream** stream) {
  Process& process = TheProcess();
  *stream = view->legacy.load(std::memory_order_acquire);  // pairs with the store below
  if (*stream != nullptr) return CUDA_SUCCESS;
  if (CUresult result = process.executor.EnsureStarted()) return result;
  Stream* made;
  if (CUresult result = NewStream(view, CU_STREAM_DEFAULT, 0, &made)) return result;
  made->legacy = true;
  {
    std::lock_guard<std::mutex> lock(process.queue.mutex());
    if (view->legacy == nullptr) view->legacy = made;
    *stream = view->legacy;
  }
  if (*stream != made) {  // another thread was first
    DropStream(made);
    return CUDA_SUCCESS;
  }
  return WaitAtGates(made);
}

void DropStream(Stream* stream) {
  if (!Streams().Close(stream)) return;
  Process& process = TheProcess();
  Command command{};
  command.kind = static_cast<uint32_t>(CommandKind::kStreamDestroy);
  command.stream = stream->id;
  command.context = stream->view->root->id;
  {
    std::lock_guard<std::mutex> lock(process.queue.mutex());
    Context* view = stream->view;
    std::erase(view->streams, stream);
    if (view->legacy == stream) view->legacy = nullptr;
    std::erase_if(view->orphans,
                  [&](const Context::Orphan& o) { return process.queue.IsDone(o.last); });
    if (!process.queue.IsDone(stream->last)) {
      view->orphans.push_back({stream->last, stream->blocking()});
    }
  }
  if (process.queue.SendControl(command) == CUDA_SUCCESS) Streams().Free(stream);
}

std::vector<uint64_t> LastCommands(Context* context) {
  std::vector<uint64_t> last;
  std::lock_guard<std::mutex> lock(TheProcess().queue.mutex());
  Collect(context, &last);
  for (const Context* view : context->views) Collect(view, &last);
  return last;
}

CUresult WaitForContext(Context* context) {
  for (uint64_t seq : LastCommands(context)) {
    if (CUresult result = TheProcess().queue.Wait(seq)) return result;
  }
  return static_cast<CUresult>(context->root->sticky.load());
}

}  // namespace sgprs::simgpu::driver
