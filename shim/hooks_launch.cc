// SPDX-License-Identifier: Apache-2.0
// Kernel launches and host functions: recorded where everything about them is known, else handed to
// the driver at once, so that its immediate errors stay immediate.
#include <string.h>

#include "shim/hooks.h"
#include "shim/interpose/interpose.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

struct LaunchRequest {
  CUfunction function;
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  CUstream stream;
  bool per_thread_api;
  void** params;
  void** extra;
  const CUlaunchAttribute* attributes;
  uint32_t attribute_count;
  bool cooperative;
};

// The packed buffer of an `extra` list, or nullptr if the list is anything but BUFFER_POINTER and
// BUFFER_SIZE up to END.
const void* ExtraBuffer(void** extra, size_t* bytes) {
  const void* buffer = nullptr;
  *bytes = 0;
  for (int i = 0; i < 8 && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[i + 1];
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1] != nullptr) {
      *bytes = *static_cast<size_t*>(extra[i + 1]);
    } else {
      return nullptr;
    }
  }
  return buffer;
}

// Could the driver refuse this launch at once? Then it is the driver's.
bool LooksGood(const LaunchRequest& r, KernelInfo& info) {
  const uint64_t threads = uint64_t{r.block[0]} * r.block[1] * r.block[2];
  if (r.grid[0] == 0 || r.grid[1] == 0 || r.grid[2] == 0 || threads == 0) return false;
  if (r.grid[0] > 0x7fffffffu || r.grid[1] > 0xffffu || r.grid[2] > 0xffffu) return false;
  if (r.block[0] > 1024 || r.block[1] > 1024 || r.block[2] > 64) return false;
  if (threads > info.max_threads) return false;
  if (r.shared_bytes != 0 && r.shared_bytes > TheSession()->kernels.MostShared(&info)) return false;
  return (r.params != nullptr || r.extra != nullptr || info.param_count == 0) &&
         (r.params == nullptr || r.extra == nullptr);
}

bool ClusterFits(const LaunchRequest& r, const CUlaunchAttributeValue& value) {
  const auto& d = value.clusterDim;
  return d.x != 0 && d.y != 0 && d.z != 0 && r.grid[0] % d.x == 0 && r.grid[1] % d.y == 0 &&
         r.grid[2] % d.z == 0 && uint64_t{d.x} * d.y * d.z <= 8;  // more needs an opt-in
}

// Can a launch with these attributes be held? Settings of the one launch can; programmatic
// serialisation ties it to the kernel before, beside which it stays unless the partition changes,
// and then it simply waits; events are recorded in the launch, so they are noted as recorded by it.
// What else there is (or will be) is the driver's at once.
bool Holdable(const LaunchRequest& r) {
  if (r.attribute_count > 16) return false;
  for (uint32_t i = 0; i < r.attribute_count; ++i) {
    const CUlaunchAttribute& a = r.attributes[i];
    switch (a.id) {
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (!ClusterFits(r, a.value)) return false;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        if (a.value.programmaticEvent.event == nullptr || a.value.programmaticEvent.flags != 0 ||
            !TheEventTable()->Deferrable(a.value.programmaticEvent.event)) {
          return false;
        }
        break;
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        if (a.value.launchCompletionEvent.event == nullptr ||
            a.value.launchCompletionEvent.flags != 0 ||
            !TheEventTable()->Deferrable(a.value.launchCompletionEvent.event)) {
          return false;
        }
        break;
      default:
        return false;
    }
  }
  return true;
}

// Events that the launch records are recorded by the item before process index `upto`.
uint8_t NoteEvents(const LaunchRequest& r, uint64_t upto) {
  uint8_t flags = 0;
  for (uint32_t i = 0; i < r.attribute_count; ++i) {
    const CUlaunchAttribute& a = r.attributes[i];
    if (a.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
      TheEventTable()->Note(a.value.programmaticEvent.event, upto);
    } else if (a.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
      TheEventTable()->Note(a.value.launchCompletionEvent.event, upto);
    } else {
      continue;
    }
    flags = kEntryEvents;
  }
  return flags;
}

// Most parameters are pointers and numbers: no call for those.
inline void CopyParam(unsigned char* to, const void* from, uint16_t bytes) {
  if (bytes == 8) {
    memcpy(to, from, 8);
  } else if (bytes == 4) {
    memcpy(to, from, 4);
  } else {
    memcpy(to, from, bytes);
  }
}

