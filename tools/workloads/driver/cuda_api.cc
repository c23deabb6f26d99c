// SPDX-License-Identifier: Apache-2.0
#include "tools/workloads/driver/cuda_api.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace workloads {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";
constexpr int kAskedVersion = 12000;

struct EntryName {
  const char* name;
  DriverEntry entry;
};
constexpr EntryName kEntries[] = {
    {"direct", DriverEntry::kDirect},     {"dlopen", DriverEntry::kDlopen},
    {"getproc", DriverEntry::kGetProc},   {"getproc-v1", DriverEntry::kGetProcV1},
    {"deepbind", DriverEntry::kDeepBind},
};

using GetProcV1 = CUresult (*)(const char*, void**, int, cuuint64_t);
using GetProcV2 = CUresult (*)(const char*, void**, int, cuuint64_t,
                               CUdriverProcAddressQueryResult*);

bool Missing(const char* name, std::string* error) {
  *error = std::string("the driver has no ") + name;
  return false;
}

bool FromSymbols(void* library, CudaApi* api, std::string* error) {
#define CUDA_CALL(name, symbol)                                               \
  api->name = reinterpret_cast<decltype(api->name)>(dlsym(library, #symbol)); \
  if (api->name == nullptr) return Missing(#symbol, error);
#include "tools/workloads/driver/cuda_calls.inc"
#undef CUDA_CALL
  return true;
}

bool FromProcAddress(void* library, bool v1, CudaApi* api, std::string* error) {
  const char* getter_name = v1 ? "cuGetProcAddress" : "cuGetProcAddress_v2";
  void* getter = dlsym(library, getter_name);
  if (getter == nullptr) return Missing(getter_name, error);
  const auto look_up = [&](const char* name) -> void* {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status;
    const CUresult result =
        v1 ? reinterpret_cast<GetProcV1>(getter)(name, &found, kAskedVersion, 0)
           : reinterpret_cast<GetProcV2>(getter)(name, &found, kAskedVersion, 0, &status);
    return result == CUDA_SUCCESS ? found : nullptr;
  };
#define CUDA_CALL(name, symbol)                                      \
  api->name = reinterpret_cast<decltype(api->name)>(look_up(#name)); \
  if (api->name == nullptr) return Missing(#name, error);
#include "tools/workloads/driver/cuda_calls.inc"
#undef CUDA_CALL
  return true;
}

// The plug-in lies in ../lib, seen from this program.
bool FromPlugIn(CudaApi* api, std::string* error) {
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length <= 0) {
    *error = "can not find this program's own directory";
    return false;
  }
  std::string path(self, static_cast<size_t>(length));
  path.resize(path.rfind('/'));
  path += "/../lib/libworkload-plugin.so";
  void* plug_in = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (plug_in == nullptr) {
    *error = dlerror();
    return false;
  }
  using Fill = int (*)(CudaApi*);
  const auto fill = reinterpret_cast<Fill>(dlsym(plug_in, "workload_plugin_fill"));
  if (fill == nullptr || fill(api) == 0) {
    *error = path + " is not the plug-in of this program";
    return false;
  }
  return true;
}

}  // namespace

bool ParseDriverEntry(const std::string& text, DriverEntry* entry) {
  for (const EntryName& candidate : kEntries) {
    if (text == candidate.name) {
      *entry = candidate.entry;
      return true;
    }
  }
  return false;
}

bool OpenDriver(DriverEntry entry, CudaApi* api, std::string* error) {
  if (entry == DriverEntry::kDirect) {
    if (DirectDriver(api)) return true;
    *error = "this program is not linked against libcuda.so.1: use another --entry";
    return false;
  }
  if (entry == DriverEntry::kDeepBind) return FromPlugIn(api, error);
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    *error = dlerror();
    return false;
  }
  if (entry == DriverEntry::kDlopen) return FromSymbols(library, api, error);
  return FromProcAddress(library, entry == DriverEntry::kGetProcV1, api, error);
}

void Check(const CudaApi& api, CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  if (api.cuGetErrorName == nullptr || api.cuGetErrorName(result, &name) != CUDA_SUCCESS) {
    name = nullptr;
  }
  std::fprintf(stderr, "%s: %s: %s (%d)\n", program_invocation_short_name, what,
               name != nullptr ? name : "unknown error", static_cast<int>(result));
  std::fflush(stdout);
  // Not exit(): threads may be inside the driver, whose destructors would then run under them.
  _exit(1);
}

}  // namespace workloads
