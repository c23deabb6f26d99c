// SPDX-License-Identifier: Apache-2.0
// Contexts, streams and events behind their handles.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_OBJECTS_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_OBJECTS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tools/simgpu/driver/api.h"
#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu::driver {

struct Stream;
class Capture;

inline constexpr uint32_t kPrimaryContext = 1;  // of physical device 0 (protocol.h)

// A CUcontext. Slots of contexts are never used again. A green context has two handles: CUgreenCtx
// (GreenContext below) and the CUcontext that cuCtxFromGreenCtx returns, which is a `view` of the
// primary context: memory, modules, events belong to the root, streams to the view.
struct Context {
  struct Orphan {
    uint64_t last;
    bool blocking;
  };
  enum class Kind { kPrimary, kExplicit, kGreenView };
  Kind kind = Kind::kPrimary;
  uint32_t id = 0;  // the device's
  CUdevice device = 0;
  uint64_t unique_id = 0;
  Context* root = nullptr;  // itself, but for green views
  struct GreenContext* green = nullptr;
  unsigned int flags = 0;
  unsigned int api_version = 3020;
  uint32_t sm_limit = 0;  // SM affinity, 0 = none
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  size_t limits[CU_LIMIT_MAX] = {};
  std::atomic<bool> usable{false};       // false: destroyed, or primary not active
  std::atomic<uint32_t> generation{0};   // root only: how often it was torn down
  std::atomic<uint32_t> sticky{0};       // CUresult that every later call gets; root only
  std::atomic<Stream*> legacy{nullptr};  // default stream, made at first use; set under the mutex
  // Under Queue::mutex().
  std::vector<Stream*> streams;  // of this view, without `legacy`
  std::vector<Orphan> orphans;   // destroyed streams whose work may not have ended
  std::vector<Context*> views;   // root only: its green contexts
  std::vector<Context*> peers;   // cuCtxEnablePeerAccess; under ObjectMutex()
  int attached = 0;              // cuCtxAttach; under ObjectMutex()
  std::vector<uint64_t> gates;   // commands that every later stream waits for (CtxWaitEvent)
};

struct GreenContext {
  Context* view = nullptr;
  uint64_t sm_set[kSmWords] = {};
  uint32_t sm_count = 0;
};

struct Stream {
  uint32_t id = 0;  // the device's
  uint64_t unique_id = 0;
  Context* view = nullptr;
  unsigned int flags = 0;  // CU_STREAM_NON_BLOCKING
  int priority = 0;
  bool legacy = false;
  bool per_thread = false;
  std::atomic<Capture*> capture{nullptr};
  std::vector<CUlaunchAttribute> attributes;  // set by the program; under ObjectMutex()
  // Under Queue::mutex().
  uint64_t last = 0;              // newest command
  uint64_t joined_legacy = 0;     // the default stream's command that this one waits for
  uint64_t joined_by_legacy = 0;  // our command that the default stream waits for
  uint64_t count = 0;             // commands so far
  uint64_t held_block = 0;        // see Submission::HoldBack
  uint64_t checkpoints[4] = {};   // first commands of the newest blocks

  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

struct Event {
  Context* root = nullptr;
  uint32_t generation = 0;  // of the root, when the event was made
  unsigned int flags = 0;
  std::atomic<int> references{1};   // the handle, and each record in flight
  std::atomic<uint64_t> record{0};  // newest record's command, 0 = never recorded
  std::atomic<uint64_t> stamp_ns{0};
  std::atomic<Capture*> capture{nullptr};
};

using ContextArena = Arena<Context, 4096>;
using StreamArena = Arena<Stream, 65536>;
using EventArena = Arena<Event, 1 << 18>;
using GreenArena = Arena<GreenContext, 4096>;
ContextArena& Contexts();
StreamArena& Streams();
EventArena& Events();
GreenArena& Greens();

// The lock of everything that makes and destroys objects. Before Queue::mutex().
std::mutex& ObjectMutex();

// Current context of this thread. INVALID_CONTEXT: none; CONTEXT_IS_DESTROYED; sticky errors.
CUresult CurrentContext(Context** context);
// Enter() and CurrentContext().
CUresult EnterWithContext(Context** context);
// Context behind a handle, which must be usable; NULL = the current one where `null_is_current`.
CUresult FindContext(CUcontext handle, bool null_is_current, Context** context);
// Error that calls on this context get, if any.
CUresult ContextStatus(const Context* context);

// Enter(), then the stream behind a handle: NULL, legacy, per-thread, or one that lives.
CUresult EnterWithStream(CUstream handle, Stream** stream);
CUresult FindStream(CUstream handle, Stream** stream);
// Makes a stream of `view`. Not under Queue::mutex().
CUresult MakeStream(Context* view, unsigned int flags, int priority, Stream** stream);
// Closes the handle and tells the device; its work goes on.
void DropStream(Stream* stream);
// The default stream of a view, made at first use.
CUresult LegacyStream(Context* view, Stream** stream);
// Blocks until everything submitted to the context (a root: its views too) has ended.
CUresult WaitForContext(Context* context);
// Everything of every stream of the view: the last commands. Takes Queue::mutex().
std::vector<uint64_t> LastCommands(Context* context);

// The event behind a handle, or INVALID_HANDLE.
CUresult FindEvent(CUevent handle, Event** event);
void ReleaseEvent(Event* event);

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_OBJECTS_H_
