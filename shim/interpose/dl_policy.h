// SPDX-License-Identifier: Apache-2.0
// What the application's dlopen and dlsym mean where CUDA is concerned: the same as without us,
// with our exports in place of the driver's. All functions: any thread, no locks; may open the
// driver.
#ifndef SGPRS_SHIM_INTERPOSE_DL_POLICY_H_
#define SGPRS_SHIM_INTERPOSE_DL_POLICY_H_

namespace sgprs::shim {

enum class OpenAnswer {
  kLoader,     // nothing of ours: the loader's answer as it is
  kOurs,       // the handle of libcuda.so.1, that is, of this object
  kNotLoaded,  // RTLD_NOLOAD, and nobody has loaded CUDA: null without an error
  kMissing,    // there is no driver: fail as the loader would without us
};

// `caller` is an address in the object that calls dlopen; `file` is not null.
OpenAnswer DecideOpen(const char* file, int mode, const void* caller);

// The result for kMissing: null, with dlerror as the loader would leave it.
void* MissingFile(const char* file, int mode);

// dlsym(RTLD_DEFAULT, name), name a driver name: true with *result, or false for the loader.
bool AnswersDefault(const char* name, void** result);
// dlsym(handle, name), handle from dlopen, and a driver name or our own handle. Always answers.
bool AnswersHandle(void* handle, const char* name, void** result);

// `found` unless it lies in the real driver: then our export of that name.
void* OurExport(const char* name, void* found);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_DL_POLICY_H_
