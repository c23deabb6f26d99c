// SPDX-License-Identifier: Apache-2.0
#include "shim/interpose/driver.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/base/environment.h"
#include "shim/interpose/driver_search.h"
#include "shim/interpose/elf_image.h"
#include "shim/interpose/errno_guard.h"
#include "shim/interpose/real_dl.h"

namespace sgprs::shim {
namespace {

constinit std::atomic<const Driver*> g_driver{nullptr};
constinit std::atomic<bool> g_said{false};
constinit thread_local bool t_opening = false;

class OpeningGuard {
 public:
  OpeningGuard() { t_opening = true; }
  ~OpeningGuard() { t_opening = false; }
};

// Another copy of this shim, at another path: no driver defines a dlvsym.
bool IsShim(void* handle) {
  const void* dlvsym_there = reinterpret_cast<void*>(RealDlsym()(handle, "dlvsym"));
  return dlvsym_there != nullptr && MapOf(dlvsym_there) == handle;
}

// Looks for the object whose link_map is driver->handle and fills in its extent.
int FillExtent(dl_phdr_info* info, size_t, void* context) {
  auto* driver = static_cast<Driver*>(context);
  const auto* map = static_cast<const link_map*>(driver->handle);
  if (info->dlpi_addr != map->l_addr || std::strcmp(info->dlpi_name, map->l_name) != 0) return 0;
  driver->begin = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (begin < driver->begin) driver->begin = begin;
    if (begin + segment.p_memsz > driver->end) driver->end = begin + segment.p_memsz;
  }
  return 1;
}

// TryPath: an existing file that is not ours. `context`: struct stat of the file, filled in.
bool IsForeignFile(const char* path, void* context) {
  auto* status = static_cast<struct stat*>(context);
  struct stat own;
  if (stat(path, status) != 0) return false;
  return stat(OwnMap()->l_name, &own) != 0 || own.st_dev != status->st_dev ||
         own.st_ino != status->st_ino;
}

// TryPath with a Driver as context.
bool OpenFile(const char* path, void* context) {
  struct stat status;
  if (!IsForeignFile(path, &status)) return false;
  void* handle = RealDlopen()(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return false;
  if (handle == OwnMap() || IsShim(handle)) {
    dlclose(handle);
    return false;
  }
  auto* driver = static_cast<Driver*>(context);
  driver->handle = handle;
  driver->device = status.st_dev;
  driver->inode = status.st_ino;
  dl_iterate_phdr(FillExtent, driver);
  return true;
}

// The first to finish is kept; all get the same object from the loader, so the rest only give back
// their reference. Release pairs with the acquire of OpenedDriver: who sees the pointer sees the
// fields.
const Driver* Publish(const Driver& opened) {
  auto* driver = static_cast<Driver*>(std::malloc(sizeof(Driver)));
  if (driver == nullptr) return nullptr;
  *driver = opened;
  const Driver* expected = nullptr;
  if (g_driver.compare_exchange_strong(expected, driver, std::memory_order_acq_rel)) return driver;
  std::free(driver);
  dlclose(opened.handle);
  return expected;
}

void SayOnce(const char* path) {
  if (g_said.exchange(true, std::memory_order_relaxed)) return;  // relaxed: only "once" matters
  const char* error = dlerror();
  char line[512];
  const int length =
      std::snprintf(line, sizeof(line), "sgprs: %s: not usable as %s (%s): no CUDA device\n", path,
                    env::kDriver, error != nullptr ? error : "no driver");
  if (length <= 0) return;
  const size_t bytes = static_cast<size_t>(length) < sizeof(line) ? length : sizeof(line) - 1;
  if (write(STDERR_FILENO, line, bytes) < 0) return;  // nobody left to tell
}

// With `path`, only that file; else the search of the header. $SGPRS_DRIVER goes before both.
const Driver* Open(const void* caller, const char* path) {
  if (t_opening || RealDlopen() == nullptr || RealDlsym() == nullptr) return nullptr;
  ErrnoGuard keep_errno;
  OpeningGuard opening;
  Driver opened;
  bool found = false;
  if (const char* given = env::Get(env::kDriver)) {
    found = OpenFile(given, &opened);
    if (!found) SayOnce(given);
  } else if (path != nullptr) {
    found = OpenFile(path, &opened);
  } else {
    found = SearchDriver(caller, OpenFile, &opened);
  }
  return found ? Publish(opened) : nullptr;
}

int NeedsCuda(dl_phdr_info* info, size_t, void*) {
  return ElfImage(*info).Needs(kDriverSoname) ? 1 : 0;
}

}  // namespace

const Driver* OpenedDriver() {
  return g_driver.load(std::memory_order_acquire);  // pairs with Publish
}

const Driver* EnsureDriver(const void* caller) {
  const Driver* driver = OpenedDriver();
  return driver != nullptr ? driver : Open(caller, nullptr);
}

const Driver* EnsureDriverAt(const char* path) {
  const Driver* driver = OpenedDriver();
  return driver != nullptr ? driver : Open(nullptr, path);
}

bool DriverExists(const void* caller) {
  ErrnoGuard keep_errno;
  struct stat status;
  if (OpenedDriver() != nullptr) return true;
  if (const char* given = env::Get(env::kDriver)) return IsForeignFile(given, &status);
  return SearchDriver(caller, IsForeignFile, &status);
}

bool IsDriverFile(const Driver& driver, const char* path) {
  ErrnoGuard keep_errno;
  struct stat status;
  return stat(path, &status) == 0 && status.st_dev == driver.device &&
         status.st_ino == driver.inode;
}

bool OpeningDriver() { return t_opening; }

bool ApplicationHasCuda() {
  return OpenedDriver() != nullptr || dl_iterate_phdr(NeedsCuda, nullptr) != 0;
}

}  // namespace sgprs::shim
