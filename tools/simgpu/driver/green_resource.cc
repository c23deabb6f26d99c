// SPDX-License-Identifier: Apache-2.0
// Device resources: what there is, splits of it, descriptors. The opaque part of a CUdevResource
// carries the SMs themselves, by index.
#include "tools/simgpu/driver/green_resource.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "tools/simgpu/driver/arena.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

constexpr uint32_t kSecretMagic = 0x53505247;  // "GRPS"

// In CUdevResource::_internal_padding.
struct Secret {
  uint32_t magic;
  uint32_t split;  // 0: straight from a device or context, so it can be split
  uint64_t sm_set[kSmWords];
};
static_assert(sizeof(Secret) <= sizeof(CUdevResource::_internal_padding));

using DescArena = Arena<ResourceDesc, 4096>;
DescArena& Descs() {
  static auto* arena = new DescArena();
  return *arena;
}

std::atomic<uint32_t> g_next_split{1};

const Welcome& Device() { return TheProcess().channel.welcome(); }

// Least group and unit of a split.
void Units(unsigned int flags, uint32_t* minimum, uint32_t* alignment) {
  *minimum = Device().sm_minimum != 0 ? Device().sm_minimum : 2;
  *alignment = Device().sm_alignment != 0 ? Device().sm_alignment : 2;
  if ((flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING) != 0) {
    *minimum = std::min(*minimum, 2u);
    *alignment = std::min(*alignment, 2u);
  }
}

bool ReadSecret(const CUdevResource& resource, Secret* secret) {
  memcpy(secret, resource._internal_padding, sizeof(*secret));
  return secret->magic == kSecretMagic && CountSms(secret->sm_set) == resource.sm.smCount;
}

void Write(const Secret& secret, CUdevResource* resource) {
  memset(resource, 0, sizeof(*resource));
  resource->type = CU_DEV_RESOURCE_TYPE_SM;
  memcpy(resource->_internal_padding, &secret, sizeof(secret));
  resource->sm.smCount = CountSms(secret.sm_set);
  Units(0, &resource->sm.minSmPartitionSize, &resource->sm.smCoscheduledAlignment);
}

// Moves the first `count` SMs of `from` to `to`.
void Take(uint64_t* from, uint32_t count, uint64_t* to) {
  for (int sm = 0; sm < kMaxSms && count > 0; ++sm) {
    const uint64_t bit = uint64_t{1} << (sm % 64);
    if ((from[sm / 64] & bit) == 0) continue;
    from[sm / 64] &= ~bit;
    to[sm / 64] |= bit;
    --count;
  }
}

}  // namespace

uint32_t CountSms(const uint64_t* sm_set) {
  int count = 0;
  for (int i = 0; i < kSmWords; ++i) count += std::popcount(sm_set[i]);
  return static_cast<uint32_t>(count);
}

void AllSms(uint32_t count, uint64_t* sm_set) {
  memset(sm_set, 0, kSmWords * sizeof(uint64_t));
  for (uint32_t sm = 0; sm < count; ++sm) sm_set[sm / 64] |= uint64_t{1} << (sm % 64);
}

CUresult MakeResource(const uint64_t* sm_set, CUdevResourceType type, CUdevResource* resource) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  Secret secret{kSecretMagic, 0, {}};
  memcpy(secret.sm_set, sm_set, sizeof(secret.sm_set));
  Write(secret, resource);
  return CUDA_SUCCESS;
}

ResourceDesc* FindDesc(CUdevResourceDesc handle) {
  return handle != nullptr ? Descs().Find(handle) : nullptr;
}

CUresult SplitByCount(CUdevResource* result, unsigned int* groups, const CUdevResource* input,
                      CUdevResource* remaining, unsigned int flags, unsigned int least) {
  constexpr unsigned int kKnown = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                                  CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  if (groups == nullptr || input == nullptr || (flags & ~kKnown) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  Secret rest;
  if (!ReadSecret(*input, &rest)) return CUDA_ERROR_INVALID_VALUE;
  // cuda.h: results are not split again without a green context in between.
  if (rest.split != 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  if (least > input->sm.smCount) return CUDA_ERROR_INVALID_VALUE;
  uint32_t minimum;
  uint32_t alignment;
  Units(flags, &minimum, &alignment);
  const uint32_t size =
      (std::max<uint32_t>(least, minimum) + alignment - 1) / alignment * alignment;
  const unsigned int possible = input->sm.smCount / size;
  if (possible == 0) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  if (result == nullptr) {
    *groups = possible;
    return CUDA_SUCCESS;
  }
  if (*groups == 0) return CUDA_ERROR_INVALID_VALUE;
  *groups = std::min(*groups, possible);
  rest.split = g_next_split.fetch_add(1, std::memory_order_relaxed);  // only has to be unique
  for (unsigned int i = 0; i < *groups; ++i) {
    Secret group{kSecretMagic, rest.split, {}};
    Take(rest.sm_set, size, group.sm_set);
    Write(group, &result[i]);
  }
  if (remaining != nullptr) {
    Write(rest, remaining);
    if (remaining->sm.smCount == 0) remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
  }
  return CUDA_SUCCESS;
}

CUresult GenerateDesc(CUdevResourceDesc* out, const CUdevResource* resources, unsigned int count) {
  if (out == nullptr || resources == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  ResourceDesc desc;
  uint32_t split = 0;
  for (unsigned int i = 0; i < count; ++i) {
    if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    Secret secret;
    if (!ReadSecret(resources[i], &secret)) return CUDA_ERROR_INVALID_VALUE;
    if (i == 0) split = secret.split;
    if (secret.split != split || (count > 1 && split == 0)) {
      return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    }
    for (int word = 0; word < kSmWords; ++word) {
      if ((desc.sm_set[word] & secret.sm_set[word]) != 0) {  // the same group twice
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
      }
      desc.sm_set[word] |= secret.sm_set[word];
    }
  }
  ResourceDesc* made = Descs().New();
  if (made == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *made = desc;
  *out = reinterpret_cast<CUdevResourceDesc>(made);
  return CUDA_SUCCESS;
}

}  // namespace sgprs::simgpu::driver
