// SPDX-License-Identifier: Apache-2.0
// The real driver: found and opened at the application's first use of CUDA, never before, and kept
// open until the process ends.
//
// Searched in this order: $SGPRS_DRIVER alone, if it is set; the directories that the loader would
// search for the object that asks (its RPATH, the LD_LIBRARY_PATH of the start, its RUNPATH, the
// system's); ld.so.cache; a few usual places. We are a libcuda.so.1 ourselves: our own file, and
// other copies of this shim, are passed over. It is opened by path, because a path is not matched
// against the SONAMEs of what is loaded (ours is libcuda.so.1).
//
// Any thread. No lock: threads that come at once all open it (the loader gives them the same
// object) and the first to finish is kept. So no order can form between a lock of ours and the
// loader's.
#ifndef SGPRS_SHIM_INTERPOSE_DRIVER_H_
#define SGPRS_SHIM_INTERPOSE_DRIVER_H_

#include <sys/types.h>

#include <cstdint>

namespace sgprs::shim {

inline constexpr char kDriverSoname[] = "libcuda.so.1";

struct Driver {
  void* handle = nullptr;
  uintptr_t begin = 0;  // its mapping
  uintptr_t end = 0;
  dev_t device = 0;  // its file
  ino_t inode = 0;

  bool Holds(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= begin && at < end;
  }
};

// The driver if it is open, else null. A load.
const Driver* OpenedDriver();

// Opens it if need be. `caller` is an address in the object that asks for it, or null for the main
// program. Null if there is none; not remembered, so the next call looks again. Blocks for as long
// as loading takes. Null too within the driver's own constructors. Keeps errno; may use up dlerror.
const Driver* EnsureDriver(const void* caller);

// The same for a caller that names the file. Ignores `path` if $SGPRS_DRIVER is set or a driver is
// open already; compare with IsDriverFile.
const Driver* EnsureDriverAt(const char* path);

// True if EnsureDriver(caller) would have a file to open. Opens nothing.
bool DriverExists(const void* caller);

// True if `path` is the very file that `driver` was opened from.
bool IsDriverFile(const Driver& driver, const char* path);

// True while this thread is inside EnsureDriver: what the driver's constructors ask of the loader
// is not ours to answer.
bool OpeningDriver();

// True if the application has brought in CUDA in a way that would show without us too: a driver is
// open, or an object that needs libcuda.so.1 is loaded.
bool ApplicationHasCuda();

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_DRIVER_H_
