// SPDX-License-Identifier: Apache-2.0
#include "shim/interpose/elf_image.h"

#include <elf.h>

#include <cstring>

namespace sgprs::shim {

ElfImage::ElfImage(const dl_phdr_info& info) : base_(info.dlpi_addr) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    dynamic_ = reinterpret_cast<const ElfW(Dyn)*>(base_ + info.dlpi_phdr[i].p_vaddr);
  }
  if (dynamic_ == nullptr) return;
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    const void* at = At(entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_STRTAB:
        strings_ = static_cast<const char*>(at);
        break;
      case DT_SYMTAB:
        symbols_ = static_cast<const ElfW(Sym)*>(at);
        break;
      case DT_VERSYM:
        versions_ = static_cast<const uint16_t*>(at);
        break;
      case DT_GNU_HASH:
        gnu_hash_ = static_cast<const uint32_t*>(at);
        break;
      case DT_HASH:
        sysv_hash_ = static_cast<const uint32_t*>(at);
        break;
      case DT_SONAME:
        soname_ = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
}

// The loader relocates these pointers in place for objects that it loads itself, but not for the
// kernel's vDSO, nor where the dynamic section is read-only.
const void* ElfImage::At(uintptr_t value) const {
  return reinterpret_cast<const void*>(value < base_ ? value + base_ : value);
}

bool ElfImage::Needs(const char* name) const {
  if (dynamic_ == nullptr) return false;
  for (const ElfW(Dyn)* entry = dynamic_; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_NEEDED && std::strcmp(strings_ + entry->d_un.d_val, name) == 0) {
      return true;
    }
  }
  return false;
}

size_t ElfImage::SymbolCount() const {
  if (sysv_hash_ != nullptr) return sysv_hash_[1];
  if (gnu_hash_ == nullptr) return 0;
  const uint32_t bucket_count = gnu_hash_[0];
  const uint32_t first = gnu_hash_[1];
  const uint32_t bloom_words = gnu_hash_[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* buckets = gnu_hash_ + 4 + bloom_words;
  const uint32_t* chains = buckets + bucket_count;
  uint32_t last = 0;
  for (uint32_t i = 0; i < bucket_count; ++i) {
    if (buckets[i] > last) last = buckets[i];
  }
  if (last < first) return first;
  while ((chains[last - first] & 1) == 0) ++last;  // bit 0 ends a chain
  return last + 1;
}

void* ElfImage::FindFunction(const char* name) const {
  constexpr uint16_t kHiddenVersion = 0x8000;  // not the default version of that name
  if (symbols_ == nullptr) return nullptr;
  const size_t count = SymbolCount();
  for (size_t i = 0; i < count; ++i) {
    const ElfW(Sym)& symbol = symbols_[i];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (versions_ != nullptr && (versions_[i] & kHiddenVersion) != 0) continue;
    if (std::strcmp(strings_ + symbol.st_name, name) != 0) continue;
    return reinterpret_cast<void*>(base_ + symbol.st_value);
  }
  return nullptr;
}

}  // namespace sgprs::shim
