// SPDX-License-Identifier: Apache-2.0
// Several devices of one process: access to each other's memory, copies between contexts. Every
// device can access every other one, over the bus.
#include <algorithm>

#include "tools/simgpu/driver/array.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"
#include "tools/simgpu/driver/transfer.h"
#include "tools/simgpu/driver/visible_devices.h"

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

SIM_API CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  if (CUresult status = EnterWithDevice(dev)) return status;
  if (!DeviceExists(peerDev)) return CUDA_ERROR_INVALID_DEVICE;
  if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *canAccessPeer = dev != peerDev ? 1 : 0;
  return CUDA_SUCCESS;
}

SIM_API CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib,
                                         CUdevice srcDevice, CUdevice dstDevice) {
  if (CUresult status = EnterWithDevice(srcDevice)) return status;
  if (!DeviceExists(dstDevice) || srcDevice == dstDevice) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  switch (attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      return *value = 0, CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      return *value = 1, CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:  // over the bus there are none
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
      return *value = 0, CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      return *value = 1, CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

SIM_API CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  Context* peer;
  if (CUresult bad = FindContext(peerContext, false, &peer)) return bad;
  if (peer->root == context->root) return CUDA_ERROR_INVALID_CONTEXT;
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (peer->device == context->device) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  std::vector<Context*>& peers = context->root->peers;
  if (std::find(peers.begin(), peers.end(), peer->root) != peers.end()) {
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  }
  peers.push_back(peer->root);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  Context* peer;
  if (CUresult bad = FindContext(peerContext, false, &peer)) return bad;
  std::lock_guard<std::mutex> lock(ObjectMutex());
  const bool was = std::erase(context->root->peers, peer->root) > 0;
  return was ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

namespace {

// Both ends are memory of devices, each of the context that the call names.
CUresult PlanPeer(CUdeviceptr target, CUcontext target_handle, CUdeviceptr source,
                  CUcontext source_handle, size_t bytes, Transfer* transfer) {
  Context* to;
  Context* from;
  if (CUresult bad = FindContext(target_handle, true, &to)) return bad;
  if (CUresult bad = FindContext(source_handle, true, &from)) return bad;
  if (CUresult bad =
          PlanFlat(target, Side::kPeer, source, Side::kPeer, bytes, to->root, transfer)) {
    return bad;
  }
  if (bytes == 0) return CUDA_SUCCESS;
  const bool right = transfer->target.device && transfer->source.device &&
                     transfer->target.ordinal == to->device &&
                     (transfer->source.managed || transfer->source.ordinal == from->device);
  return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

SIM_API CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount) {
  Stream* stream;
  if (CUresult status = EnterWithStream(nullptr, &stream)) return status;
  Transfer transfer;
  if (CUresult bad = PlanPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, &transfer)) {
    return bad;
  }
  return CopySync(stream, transfer);
}
SIM_API CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream) {
  Stream* stream;
  if (CUresult status = EnterWithStream(hStream, &stream)) return status;
  Transfer transfer;
  if (CUresult bad = PlanPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, &transfer)) {
    return bad;
  }
  return CopyAsync(stream, transfer);
}
