// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/image/cubin_reader.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/simgpu/image/byte_reader.h"

namespace sgprs::simgpu {
namespace {

constexpr uint16_t kMachineCuda = 190;
constexpr uint8_t kSymbolIsEntry = 0x10;    // st_other
constexpr uint64_t kReservedShared = 1024;  // sm_90 and later: the system's, ahead of the kernel's
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxParams = 4096;
constexpr uint64_t kMaxBytes = uint64_t{1} << 40;
constexpr uint64_t kMaxVariables = 1 << 20;

// Attributes of .nv.info and .nv.info.NAME: format byte, attribute byte, 16 bits of value or size.
constexpr uint8_t kFormatSized = 0x04;
constexpr uint8_t kAttrMaxThreads = 0x05;
constexpr uint8_t kAttrRequiredThreads = 0x10;
constexpr uint8_t kAttrFrameSize = 0x11;
constexpr uint8_t kAttrParam = 0x17;
constexpr uint8_t kAttrRegisters = 0x2f;
constexpr uint8_t kAttrParamV2 = 0x45;

struct Section {
  std::string_view name;
  Elf64_Shdr header;
  ByteReader data;  // empty for NOBITS
};

struct Attribute {
  uint8_t format;
  uint8_t id;
  ByteReader value;  // of sized attributes
};

std::optional<std::vector<Attribute>> ReadAttributes(const ByteReader& data) {
  std::vector<Attribute> attributes;
  uint64_t at = 0;
  while (at + 4 <= data.size()) {
    const auto format = data.Read<uint8_t>(at);
    const auto id = data.Read<uint8_t>(at + 1);
    const auto size = data.Read<uint16_t>(at + 2);
    at += 4;
    ByteReader value;
    if (format == kFormatSized) {
      if (!data.Has(at, size)) return std::nullopt;
      value = data.Part(at, size);
      at += size;
    }
    attributes.push_back({format, id, value});
  }
  return attributes;
}

uint32_t ThreadsOf(const ByteReader& value) {
  uint64_t threads = 1;
  for (uint64_t i = 0; i < 3; ++i) {
    threads *= std::clamp<uint64_t>(value.Read<uint32_t>(i * 4), 1, kMaxThreads);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(threads, kMaxThreads));
}

// sm_75 -> 75. The ABI before CUDA 13 has it in the lowest byte, the one since in the second.
uint32_t ComputeOf(const Elf64_Ehdr& header) {
  const bool recent = header.e_ident[EI_ABIVERSION] >= 8;
  return (recent ? header.e_flags >> 8 : header.e_flags) & 0xff;
}

class CubinReader {
 public:
  CubinReader(std::span<const uint8_t> bytes, uint32_t compute) : file_(bytes), compute_(compute) {}

  Result<Image> Read() {
    if (Status status = ReadSections(); !status.ok()) return status;
    if (Status status = ReadModuleInfo(); !status.ok()) return status;
    if (Status status = ReadSymbols(); !status.ok()) return status;
    return std::move(image_);
  }

 private:
  static Status Damaged(const std::string& what) {
    return {ErrorCode::kInvalid, "damaged cubin: " + what};
  }

