// SPDX-License-Identifier: Apache-2.0
// torch.nonzero, and with it masks as indices and torch.where: CUB counts (one kernel, or two for
// large inputs), CUB selects the flat indices, PyTorch turns them into coordinates.
#include <type_traits>

#include "tools/simgpu/torch/element.h"
#include "tools/simgpu/torch/kernels.h"

namespace sgprs::simgpu::torch {
namespace {

// The first member of an iterator that transforms what a pointer points to.
template <typename T>
const T* Flags(const SimgpuLaunch* launch, uint32_t index) {
  return Param<const T*>(launch, index);
}

// Count(iterator, int* out, Offset count, ...): one tile.
template <typename T, typename Offset>
void CountBody(const SimgpuLaunch* launch) {
  const T* flags = Flags<T>(launch, 0);
  const auto count = static_cast<uint64_t>(Param<Offset>(launch, 2));
  int32_t found = 0;
  for (uint64_t i = 0; i < count; ++i) found += Widen(flags[i]) != 0 ? 1 : 0;
  *Param<int32_t*>(launch, 1) = found;
}

// Sums of parts, one a block: all of it in the first.
template <typename T, typename Offset>
void CountPartsBody(const SimgpuLaunch* launch) {
  CountBody<T, Offset>(launch);
  auto* parts = Param<int32_t*>(launch, 1);
  for (uint32_t i = 1; i < launch->grid[0]; ++i) parts[i] = 0;
}

// Sum(int* parts, int* out, Offset count, ...)
template <typename Offset>
void SumPartsBody(const SimgpuLaunch* launch) {
  const auto* parts = Param<const int32_t*>(launch, 0);
  const auto count = static_cast<uint64_t>(Param<Offset>(launch, 2));
  int32_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += parts[i];
  *Param<int32_t*>(launch, 1) = sum;
}

// Select(counting iterator, flags, long* out, int* selected, state, -, -, int count, ...)
template <typename T>
void SelectBody(const SimgpuLaunch* launch) {
  const auto first = Param<int64_t>(launch, 0);
  const T* flags = Flags<T>(launch, 1);
  auto* out = Param<int64_t*>(launch, 2);
  const auto count = Param<int32_t>(launch, 7);
  int32_t selected = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (Widen(flags[i]) != 0) out[selected++] = first + i;
  }
  *Param<int32_t*>(launch, 3) = selected;
}

// write_indices(long* in_out, sizes of up to 16 dimensions, int dimensions, Index count): the flat
// indices become rows of coordinates, one row a dimension.
template <typename Index>
void WriteIndicesBody(const SimgpuLaunch* launch) {
  auto* data = Param<int64_t*>(launch, 0);
  const auto dims = Param<int32_t>(launch, 2);
  const auto count = static_cast<int64_t>(Param<Index>(launch, 3));
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = data[i];
    for (int32_t dim = dims - 1; dim >= 0; --dim) {
      const auto size =
          static_cast<int64_t>(Param<Index>(launch, 1, static_cast<size_t>(dim) * sizeof(Index)));
      if (size <= 0) return;
      data[i + dim * count] = rest % size;
      rest /= size;
    }
  }
}

// The offset type, by the number of its bytes.
template <template <typename> typename Body>
Behaviour BySize(const std::string& offset) {
  const bool wide = offset.find("long") != std::string::npos;
  return {wide ? Body<uint64_t>::kBody : Body<uint32_t>::kBody, nullptr};
}

template <typename Offset>
struct Sum {
  static constexpr auto kBody = SumPartsBody<Offset>;
};

std::optional<Type> FlagType(const std::string& iterator) {
  const std::optional<std::string> type = Inside(iterator, "NonZeroOp<");
  return type ? TypeOf(*type) : std::nullopt;
}

Behaviour FindCount(const std::string& iterator, const std::string& offset, bool parts) {
  const std::optional<Type> type = FlagType(iterator);
  if (!type) return {};
  const bool wide = offset.find("long") != std::string::npos;
  return WithType(*type, [&]<typename T>() -> Behaviour {
    if (parts) return {wide ? CountPartsBody<T, uint64_t> : CountPartsBody<T, uint32_t>, nullptr};
    return {wide ? CountBody<T, uint64_t> : CountBody<T, uint32_t>, nullptr};
  });
}

}  // namespace

Behaviour FindNonzero(const KernelName& name) {
  const std::vector<std::string>& of = name.arguments;
  if (name.kernel == "DeviceReduceSingleTileKernel" && of.size() >= 5) {
    const bool plus = of[4].find("plus<") != std::string::npos;
    if (of[1] == "int*" && of[2] == "int*" && plus) return BySize<Sum>(of[3]);
    return FindCount(of[1], of[3], false);
  }
  if (name.kernel == "DeviceReduceKernel" && of.size() >= 4) return FindCount(of[1], of[2], true);
  if (name.kernel == "DeviceSelectSweepKernel" && of.size() >= 5 && of[3] == "long*") {
    const std::optional<Type> type = FlagType(of[2]);
    if (!type || of[1].find("counting_iterator<long") == std::string::npos) return {};
    return WithType(*type, []<typename T>() -> Behaviour { return {SelectBody<T>, nullptr}; });
  }
  if (name.kernel == "write_indices" && of.size() == 1) {
    return {of[0] == "int" ? WriteIndicesBody<int32_t> : WriteIndicesBody<int64_t>, nullptr};
  }
  return {};
}

}  // namespace sgprs::simgpu::torch
