// SPDX-License-Identifier: Apache-2.0
// Read-only view of an object that the loader has mapped, through its dynamic section.
#ifndef SGPRS_SHIM_INTERPOSE_ELF_IMAGE_H_
#define SGPRS_SHIM_INTERPOSE_ELF_IMAGE_H_

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace sgprs::shim {

class ElfImage {
 public:
  // From what dl_iterate_phdr reports. Holds no reference: use it within that callback.
  explicit ElfImage(const dl_phdr_info& info);

  // DT_SONAME, or "" if there is none.
  const char* soname() const { return soname_ != 0 ? strings_ + soname_ : ""; }
  // True if the object has `name` among its DT_NEEDED.
  bool Needs(const char* name) const;
  // Address of the default version of a function that the object itself defines, or null.
  void* FindFunction(const char* name) const;

 private:
  const void* At(uintptr_t value) const;
  size_t SymbolCount() const;

  uintptr_t base_ = 0;
  const ElfW(Dyn) * dynamic_ = nullptr;
  const char* strings_ = "";
  const ElfW(Sym) * symbols_ = nullptr;
  const uint16_t* versions_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
  const uint32_t* sysv_hash_ = nullptr;
  size_t soname_ = 0;
};

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_ELF_IMAGE_H_