  Status ReadSections() {
    if (!file_.Has(0, sizeof(Elf64_Ehdr))) return Damaged("no header");
    const auto header = file_.Read<Elf64_Ehdr>(0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != kMachineCuda) {
      return {ErrorCode::kInvalid, "ELF file, but not a cubin"};
    }
    image_.compute = ComputeOf(header);
    if (compute_ != 0 &&
        (image_.compute / 10 != compute_ / 10 || image_.compute % 10 > compute_ % 10)) {
      return {ErrorCode::kNotFound, "cubin is for sm_" + std::to_string(image_.compute) +
                                        ", the device is sm_" + std::to_string(compute_)};
    }
    if (header.e_shentsize != sizeof(Elf64_Shdr) ||
        !file_.Has(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr))) {
      return Damaged("section table outside the file");
    }
    // Not used here, but a driver loads by it.
    if (!file_.Has(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize)) {
      return Damaged("program headers outside the file");
    }
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      Section section{};
      section.header = file_.Read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      const bool has_bytes =
          section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL;
      if (has_bytes && !file_.Has(section.header.sh_offset, section.header.sh_size)) {
        return Damaged("section " + std::to_string(i) + " outside the file");
      }
      if (has_bytes) section.data = file_.Part(section.header.sh_offset, section.header.sh_size);
      sections_.push_back(section);
    }
    if (header.e_shstrndx >= sections_.size()) return Damaged("no section names");
    const ByteReader names = sections_[header.e_shstrndx].data;
    for (Section& section : sections_) {
      section.name = names.Name(section.header.sh_name);
      by_name_.emplace(section.name, &section);
    }
    return Status::Ok();
  }

  const Section* Find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  // .nv.info: registers and stack frames, by symbol.
  Status ReadModuleInfo() {
    const Section* info = Find(".nv.info");
    if (info == nullptr) return Status::Ok();
    const auto attributes = ReadAttributes(info->data);
    if (!attributes) return Damaged(".nv.info");
    for (const Attribute& attribute : *attributes) {
      const auto symbol = attribute.value.Read<uint32_t>(0);
      const auto value = attribute.value.Read<uint32_t>(4);
      if (attribute.id == kAttrRegisters) registers_[symbol] = value;
      if (attribute.id == kAttrFrameSize) frames_[symbol] = value;
    }
    return Status::Ok();
  }

