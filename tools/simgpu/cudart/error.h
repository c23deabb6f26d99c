// SPDX-License-Identifier: Apache-2.0
// The last error of each thread, and the way from a driver call to a runtime answer.
#ifndef SGPRS_TOOLS_SIMGPU_CUDART_ERROR_H_
#define SGPRS_TOOLS_SIMGPU_CUDART_ERROR_H_

#include <atomic>

#include "tools/simgpu/cudart/api.h"
#include "tools/simgpu/cudart/driver.h"

namespace sgprs::simgpu::cudart {

// Remembers `error` for cudaGetLastError (not success, nor "not ready") and returns it.
cudaError_t Say(cudaError_t error);
inline cudaError_t Say(CUresult result) { return Say(static_cast<cudaError_t>(result)); }

// The thread's last error, left in place.
cudaError_t LastError();

// A call that is exported and does nothing: cudaErrorNotSupported, logged once a name.
// (The generated entries know no header: int, and a name without a type.)
int NotSupported(const char* name, std::atomic<bool>* logged) asm("sgprs_cudart_not_supported");
// One line to $SGPRS_SIMGPU_LOG, if that is set.
void LogLine(const char* text, const char* detail);

// While one lives, stream 0 of this thread is its per-thread default stream (_ptsz, _ptds calls).
class PerThreadDefaultStream {
 public:
  PerThreadDefaultStream();
  ~PerThreadDefaultStream();
  PerThreadDefaultStream(const PerThreadDefaultStream&) = delete;
  PerThreadDefaultStream& operator=(const PerThreadDefaultStream&) = delete;
  static bool Active();

 private:
  bool before_;
};

inline CUstream Resolve(cudaStream_t stream) {
  return stream == nullptr && PerThreadDefaultStream::Active() ? CU_STREAM_PER_THREAD : stream;
}

// Makes a driver call of this thread's context and says how it went.
template <typename... P, typename... A>
cudaError_t Call(CUresult (*Driver::*call)(P...), A... arguments) {
  const Driver* driver;
  if (cudaError_t bad = Enter(&driver)) return Say(bad);
  if (driver->*call == nullptr) return Say(cudaErrorNotSupported);
  return Say((driver->*call)(static_cast<P>(arguments)...));
}

// The same for calls that need no context.
template <typename... P, typename... A>
cudaError_t CallDriver(CUresult (*Driver::*call)(P...), A... arguments) {
  const Driver* driver;
  if (cudaError_t bad = GetDriver(&driver)) return Say(bad);
  if (driver->*call == nullptr) return Say(cudaErrorNotSupported);
  return Say((driver->*call)(static_cast<P>(arguments)...));
}

}  // namespace sgprs::simgpu::cudart

#endif  // SGPRS_TOOLS_SIMGPU_CUDART_ERROR_H_
