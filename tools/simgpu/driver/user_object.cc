// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/user_object.h"

#include <climits>

#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/driver/graph.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/thread_state.h"

namespace sgprs::simgpu::driver {
namespace {

using UserObjectArena = Arena<UserObject, 1 << 16>;
UserObjectArena& UserObjects() {
  static auto* arena = new UserObjectArena();
  return *arena;
}

}  // namespace

void RetainUserObject(UserObject* object, unsigned int count) {
  object->references.fetch_add(count, std::memory_order_relaxed);  // the caller holds one
}

void ReleaseUserObject(UserObject* object, unsigned int count) {
  // acq_rel: the destructor sees the last use of every other holder.
  if (object->references.fetch_sub(count, std::memory_order_acq_rel) != count) return;
  UserObjects().Close(object);
  {
    InHostFunction scope;
    object->destroy(object->data);
  }
  UserObjects().Free(object);
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

CUresult EnterWithObject(CUuserObject handle, unsigned int count, UserObject** object) {
  if (CUresult status = Enter()) return status;
  *object = handle != nullptr ? UserObjects().Find(handle) : nullptr;
  const bool good = *object != nullptr && count > 0 && count <= INT_MAX;
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

SIM_API CUresult cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy,
                                    unsigned int initialRefcount, unsigned int flags) {
  if (CUresult status = Enter()) return status;
  if (object_out == nullptr || destroy == nullptr || initialRefcount == 0 ||
      initialRefcount > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  UserObject* object = UserObjects().New();
  if (object == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  object->data = ptr;
  object->destroy = destroy;
  object->references = initialRefcount;
  *object_out = reinterpret_cast<CUuserObject>(object);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuUserObjectRetain(CUuserObject handle, unsigned int count) {
  UserObject* object;
  if (CUresult bad = EnterWithObject(handle, count, &object)) return bad;
  RetainUserObject(object, count);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuUserObjectRelease(CUuserObject handle, unsigned int count) {
  UserObject* object;
  if (CUresult bad = EnterWithObject(handle, count, &object)) return bad;
  ReleaseUserObject(object, count);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuGraphRetainUserObject(CUgraph hGraph, CUuserObject handle, unsigned int count,
                                         unsigned int flags) {
  UserObject* object;
  if (CUresult bad = EnterWithObject(handle, count, &object)) return bad;
  Graph* graph = hGraph != nullptr ? Graphs().Find(hGraph) : nullptr;
  if (graph == nullptr || (flags & ~static_cast<unsigned int>(CU_GRAPH_USER_OBJECT_MOVE)) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (flags == 0) RetainUserObject(object, count);
  graph->user_objects[object] += count;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuGraphReleaseUserObject(CUgraph hGraph, CUuserObject handle, unsigned int count) {
  UserObject* object;
  if (CUresult bad = EnterWithObject(handle, count, &object)) return bad;
  Graph* graph = hGraph != nullptr ? Graphs().Find(hGraph) : nullptr;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto held = graph->user_objects.find(object);
  if (held == graph->user_objects.end() || held->second < count) return CUDA_ERROR_INVALID_VALUE;
  if ((held->second -= count) == 0) graph->user_objects.erase(held);
  ReleaseUserObject(object, count);
  return CUDA_SUCCESS;
}
