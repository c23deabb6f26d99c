// SPDX-License-Identifier: Apache-2.0
// Compiled without sibling calls (see real_dl.cc).
#include "shim/interpose/dl_policy.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "runtime/base/environment.h"
#include "shim/interpose/calls.h"
#include "shim/interpose/driver.h"
#include "shim/interpose/interpose.h"
#include "shim/interpose/real_dl.h"
#include "shim/interpose/unknown.h"

namespace sgprs::shim {
namespace {

constexpr char kDevName[] = "libcuda.so";

const char* BaseName(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

bool IsDriverFileName(const char* name) {
  return std::strncmp(name, kDevName, sizeof(kDevName) - 1) == 0;
}

// dlopen of a path: ours if it is the driver's file. A path that is called like the driver chooses
// the driver if nobody has yet, and stands for $SGPRS_DRIVER if that is set.
OpenAnswer DecidePath(const char* path, bool no_load) {
  const Driver* driver = OpenedDriver();
  const char* name = BaseName(path);
  if (driver == nullptr) {
    if (no_load || !IsDriverFileName(name)) return OpenAnswer::kLoader;
    driver = EnsureDriverAt(path);
    if (driver == nullptr) return OpenAnswer::kLoader;
  }
  if (IsDriverFile(*driver, path)) return OpenAnswer::kOurs;
  const bool replaced = env::Get(env::kDriver) != nullptr &&
                        (std::strcmp(name, kDevName) == 0 || std::strcmp(name, kDriverSoname) == 0);
  return replaced ? OpenAnswer::kOurs : OpenAnswer::kLoader;
}

// What a name of ours would have given without us: from the driver if it is open, else from
// whatever comes after us. Most often null, with dlerror set.
void* WithoutUs(const char* name) {
  const Driver* driver = OpenedDriver();
  return RealDlsym()(driver != nullptr ? driver->handle : RTLD_NEXT, name);
}

// The application knows of a driver that has `index`.
bool IsVisible(uint32_t index) { return ApplicationHasCuda() && RealSymbol(index) != nullptr; }

// A name that nothing of ours has: the driver's own symbol, if the application would see it.
void* NewerSymbol(const char* name) {
  const Driver* driver = ApplicationHasCuda() ? EnsureDriver(nullptr) : nullptr;
  void* real = driver != nullptr ? RealDlsym()(driver->handle, name) : nullptr;
  return real != nullptr && driver->Holds(real) ? UnknownSymbol(name, real) : nullptr;
}

// An object that came in as the driver's file without a dlopen of ours in between: then that is the
// driver.
void NoticeDriver(const void* address) {
  const link_map* map = OpenedDriver() == nullptr ? MapOf(address) : nullptr;
  if (map != nullptr && map != OwnMap() && IsDriverFileName(BaseName(map->l_name))) {
    EnsureDriverAt(map->l_name);
  }
}

}  // namespace

OpenAnswer DecideOpen(const char* file, int mode, const void* caller) {
  const bool no_load = (mode & RTLD_NOLOAD) != 0;
  if (std::strchr(file, '/') != nullptr) return DecidePath(file, no_load);
  const bool is_soname = std::strcmp(file, kDriverSoname) == 0;
  if (!is_soname && std::strcmp(file, kDevName) != 0) return OpenAnswer::kLoader;
  const OpenAnswer otherwise = is_soname ? OpenAnswer::kMissing : OpenAnswer::kLoader;
  if (no_load && !ApplicationHasCuda()) {
    return is_soname && DriverExists(caller) ? OpenAnswer::kNotLoaded : otherwise;
  }
  return EnsureDriver(caller) != nullptr ? OpenAnswer::kOurs : otherwise;
}

void* MissingFile(const char* file, int mode) {
  // In a namespace of its own the name is not matched against what is loaded here (us), and the
  // loader finds out for itself, and says, that there is no such file.
  void* handle = RealDlmopen()(LM_ID_NEWLM, file, mode & ~(RTLD_GLOBAL | RTLD_NODELETE));
  if (handle != nullptr) dlclose(handle);
  return nullptr;
}

void* OurExport(const char* name, void* found) {
  if (found == nullptr || CallAt(found) != kNoCall) return found;
  NoticeDriver(found);
  const Driver* driver = OpenedDriver();
  if (driver == nullptr || !driver->Holds(found)) return found;
  const uint32_t index = FindCall(name);
  return index != kNoCall ? ExportOf(index) : UnknownSymbol(name, found);
}

bool AnswersDefault(const char* name, void** result) {
  void* found = RealDlsym()(RTLD_DEFAULT, name);
  if (found == nullptr) {
    *result = NewerSymbol(name);
    return *result != nullptr;
  }
  const uint32_t index = CallAt(found);
  if (index == kNoCall) return false;
  *result = IsVisible(index) ? found : WithoutUs(name);
  return true;
}

bool AnswersHandle(void* handle, const char* name, void** result) {
  void* found = RealDlsym()(handle, name);
  const uint32_t index = CallAt(found);
  if (index != kNoCall) {
    // What our object exports and the driver lacks is not there.
    *result = IsVisible(index) ? found : WithoutUs(name);
    return true;
  }
  const bool sees_driver = handle == OwnMap() ||
                           (handle != nullptr && static_cast<link_map*>(handle)->l_prev == nullptr);
  *result = found == nullptr && sees_driver ? NewerSymbol(name) : OurExport(name, found);
  return true;
}

}  // namespace sgprs::shim
