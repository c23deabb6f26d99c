// SPDX-License-Identifier: Apache-2.0
// Copies and fills of linear memory.
#include "tools/simgpu/cudart/error.h"

using namespace sgprs::simgpu::cudart;  // NOLINT: the API's functions have no namespace

namespace {

CUdeviceptr AsAddress(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

bool IsKind(cudaMemcpyKind kind) {
  return kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
}

CUmemorytype Side(bool device, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  return device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

// `copy` with one side's pointer in the field that its memory type reads.
CUDA_MEMCPY2D Describe2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  CUDA_MEMCPY2D copy{};
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  copy.srcMemoryType = Side(from_device, kind);
  copy.dstMemoryType = Side(to_device, kind);
  copy.srcHost = source;
  copy.srcDevice = AsAddress(source);
  copy.dstHost = target;
  copy.dstDevice = AsAddress(target);
  copy.srcPitch = source_pitch;
  copy.dstPitch = target_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

}  // namespace

RT_API cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes,
                                   enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (!IsKind(kind)) return Say(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  CUstream on = Resolve(stream);
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return Call(&Driver::cuMemcpyHtoDAsync, AsAddress(target), source, bytes, on);
    case cudaMemcpyDeviceToHost:
      return Call(&Driver::cuMemcpyDtoHAsync, target, AsAddress(source), bytes, on);
    case cudaMemcpyDeviceToDevice:
      return Call(&Driver::cuMemcpyDtoDAsync, AsAddress(target), AsAddress(source), bytes, on);
    default:
      return Call(&Driver::cuMemcpyAsync, AsAddress(target), AsAddress(source), bytes, on);
  }
}

RT_API cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes,
                              enum cudaMemcpyKind kind) {
  if (!IsKind(kind)) return Say(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  if (PerThreadDefaultStream::Active()) {
    if (cudaError_t bad = cudaMemcpyAsync(target, source, bytes, kind, cudaStreamPerThread)) {
      return bad;
    }
    return Call(&Driver::cuStreamSynchronize, CU_STREAM_PER_THREAD);
  }
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return Call(&Driver::cuMemcpyHtoD, AsAddress(target), source, bytes);
    case cudaMemcpyDeviceToHost:
      return Call(&Driver::cuMemcpyDtoH, target, AsAddress(source), bytes);
    case cudaMemcpyDeviceToDevice:
      return Call(&Driver::cuMemcpyDtoD, AsAddress(target), AsAddress(source), bytes);
    default:
      return Call(&Driver::cuMemcpy, AsAddress(target), AsAddress(source), bytes);
  }
}

RT_API cudaError_t cudaMemcpy2D(void* target, size_t target_pitch, const void* source,
                                size_t source_pitch, size_t width, size_t height,
                                enum cudaMemcpyKind kind) {
  if (!IsKind(kind)) return Say(cudaErrorInvalidMemcpyDirection);
  if (width == 0 || height == 0) return cudaSuccess;
  const CUDA_MEMCPY2D copy =
      Describe2D(target, target_pitch, source, source_pitch, width, height, kind);
  return Call(&Driver::cuMemcpy2DUnaligned, &copy);
}
RT_API cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source,
                                     size_t source_pitch, size_t width, size_t height,
                                     enum cudaMemcpyKind kind, cudaStream_t stream) {
  if (!IsKind(kind)) return Say(cudaErrorInvalidMemcpyDirection);
  if (width == 0 || height == 0) return cudaSuccess;
  const CUDA_MEMCPY2D copy =
      Describe2D(target, target_pitch, source, source_pitch, width, height, kind);
  return Call(&Driver::cuMemcpy2DAsync, &copy, Resolve(stream));
}

namespace {

// Device `device` means: the primary context of it. One device: this thread's.
cudaError_t SameDevice(int target, int source) {
  const int own = CurrentDevice();
  return target == own && source == own ? cudaSuccess : cudaErrorNotSupported;
}

}  // namespace

RT_API cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source,
                                       int source_device, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (cudaError_t bad = SameDevice(target_device, source_device)) return Say(bad);
  return Call(&Driver::cuMemcpyDtoDAsync, AsAddress(target), AsAddress(source), bytes,
              Resolve(stream));
}
RT_API cudaError_t cudaMemcpyPeer(void* target, int target_device, const void* source,
                                  int source_device, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  if (cudaError_t bad = SameDevice(target_device, source_device)) return Say(bad);
  return Call(&Driver::cuMemcpyDtoD, AsAddress(target), AsAddress(source), bytes);
}

RT_API cudaError_t cudaMemset(void* target, int value, size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  const auto byte = static_cast<unsigned char>(value);
  if (PerThreadDefaultStream::Active()) {
    return Call(&Driver::cuMemsetD8Async, AsAddress(target), byte, bytes, CU_STREAM_PER_THREAD);
  }
  return Call(&Driver::cuMemsetD8, AsAddress(target), byte, bytes);
}
RT_API cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  return Call(&Driver::cuMemsetD8Async, AsAddress(target), static_cast<unsigned char>(value), bytes,
              Resolve(stream));
}
RT_API cudaError_t cudaMemset2D(void* target, size_t pitch, int value, size_t width,
                                size_t height) {
  if (width == 0 || height == 0) return cudaSuccess;
  return Call(&Driver::cuMemsetD2D8, AsAddress(target), pitch, static_cast<unsigned char>(value),
              width, height);
}
RT_API cudaError_t cudaMemset2DAsync(void* target, size_t pitch, int value, size_t width,
                                     size_t height, cudaStream_t stream) {
  if (width == 0 || height == 0) return cudaSuccess;
  return Call(&Driver::cuMemsetD2D8Async, AsAddress(target), pitch,
              static_cast<unsigned char>(value), width, height, Resolve(stream));
}