void CopyParams(const LaunchRequest& r, const KernelInfo& info, unsigned char* to) {
  if (r.params != nullptr) {
    for (uint32_t i = 0; i < info.param_count; ++i) {
      CopyParam(to + info.params[i].offset_bytes, r.params[i], info.params[i].size_bytes);
    }
  } else if (r.extra != nullptr) {
    size_t bytes = 0;
    const void* buffer = ExtraBuffer(r.extra, &bytes);
    memcpy(to, buffer, bytes < info.param_bytes ? bytes : info.param_bytes);
  }
}

bool Cooperative(const LaunchRequest& r) {
  for (uint32_t i = 0; i < r.attribute_count; ++i) {
    if (r.attributes[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE &&
        r.attributes[i].value.cooperative) {
      return true;
    }
  }
  return r.cooperative;
}

// SGPRS_ESCAPE_NONE: the launch was recorded. Else why not.
SgprsEscape TryRecord(const LaunchRequest& r) {
  if (!Recording() && !AttachOnce()) return SGPRS_ESCAPE_UNSCHEDULED;
  Session* s = TheSession();
  KernelInfo* info = s->kernels.Find(r.function);
  if (info == nullptr && r.function != nullptr) info = s->kernels.Learn(r.function);
  if (info == nullptr || !info->recordable) return SGPRS_ESCAPE_PARAMETERS;
  if (!LooksGood(r, *info)) return SGPRS_ESCAPE_ARGUMENTS;
  if (!Holdable(r)) return SGPRS_ESCAPE_ATTRIBUTES;
  size_t extra_bytes = 0;
  if (r.extra != nullptr &&
      (ExtraBuffer(r.extra, &extra_bytes) == nullptr || extra_bytes < info->param_bytes)) {
    return SGPRS_ESCAPE_ARGUMENTS;
  }
  VirtualStream* stream = RecordableStream(r.stream, r.per_thread_api);
  if (stream == nullptr) return WhyNoStream();
  const uint32_t param_room = (info->param_bytes + 63) / 64 * 64;
  const uint32_t attribute_room =
      (r.attribute_count * static_cast<uint32_t>(sizeof(CUlaunchAttribute)) + 63) / 64 * 64;
  RecordScope scope(stream, EntryKind::kKernel, param_room + attribute_room);
  if (!scope) return SGPRS_ESCAPE_UNSCHEDULED;
  Entry* e = scope.entry();
  e->launch.function = r.function;
  e->launch.info = info;
  e->launch.params = scope.arena();
  for (int i = 0; i < 3; ++i) e->grid[i] = r.grid[i], e->block[i] = r.block[i];
  e->shared_bytes = r.shared_bytes;
  CopyParams(r, *info, scope.arena());
  if (Cooperative(r)) e->flags |= kEntryCooperative;
  e->attribute_count = r.attribute_count;
  if (r.attribute_count != 0) {
    e->flags |= kEntryAttributes | NoteEvents(r, scope.index() + 1);
    e->launch.attributes = reinterpret_cast<CUlaunchAttribute*>(scope.arena() + param_room);
    memcpy(e->launch.attributes, r.attributes, r.attribute_count * sizeof(CUlaunchAttribute));
  }
  scope.Commit(0);
  return SGPRS_ESCAPE_NONE;
}

LaunchRequest Plain(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned shared, CUstream stream, bool per_thread, void** params,
                    void** extra) {
  return {f,      {gx, gy, gz}, {bx, by, bz}, shared, stream, per_thread,
          params, extra,        nullptr,      0,      false};
}

LaunchRequest FromConfig(const CUlaunchConfig& c, CUfunction f, bool per_thread, void** params,
                         void** extra) {
  LaunchRequest r = Plain(f, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY,
                          c.blockDimZ, c.sharedMemBytes, c.hStream, per_thread, params, extra);
  r.attributes = c.attrs;
  r.attribute_count = c.attrs != nullptr ? c.numAttrs : 0;
  return r;
}

bool TryRecordHostFunction(CUstream stream, bool per_thread, CUhostFn function, void* data) {
  if (function == nullptr) return false;
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr) return false;
  RecordScope scope(row, EntryKind::kHostFunction, 0);
  if (!scope) return false;
  scope.entry()->host = {function, data};
  scope.Commit(0);
  return true;
}

bool TryRecordCallback(CUstream stream, bool per_thread, CUstreamCallback function, void* data,
                       unsigned flags) {
  if (function == nullptr || flags != 0) return false;
  VirtualStream* row = RecordableStream(stream, per_thread);
  if (row == nullptr) return false;
  RecordScope scope(row, EntryKind::kCallback, 0);
  if (!scope) return false;
  scope.entry()->callback = {function, data, stream};
  scope.Commit(0);
  return true;
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): hooks are outside it

#define SGPRS_LAUNCH_PARAMS                                                                   \
  CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
      unsigned shared, CUstream stream, void **params

