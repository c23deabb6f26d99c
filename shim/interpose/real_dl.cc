// SPDX-License-Identifier: Apache-2.0
// Compiled without sibling calls: dlsym(RTLD_NEXT) must see this object as its caller.
#include "shim/interpose/real_dl.h"

#include <atomic>
#include <cstring>

#include "shim/interpose/elf_image.h"

namespace sgprs::shim {
namespace {

struct LibcFunction {
  const char* name;
  void* address;
};

int FindInLibc(dl_phdr_info* info, size_t, void* context) {
  const ElfImage image(*info);
  if (std::strcmp(image.soname(), "libc.so.6") != 0) return 0;
  auto* function = static_cast<LibcFunction*>(context);
  function->address = image.FindFunction(function->name);
  return 1;
}

void* LibcAddress(const char* name) {
  LibcFunction function = {name, nullptr};
  dl_iterate_phdr(FindInLibc, &function);
  return function.address;
}

// The next object's function of that name; if we come after libc in the search order (not
// preloaded, but found as a library), libc's own.
void* NextFunction(const char* name) {
  auto* libc_dlsym = reinterpret_cast<DlsymFunction*>(LibcAddress("dlsym"));
  if (libc_dlsym == nullptr) return nullptr;
  void* next = libc_dlsym(RTLD_NEXT, name);
  return next != nullptr ? next : LibcAddress(name);
}

// Several threads may look at once and store the same value. Relaxed is enough: the value is the
// address of code that was there before us.
template <typename Function>
Function* Cached(std::atomic<Function*>& cache, const char* name) {
  Function* function = cache.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function*>(NextFunction(name));
    cache.store(function, std::memory_order_relaxed);
  }
  return function;
}

constinit std::atomic<DlopenFunction*> g_dlopen{nullptr};
constinit std::atomic<DlmopenFunction*> g_dlmopen{nullptr};
constinit std::atomic<DlsymFunction*> g_dlsym{nullptr};
constinit std::atomic<DlvsymFunction*> g_dlvsym{nullptr};

}  // namespace

DlopenFunction* RealDlopen() { return Cached(g_dlopen, "dlopen"); }
DlmopenFunction* RealDlmopen() { return Cached(g_dlmopen, "dlmopen"); }
DlsymFunction* RealDlsym() { return Cached(g_dlsym, "dlsym"); }
DlvsymFunction* RealDlvsym() { return Cached(g_dlvsym, "dlvsym"); }

link_map* MapOf(const void* address) {
  Dl_info info;
  void* map = nullptr;
  if (dladdr1(address, &info, &map, RTLD_DL_LINKMAP) == 0) return nullptr;
  return static_cast<link_map*>(map);
}

link_map* OwnMap() {
  static constinit std::atomic<link_map*> own{nullptr};  // relaxed: the loader made it before us
  link_map* map = own.load(std::memory_order_relaxed);
  if (map == nullptr) {
    map = MapOf(reinterpret_cast<const void*>(&OwnMap));
    own.store(map, std::memory_order_relaxed);
  }
  return map;
}

}  // namespace sgprs::shim
