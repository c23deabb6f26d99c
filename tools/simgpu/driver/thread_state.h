// SPDX-License-Identifier: Apache-2.0
// What the driver keeps per host thread: the context stack and the per-thread default streams.
#ifndef SGPRS_TOOLS_SIMGPU_DRIVER_THREAD_STATE_H_
#define SGPRS_TOOLS_SIMGPU_DRIVER_THREAD_STATE_H_

#include <unordered_map>
#include <vector>

namespace sgprs::simgpu::driver {

struct Context;
struct Stream;

struct ThreadState {
  std::vector<Context*> stack;                       // back() is current; may hold nullptr
  std::unordered_map<Context*, Stream*> per_thread;  // by view
};

// Of the calling thread; made at first use, freed when the thread ends (with its streams).
ThreadState* ThisThread();
// As ThisThread, but nullptr when the thread has none yet.
ThreadState* ThisThreadOrNull();

// While one lives, stream NULL of this thread means CU_STREAM_PER_THREAD (the _ptsz/_ptds entries).
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

// While one lives, every driver call of this thread is CUDA_ERROR_NOT_PERMITTED: host functions.
class InHostFunction {
 public:
  InHostFunction();
  ~InHostFunction();
  InHostFunction(const InHostFunction&) = delete;
  InHostFunction& operator=(const InHostFunction&) = delete;
  static bool Active();
};

}  // namespace sgprs::simgpu::driver

#endif  // SGPRS_TOOLS_SIMGPU_DRIVER_THREAD_STATE_H_
