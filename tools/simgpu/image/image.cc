// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/image/image.h"

#include <cstring>
#include <span>
#include <string_view>

#include "tools/simgpu/image/cubin_reader.h"
#include "tools/simgpu/image/fatbin_reader.h"
#include "tools/simgpu/image/ptx_reader.h"

namespace sgprs::simgpu {
namespace {

Result<Image> NoImage() {
  return {ErrorCode::kInvalid, "not an image: neither PTX nor cubin nor fat binary"};
}

// All of the image is in `bytes`.
Result<Image> ReadSized(std::span<const uint8_t> bytes, uint32_t compute) {
  if (LooksLikeElf(bytes)) return ReadCubin(bytes, compute);
  if (LooksLikeFatbin(bytes)) return ReadFatbin(bytes, compute);
  const char* text = reinterpret_cast<const char*>(bytes.data());
  const std::string_view view(text, strnlen(text, bytes.size()));
  return LooksLikePtx(view) ? ReadPtx(view, compute) : NoImage();
}

// strncmp stops at a NUL, so that a short text is not read beyond its end.
bool StartsWith(const char* data, const char (&magic)[5]) {
  return std::strncmp(data, magic, 4) == 0;
}

// A caller's pointer, as cuModuleLoadData has it: the image itself says where it ends.
Result<Image> ReadUnsized(const uint8_t* data, uint32_t compute) {
  const char* text = reinterpret_cast<const char*>(data);
  uint64_t size = 0;
  if (StartsWith(text, "\xb1\x43\x62\x46")) {
    FatbinWrapper wrapper;
    std::memcpy(&wrapper, data, sizeof(wrapper));
    const auto* inner = static_cast<const uint8_t*>(wrapper.data);
    // One level: a wrapper of a wrapper is no image.
    if (inner == nullptr || StartsWith(reinterpret_cast<const char*>(inner), "\xb1\x43\x62\x46")) {
      return NoImage();
    }
    return ReadUnsized(inner, compute);
  }
  if (StartsWith(text,
                 "\x7f"
                 "ELF")) {
    size = ElfSize(data);
  } else if (StartsWith(text, "\x50\xed\x55\xba")) {
    size = FatbinSize(data);
  } else {
    size = std::strlen(text);
  }
  return size == 0 ? NoImage() : ReadSized({data, size}, compute);
}

}  // namespace

Result<Image> ReadImage(const void* data, size_t size_bytes, uint32_t compute) {
  if (data == nullptr) return {ErrorCode::kInvalid, "no image"};
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (size_bytes == 0) return ReadUnsized(bytes, compute);
  return ReadSized({bytes, size_bytes}, compute);
}

}  // namespace sgprs::simgpu
