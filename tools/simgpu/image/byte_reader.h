// SPDX-License-Identifier: Apache-2.0
// The one way in which this directory reads binary images: every access is checked.
#ifndef SGPRS_TOOLS_SIMGPU_IMAGE_BYTE_READER_H_
#define SGPRS_TOOLS_SIMGPU_IMAGE_BYTE_READER_H_

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace sgprs::simgpu {

// A view of bytes that somebody else owns. Little endian, as every image is. Out-of-range reads
// give zero, an empty view or an empty name, never memory outside; callers that must know ask
// Has().
class ByteReader {
 public:
  ByteReader() = default;
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint64_t size() const { return bytes_.size(); }
  std::span<const uint8_t> bytes() const { return bytes_; }
  bool Has(uint64_t offset, uint64_t count) const {
    return offset <= bytes_.size() && count <= bytes_.size() - offset;
  }

  template <typename T>
  T Read(uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (Has(offset, sizeof(T))) std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  ByteReader Part(uint64_t offset, uint64_t count) const {
    return Has(offset, count) ? ByteReader(bytes_.subspan(offset, count)) : ByteReader();
  }
  // The NUL-terminated name at `offset`; empty if its NUL is missing.
  std::string_view Name(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const char* start = reinterpret_cast<const char*>(bytes_.data()) + offset;
    const uint64_t room = bytes_.size() - offset;
    const size_t length = strnlen(start, room);
    return length == room ? std::string_view() : std::string_view(start, length);
  }

 private:
  std::span<const uint8_t> bytes_;
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_IMAGE_BYTE_READER_H_
