// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/image/fatbin_reader.h"

#include <lz4.h>
#include <zstd.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/simgpu/image/byte_reader.h"
#include "tools/simgpu/image/cubin_reader.h"
#include "tools/simgpu/image/ptx_reader.h"

namespace sgprs::simgpu {
namespace {

constexpr uint32_t kMagic = 0xba55ed50;
constexpr uint64_t kHeaderBytes = 16;
constexpr uint64_t kMaxUnpackedBytes = uint64_t{1} << 28;
// No honest member shrinks further; keeps a few hostile bytes from asking for much memory.
constexpr uint64_t kMaxRatio = 1024;

constexpr uint16_t kKindPtx = 1;
constexpr uint16_t kKindElf = 2;
constexpr uint64_t kFlagLz4 = 0x2000;
constexpr uint64_t kFlagZstd = 0x8000;
constexpr uint64_t kFlagExactArch = 0x100000;   // sm_90a
constexpr uint64_t kFlagFamilyArch = 0x200000;  // sm_100f

struct Member {
  uint16_t kind;
  uint32_t arch;
  uint64_t flags;
  uint64_t packed_bytes;    // of compressed payloads
  uint64_t unpacked_bytes;  // of compressed payloads
  ByteReader payload;       // with padding
};

Status Damaged(const std::string& what) {
  return {ErrorCode::kInvalid, "damaged fat binary: " + what};
}

Result<std::vector<Member>> ReadMembers(const ByteReader& file) {
  const uint64_t header_bytes = file.Read<uint16_t>(6);
  const uint64_t body_bytes = file.Read<uint64_t>(8);
  if (header_bytes < kHeaderBytes || !file.Has(header_bytes, body_bytes)) {
    return Damaged("longer than its image");
  }
  const ByteReader body = file.Part(header_bytes, body_bytes);
  std::vector<Member> members;
  uint64_t at = 0;
  while (body.Has(at, 64)) {
    Member member{};
    member.kind = body.Read<uint16_t>(at);
    const uint64_t member_header = body.Read<uint32_t>(at + 4);
    const uint64_t payload_bytes = body.Read<uint64_t>(at + 8);
    member.packed_bytes = body.Read<uint32_t>(at + 16);
    member.arch = body.Read<uint32_t>(at + 28);
    member.flags = body.Read<uint64_t>(at + 40);
    member.unpacked_bytes = body.Read<uint64_t>(at + 56);
    if (member_header < 64 || !body.Has(at, member_header) ||
        !body.Has(at + member_header, payload_bytes)) {
      return Damaged("member " + std::to_string(members.size()) + " outside of it");
    }
    member.payload = body.Part(at + member_header, payload_bytes);
    at += member_header + payload_bytes;
    members.push_back(member);
  }
  return members;
}

bool Suits(const Member& member, uint32_t compute) {
  if (compute == 0) return true;
  if ((member.flags & kFlagExactArch) != 0) return member.arch == compute;
  if (member.arch > compute) return false;
  const bool family = member.kind == kKindElf || (member.flags & kFlagFamilyArch) != 0;
  return !family || member.arch / 10 == compute / 10;
}

// Newest suitable of `kind`; the first of equals.
const Member* Best(const std::vector<Member>& members, uint16_t kind, uint32_t compute) {
  const Member* best = nullptr;
  for (const Member& member : members) {
    if (member.kind != kind || !Suits(member, compute)) continue;
    if (best == nullptr || member.arch > best->arch) best = &member;
  }
  return best;
}

Result<std::vector<uint8_t>> Unpack(const Member& member) {
  const ByteReader packed = member.payload.Part(0, member.packed_bytes);
  if (member.packed_bytes == 0 || packed.size() == 0) return Damaged("compressed member is empty");
  if (member.unpacked_bytes > kMaxUnpackedBytes ||
      member.unpacked_bytes > packed.size() * kMaxRatio) {
    return Damaged("compressed member claims " + std::to_string(member.unpacked_bytes) + " bytes");
  }
  std::vector<uint8_t> out(member.unpacked_bytes);
  if ((member.flags & kFlagZstd) != 0) {
    const size_t got =
        ZSTD_decompress(out.data(), out.size(), packed.bytes().data(), packed.size());
    if (ZSTD_isError(got) != 0 || got != out.size()) return Damaged("Zstandard member");
    return out;
  }
  if (packed.size() > kMaxUnpackedBytes) return Damaged("LZ4 member");
  const int got = LZ4_decompress_safe(
      reinterpret_cast<const char*>(packed.bytes().data()), reinterpret_cast<char*>(out.data()),
      static_cast<int>(packed.size()), static_cast<int>(out.size()));
  if (got < 0 || static_cast<size_t>(got) != out.size()) return Damaged("LZ4 member");
  return out;
}

Result<Image> ReadMember(const Member& member, uint32_t compute) {
  std::vector<uint8_t> unpacked;
  std::span<const uint8_t> bytes = member.payload.bytes();
  if ((member.flags & (kFlagLz4 | kFlagZstd)) != 0) {
    Result<std::vector<uint8_t>> result = Unpack(member);
    if (!result.ok()) return result.status();
    unpacked = std::move(result).value();
    bytes = unpacked;
  }
  if (member.kind == kKindElf) return ReadCubin(bytes, compute);
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return ReadPtx(std::string_view(text, bytes.empty() ? 0 : strnlen(text, bytes.size())), compute);
}

}  // namespace

bool LooksLikeFatbin(std::span<const uint8_t> bytes) {
  return ByteReader(bytes).Read<uint32_t>(0) == kMagic;
}

uint64_t FatbinSize(const uint8_t* data) {
  const ByteReader header(std::span<const uint8_t>(data, kHeaderBytes));
  const uint64_t body = header.Read<uint64_t>(8);
  if (body > (uint64_t{1} << 40)) return 0;
  return header.Read<uint16_t>(6) + body;
}

Result<Image> ReadFatbin(std::span<const uint8_t> bytes, uint32_t compute) {
  Result<std::vector<Member>> members = ReadMembers(ByteReader(bytes));
  if (!members.ok()) return members.status();
  const Member* best = Best(*members, kKindElf, compute);
  if (best == nullptr) best = Best(*members, kKindPtx, compute);
  if (best == nullptr) {
    return {ErrorCode::kNotFound, "fat binary of " + std::to_string(members->size()) +
                                      " members has none for sm_" + std::to_string(compute)};
  }
  return ReadMember(*best, compute);
}

}  // namespace sgprs::simgpu
