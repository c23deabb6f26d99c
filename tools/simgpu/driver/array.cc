// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/array.h"

#include <algorithm>

#include "tools/simgpu/driver/capture.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

using ArrayArena = Arena<Array, 1 << 16>;
ArrayArena& Arrays() {
  static auto* arena = new ArrayArena();
  return *arena;
}
using MipmapArena = Arena<MipmappedArray, 1 << 14>;
MipmapArena& Mipmaps() {
  static auto* arena = new MipmapArena();
  return *arena;
}

constexpr size_t kMostWidth = 131072;
constexpr size_t kMostHeight = 65536;
constexpr size_t kMostDepth = 16384;

// Bytes of one channel; 0: not a format of plain channels.
size_t ChannelBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

CUresult CheckDescriptor(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  constexpr unsigned int kKnown = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                  CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
  if (d.Width == 0 || d.Width > kMostWidth || d.Height > kMostHeight || d.Depth > kMostDepth) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (ChannelBytes(d.Format) == 0) return CUDA_ERROR_NOT_SUPPORTED;  // planes, blocks
  if ((d.Flags & ~kKnown) != 0) return CUDA_ERROR_NOT_SUPPORTED;     // sparse, depth, deferred
  const bool layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  if ((d.Flags & CUDA_ARRAY3D_CUBEMAP) != 0) {
    const bool cube = d.Width == d.Height && (layered ? d.Depth % 6 == 0 : d.Depth == 6);
    if (!cube) return CUDA_ERROR_INVALID_VALUE;
  }
  if (layered && d.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  // Depth without height is a 1D array in layers, or nothing.
  return !layered && d.Depth > 0 && d.Height == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult MakeArray(Context* root, const CUDA_ARRAY3D_DESCRIPTOR& d, Array** out) {
  Array* array = Arrays().New();
  if (array == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  array->root = root;
  array->generation = root->generation.load();
  array->descriptor = d;
  array->element_bytes = ChannelBytes(d.Format) * d.NumChannels;
  array->row_bytes = array->element_bytes * d.Width;
  array->rows = std::max<size_t>(d.Height, 1);
  array->slices = std::max<size_t>(d.Depth, 1);
  Allocation what;
  what.kind = MemoryKind::kDevice;
  what.bytes = array->slice_bytes() * array->slices;
  what.device = root->device;
  what.owner = root;
  what.module = true;  // not the program's to free
  const CUresult result = Memory().Allocate(what, &array->memory);
  if (result == CUDA_SUCCESS) {
    *out = array;
  } else {
    Arrays().Close(array);
    Arrays().Free(array);
  }
  return result;
}

void DropArray(Array* array) {
  if (!Arrays().Close(array)) return;
  Memory().Free(array->memory);
  Arrays().Free(array);
}

CUresult EnterToMake(Context** context) {
  if (CUresult status = EnterWithContext(context)) return status;
  return CaptureActive() ? RefuseUnsafe() : CUDA_SUCCESS;
}

CUresult EnterWithArray(CUarray handle, Array** array) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  return FindArray(handle, array);
}

CUresult EnterWithMipmap(CUmipmappedArray handle, MipmappedArray** mipmap) {
  Context* context;
  if (CUresult status = EnterWithContext(&context)) return status;
  *mipmap = handle != nullptr ? Mipmaps().Find(handle) : nullptr;
  if (*mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return (*mipmap)->generation == (*mipmap)->root->generation.load() ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_HANDLE;
}

void DropMipmap(MipmappedArray* mipmap) {
  if (!Mipmaps().Close(mipmap)) return;
  for (Array* level : mipmap->levels) DropArray(level);
  Mipmaps().Free(mipmap);
}

}  // namespace

CUresult FindArray(CUarray handle, Array** array) {
  *array = handle != nullptr ? Arrays().Find(handle) : nullptr;
  if (*array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return (*array)->generation == (*array)->root->generation.load() ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace sgprs::simgpu::driver

using namespace sgprs::simgpu::driver;  // NOLINT: the API's functions have no namespace

SIM_API CUresult cuArray3DCreate_v2(CUarray* pHandle,
                                    const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  Context* context;
  if (CUresult status = EnterToMake(&context)) return status;
  if (pHandle == nullptr || pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (CUresult bad = CheckDescriptor(*pAllocateArray)) return bad;
  Array* array;
  if (CUresult result = MakeArray(context->root, *pAllocateArray, &array)) return result;
  *pHandle = reinterpret_cast<CUarray>(array);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  if (pAllocateArray == nullptr) return cuArray3DCreate_v2(pHandle, nullptr);
  CUDA_ARRAY3D_DESCRIPTOR wide{};
  wide.Width = pAllocateArray->Width;
  wide.Height = pAllocateArray->Height;
  wide.Format = pAllocateArray->Format;
  wide.NumChannels = pAllocateArray->NumChannels;
  return cuArray3DCreate_v2(pHandle, &wide);
}

SIM_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor,
                                           CUarray hArray) {
  Array* array;
  if (CUresult bad = EnterWithArray(hArray, &array)) return bad;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pArrayDescriptor = array->descriptor;
  return CUDA_SUCCESS;
}
SIM_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  Array* array;
  if (CUresult bad = EnterWithArray(hArray, &array)) return bad;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR& d = array->descriptor;
  *pArrayDescriptor = CUDA_ARRAY_DESCRIPTOR{d.Width, d.Height, d.Format, d.NumChannels};
  return CUDA_SUCCESS;
}

SIM_API CUresult cuArrayDestroy(CUarray hArray) {
  Array* array;
  if (CUresult bad = EnterWithArray(hArray, &array)) return bad;
  if (array->of_mipmap) return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult result = WaitForContext(array->root)) return result;
  DropArray(array);
  return CUDA_SUCCESS;
}

SIM_API CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle,
                                        const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc,
                                        unsigned int numMipmapLevels) {
  Context* context;
  if (CUresult status = EnterToMake(&context)) return status;
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr || numMipmapLevels == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUDA_ARRAY3D_DESCRIPTOR level = *pMipmappedArrayDesc;
  if (CUresult bad = CheckDescriptor(level)) return bad;
  MipmappedArray* mipmap = Mipmaps().New();
  if (mipmap == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  mipmap->root = context->root;
  mipmap->generation = context->root->generation.load();
  const bool layered = (level.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  for (unsigned int i = 0; i < numMipmapLevels; ++i) {  // clamped to the last, 1 x 1 x 1
    Array* array;
    if (CUresult result = MakeArray(context->root, level, &array)) {
      DropMipmap(mipmap);
      return result;
    }
    array->of_mipmap = true;
    mipmap->levels.push_back(array);
    const bool last = level.Width == 1 && level.Height <= 1 && (layered || level.Depth <= 1);
    if (last) break;
    level.Width = std::max<size_t>(level.Width / 2, 1);
    if (level.Height > 1) level.Height /= 2;
    if (level.Depth > 1 && !layered) level.Depth /= 2;
  }
  *pHandle = reinterpret_cast<CUmipmappedArray>(mipmap);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray,
                                          unsigned int level) {
  MipmappedArray* mipmap;
  if (CUresult bad = EnterWithMipmap(hMipmappedArray, &mipmap)) return bad;
  if (pLevelArray == nullptr || level >= mipmap->levels.size()) return CUDA_ERROR_INVALID_VALUE;
  *pLevelArray = reinterpret_cast<CUarray>(mipmap->levels[level]);
  return CUDA_SUCCESS;
}
SIM_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  MipmappedArray* mipmap;
  if (CUresult bad = EnterWithMipmap(hMipmappedArray, &mipmap)) return bad;
  if (CUresult result = WaitForContext(mipmap->root)) return result;
  DropMipmap(mipmap);
  return CUDA_SUCCESS;
}
