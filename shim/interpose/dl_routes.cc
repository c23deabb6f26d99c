// SPDX-License-Identifier: Apache-2.0
// Our dlopen, dlmopen, dlsym, dlvsym. trampolines.S asks a route what to do with each call: null
// means that request->result is the answer; else it jumps to what the route returned, with the
// application's arguments and the application as caller, so that RUNPATH, RTLD_NEXT, namespaces and
// dlerror are the loader's business alone. Compiled without sibling calls (see real_dl.cc).
#include <dlfcn.h>

#include <cstring>

#include "shim/interpose/calls.h"
#include "shim/interpose/dl_policy.h"
#include "shim/interpose/driver.h"
#include "shim/interpose/errno_guard.h"
#include "shim/interpose/real_dl.h"

namespace sgprs::shim {
namespace {

// As trampolines.S lays it out.
struct DlRequest {
  uintptr_t arguments[4];
  const void* caller;
  void* result;
};
static_assert(sizeof(DlRequest) == 48);

template <typename Function>
void* Jump(Function* function) {
  return reinterpret_cast<void*>(function);
}

// Not ours to answer: the driver's own calls.
bool FromDriver(const void* caller) {
  const Driver* driver = OpenedDriver();
  return OpeningDriver() || (driver != nullptr && driver->Holds(caller));
}

// What dlopen or dlmopen of `file` is to do; fills in *result when it is to return at once.
bool AnswersOpen(const char* file, int mode, const void* caller, void** result) {
  if (file == nullptr || FromDriver(caller)) return false;
  ErrnoGuard keep_errno;
  switch (DecideOpen(file, mode, caller)) {
    case OpenAnswer::kLoader:
      return false;
    case OpenAnswer::kOurs:
      *result = RealDlopen()(kDriverSoname, mode);
      return true;
    case OpenAnswer::kNotLoaded:
      dlerror();  // a call of dlopen clears it
      *result = nullptr;
      return true;
    case OpenAnswer::kMissing:
      *result = MissingFile(file, mode);
      return true;
  }
  return false;
}

}  // namespace
}  // namespace sgprs::shim

using namespace sgprs::shim;  // NOLINT: the C functions below belong to it

extern "C" {

__attribute__((visibility("hidden"))) void* SgprsRouteDlopen(DlRequest* request) {
  const auto* file = reinterpret_cast<const char*>(request->arguments[0]);
  const int mode = static_cast<int>(request->arguments[1]);
  if (AnswersOpen(file, mode, request->caller, &request->result)) return nullptr;
  return Jump(RealDlopen());
}

__attribute__((visibility("hidden"))) void* SgprsRouteDlmopen(DlRequest* request) {
  const auto ns = static_cast<Lmid_t>(request->arguments[0]);
  const auto* file = reinterpret_cast<const char*>(request->arguments[1]);
  const int mode = static_cast<int>(request->arguments[2]);
  if (ns == LM_ID_BASE && AnswersOpen(file, mode, request->caller, &request->result)) {
    return nullptr;
  }
  return Jump(RealDlmopen());
}

__attribute__((visibility("hidden"))) void* SgprsRouteDlsym(DlRequest* request) {
  auto* handle = reinterpret_cast<void*>(request->arguments[0]);
  const auto* name = reinterpret_cast<const char*>(request->arguments[1]);
  // Whatever the name, our own handle stands for the driver's.
  const bool concerned = name != nullptr && (IsDriverName(name) || handle == OwnMap());
  if (handle == RTLD_NEXT || !concerned || FromDriver(request->caller)) return Jump(RealDlsym());
  ErrnoGuard keep_errno;
  const bool answered = handle == RTLD_DEFAULT ? AnswersDefault(name, &request->result)
                                               : AnswersHandle(handle, name, &request->result);
  return answered ? nullptr : Jump(RealDlsym());
}

__attribute__((visibility("hidden"))) void* SgprsRouteDlvsym(DlRequest* request) {
  auto* handle = reinterpret_cast<void*>(request->arguments[0]);
  const auto* name = reinterpret_cast<const char*>(request->arguments[1]);
  const auto* version = reinterpret_cast<const char*>(request->arguments[2]);
  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !IsDriverName(name) ||
      FromDriver(request->caller)) {
    return Jump(RealDlvsym());
  }
  ErrnoGuard keep_errno;
  request->result = OurExport(name, RealDlvsym()(handle, name, version));
  return nullptr;
}

}  // extern "C"