  Status ReadSymbols() {
    const Section* table = Find(".symtab");
    if (table == nullptr) return Damaged("no symbols");
    if (table->header.sh_link >= sections_.size()) return Damaged("no symbol names");
    const ByteReader names = sections_[table->header.sh_link].data;
    const uint64_t count = table->data.size() / sizeof(Elf64_Sym);
    for (uint64_t i = 0; i < count; ++i) {
      const auto symbol = table->data.Read<Elf64_Sym>(i * sizeof(Elf64_Sym));
      const std::string_view name = names.Name(symbol.st_name);
      if (name.empty() || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size()) {
        continue;
      }
      const uint8_t type = ELF64_ST_TYPE(symbol.st_info);
      Status status;
      if (type == STT_FUNC && (symbol.st_other & kSymbolIsEntry) != 0) {
        status = AddKernel(std::string(name), static_cast<uint32_t>(i), symbol);
      } else if (type == STT_OBJECT) {
        status = AddGlobal(name, symbol);
      }
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  Status AddKernel(std::string name, uint32_t symbol_index, const Elf64_Sym& symbol) {
    ImageKernel kernel;
    const Section* info = Find(".nv.info." + name);
    if (info != nullptr) {
      if (Status status = ReadKernelInfo(info->data, kernel); !status.ok()) return status;
    }
    const auto registers = registers_.find(symbol_index);
    // Before CUDA 13 the section of the code has it too.
    kernel.registers = registers != registers_.end()
                           ? registers->second
                           : sections_[symbol.st_shndx].header.sh_info >> 24;
    if (const auto frame = frames_.find(symbol_index); frame != frames_.end()) {
      kernel.local_bytes = frame->second;
    }
    if (const Section* shared = Find(".nv.shared." + name)) {
      uint64_t bytes = shared->header.sh_size;
      if (Find(".nv.shared.reserved.0") != nullptr && bytes >= kReservedShared) {
        bytes -= kReservedShared;
      }
      kernel.static_shared_bytes = static_cast<uint32_t>(std::min<uint64_t>(bytes, 1u << 30));
    }
    if (const Section* constant = Find(".nv.constant3")) {
      kernel.const_bytes =
          static_cast<uint32_t>(std::min<uint64_t>(constant->header.sh_size, 1u << 30));
    }
    kernel.name = std::move(name);
    image_.kernels.push_back(std::move(kernel));
    return image_.kernels.size() > kMaxVariables ? Damaged("too many kernels") : Status::Ok();
  }

  static Status ReadKernelInfo(const ByteReader& info, ImageKernel& kernel) {
    const auto attributes = ReadAttributes(info);
    if (!attributes) return Damaged(".nv.info");
    std::map<uint32_t, ImageParam> params;
    for (const Attribute& attribute : *attributes) {
      const ByteReader& value = attribute.value;
      if (attribute.id == kAttrMaxThreads || attribute.id == kAttrRequiredThreads) {
        if (value.size() >= 12) kernel.max_threads = ThreadsOf(value);
      }
      const bool v2 = attribute.id == kAttrParamV2;
      if ((attribute.id != kAttrParam && !v2) || attribute.format != kFormatSized) continue;
      if (value.size() < 12) return Damaged("parameter of a kernel");
      const uint32_t ordinal = value.Read<uint16_t>(4);
      const uint32_t offset = value.Read<uint16_t>(6);
      const uint32_t size = v2 ? value.Read<uint16_t>(8) : value.Read<uint32_t>(8) >> 18;
      if (ordinal >= kMaxParams) return Damaged("parameter number");
      params[ordinal] = {offset, size};
    }
    for (const auto& [ordinal, param] : params) {
      if (ordinal != kernel.params.size()) return Damaged("parameter missing");
      kernel.params.push_back(param);
    }
    return Status::Ok();
  }

  Status AddGlobal(std::string_view name, const Elf64_Sym& symbol) {
    const Section& section = sections_[symbol.st_shndx];
    const bool constant = section.name == ".nv.constant3";
    if (!constant && section.name != ".nv.global" && section.name != ".nv.global.init") {
      return Status::Ok();
    }
    if (symbol.st_size > kMaxBytes || image_.globals.size() >= kMaxVariables) {
      return Damaged("variable '" + std::string(name.substr(0, 80)) + "'");
    }
    ImageGlobal global;
    global.name = name;
    global.size_bytes = symbol.st_size;
    global.constant = constant;
    if (section.header.sh_type != SHT_NOBITS) {
      // Each byte of the file may be claimed once by an honest file; hostile ones must not
      // multiply.
      initial_bytes_ += symbol.st_size;
      if (!section.data.Has(symbol.st_value, symbol.st_size) || initial_bytes_ > 2 * file_.size()) {
        return Damaged("variable '" + std::string(name.substr(0, 80)) + "'");
      }
      const auto bytes = section.data.Part(symbol.st_value, symbol.st_size).bytes();
      const bool zero = std::all_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b == 0; });
      if (!zero) global.initial.assign(bytes.begin(), bytes.end());
    }
    image_.globals.push_back(std::move(global));
    return Status::Ok();
  }

  const ByteReader file_;
  const uint32_t compute_;
  Image image_;
  std::vector<Section> sections_;
  std::unordered_map<std::string_view, const Section*> by_name_;
  std::unordered_map<uint32_t, uint32_t> registers_;
  std::unordered_map<uint32_t, uint32_t> frames_;
  uint64_t initial_bytes_ = 0;
};

}  // namespace

Result<Image> ReadCubin(std::span<const uint8_t> bytes, uint32_t compute) {
  return CubinReader(bytes, compute).Read();
}

bool LooksLikeElf(std::span<const uint8_t> bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

uint64_t ElfSize(const uint8_t* data) {
  Elf64_Ehdr header;
  std::memcpy(&header, data, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachineCuda) return 0;
  if (header.e_shoff > kMaxBytes || header.e_phoff > kMaxBytes) return 0;
  uint64_t end = std::max(header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr),
                          header.e_phoff + uint64_t{header.e_phnum} * header.e_phentsize);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, data + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (section.sh_offset > kMaxBytes || section.sh_size > kMaxBytes) return 0;
    end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace sgprs::simgpu
