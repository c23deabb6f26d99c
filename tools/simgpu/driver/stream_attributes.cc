// SPDX-License-Identifier: Apache-2.0
// Stream attributes. They are kept and given back; only the priority means something to the device.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/queue.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

namespace {

// Valid for streams (cuda.h, CUlaunchAttributeID).
bool IsStreamAttribute(CUstreamAttrID id) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
      return true;
    default:
      return false;
  }
}

// What a fresh stream has.
CUstreamAttrValue Default(const Stream& stream, CUstreamAttrID id) {
  CUstreamAttrValue value;
  memset(&value, 0, sizeof(value));
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) value.priority = stream.priority;
  if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value.syncPolicy = CU_SYNC_POLICY_AUTO;
  if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.memSyncDomainMap.remote = 1;
  return value;
}

// Of the stream's later work.
CUresult SetPriority(Stream* stream, int priority) {
  const auto& welcome = TheProcess().channel.welcome();
  stream->priority = std::clamp(priority, welcome.priority_greatest, welcome.priority_least);
  Submission submission(stream);
  if (!submission.Next(CommandKind::kStreamPriority, OpKind::kNothing)) return submission.status();
  submission.command().priority = stream->priority;
  submission.Commit();
  return submission.Publish();
}

}  // namespace

SIM_API CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      const CUstreamAttrValue* value) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (value == nullptr || !IsStreamAttribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) return SetPriority(stream, value->priority);
  std::lock_guard<std::mutex> lock(ObjectMutex());
  for (CUlaunchAttribute& known : stream->attributes) {
    if (known.id == attr) {
      known.value = *value;
      return CUDA_SUCCESS;
    }
  }
  CUlaunchAttribute fresh{};
  fresh.id = attr;
  fresh.value = *value;
  stream->attributes.push_back(fresh);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      CUstreamAttrValue* value_out) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  if (value_out == nullptr || !IsStreamAttribute(attr)) return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  *value_out = Default(*stream, attr);
  for (const CUlaunchAttribute& known : stream->attributes) {
    if (known.id == attr) *value_out = known.value;
  }
  return CUDA_SUCCESS;
}

SIM_API CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
  Stream* to;
  Stream* from;
  if (CUresult status = EnterWithStream(dst, &to)) return status;
  if (CUresult status = EnterWithStream(src, &from)) return status;
  // cuda.h: both of one context.
  if (to->view->root != from->view->root) return CUDA_ERROR_INVALID_VALUE;
  {
    std::lock_guard<std::mutex> lock(ObjectMutex());
    to->attributes = from->attributes;
  }
  return SetPriority(to, from->priority);
}