#define SGPRS_LAUNCH_HOOK(symbol, per_thread)                                                   \
  extern "C" CUresult Hook_##symbol(SGPRS_LAUNCH_PARAMS, void** extra) {                        \
    if (Captured(stream, per_thread)) {                                                         \
      return SGPRS_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);      \
    }                                                                                           \
    const SgprsEscape why =                                                                     \
        TryRecord(Plain(f, gx, gy, gz, bx, by, bz, shared, stream, per_thread, params, extra)); \
    if (why == SGPRS_ESCAPE_NONE) return CUDA_SUCCESS;                                          \
    if (const CUresult refused = BeforeDirectLaunch(); refused != CUDA_SUCCESS) return refused; \
    return AfterDirectLaunch(                                                                   \
        SGPRS_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra), why);     \
  }
SGPRS_LAUNCH_HOOK(cuLaunchKernel, false)
SGPRS_LAUNCH_HOOK(cuLaunchKernel_ptsz, true)

#define SGPRS_COOPERATIVE_HOOK(symbol, per_thread)                                              \
  extern "C" CUresult Hook_##symbol(SGPRS_LAUNCH_PARAMS) {                                      \
    if (Captured(stream, per_thread)) {                                                         \
      return SGPRS_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params);             \
    }                                                                                           \
    LaunchRequest r =                                                                           \
        Plain(f, gx, gy, gz, bx, by, bz, shared, stream, per_thread, params, nullptr);          \
    r.cooperative = true;                                                                       \
    const SgprsEscape why = TryRecord(r);                                                       \
    if (why == SGPRS_ESCAPE_NONE) return CUDA_SUCCESS;                                          \
    if (const CUresult refused = BeforeDirectLaunch(); refused != CUDA_SUCCESS) return refused; \
    return AfterDirectLaunch(                                                                   \
        SGPRS_REAL(symbol)(f, gx, gy, gz, bx, by, bz, shared, stream, params), why);            \
  }
SGPRS_COOPERATIVE_HOOK(cuLaunchCooperativeKernel, false)
SGPRS_COOPERATIVE_HOOK(cuLaunchCooperativeKernel_ptsz, true)

#define SGPRS_LAUNCH_EX_HOOK(symbol, per_thread)                                                \
  extern "C" CUresult Hook_##symbol(const CUlaunchConfig* config, CUfunction f, void** params,  \
                                    void** extra) {                                             \
    SgprsEscape why = SGPRS_ESCAPE_ARGUMENTS;                                                   \
    if (config != nullptr) {                                                                    \
      if (Captured(config->hStream, per_thread)) {                                              \
        return SGPRS_REAL(symbol)(config, f, params, extra);                                    \
      }                                                                                         \
      why = TryRecord(FromConfig(*config, f, per_thread, params, extra));                       \
      if (why == SGPRS_ESCAPE_NONE) return CUDA_SUCCESS;                                        \
    }                                                                                           \
    if (const CUresult refused = BeforeDirectLaunch(); refused != CUDA_SUCCESS) return refused; \
    return AfterDirectLaunch(SGPRS_REAL(symbol)(config, f, params, extra), why);                \
  }
SGPRS_LAUNCH_EX_HOOK(cuLaunchKernelEx, false)
SGPRS_LAUNCH_EX_HOOK(cuLaunchKernelEx_ptsz, true)

#define SGPRS_HOST_HOOK(symbol, per_thread)                                              \
  extern "C" CUresult Hook_##symbol(CUstream stream, CUhostFn function, void* data) {    \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(stream, function, data); \
    if (TryRecordHostFunction(stream, per_thread, function, data)) return CUDA_SUCCESS;  \
    BeforeDirect();                                                                      \
    return SGPRS_REAL(symbol)(stream, function, data);                                   \
  }
SGPRS_HOST_HOOK(cuLaunchHostFunc, false)
SGPRS_HOST_HOOK(cuLaunchHostFunc_ptsz, true)

#define SGPRS_CALLBACK_HOOK(symbol, per_thread)                                                 \
  extern "C" CUresult Hook_##symbol(CUstream stream, CUstreamCallback function, void* data,     \
                                    unsigned flags) {                                           \
    if (Captured(stream, per_thread)) return SGPRS_REAL(symbol)(stream, function, data, flags); \
    if (TryRecordCallback(stream, per_thread, function, data, flags)) return CUDA_SUCCESS;      \
    BeforeDirect();                                                                             \
    return SGPRS_REAL(symbol)(stream, function, data, flags);                                   \
  }
SGPRS_CALLBACK_HOOK(cuStreamAddCallback, false)
SGPRS_CALLBACK_HOOK(cuStreamAddCallback_ptsz, true)
