// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/thread_state.h"

#include <pthread.h>

#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/process.h"

namespace sgprs::simgpu::driver {
namespace {

// initial-exec: one load, no call; the few bytes fit the loader's spare room for dlopen.
#define SIM_TLS thread_local __attribute__((tls_model("initial-exec")))
SIM_TLS ThreadState* t_state = nullptr;
SIM_TLS bool t_per_thread = false;
SIM_TLS bool t_in_host_function = false;
#undef SIM_TLS

void EndThread(void* value) {
  auto* state = static_cast<ThreadState*>(value);
  t_state = nullptr;
  if (ProcessStatus() == CUDA_SUCCESS) {
    for (auto& [view, stream] : state->per_thread) DropStream(stream);
  }
  delete state;
}

pthread_key_t Key() {
  static pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, EndThread);
    return made;
  }();
  return key;
}

}  // namespace

ThreadState* ThisThread() {
  if (t_state == nullptr) {
    t_state = new ThreadState();
    pthread_setspecific(Key(), t_state);
  }
  return t_state;
}

ThreadState* ThisThreadOrNull() { return t_state; }

PerThreadDefaultStream::PerThreadDefaultStream() : before_(t_per_thread) { t_per_thread = true; }
PerThreadDefaultStream::~PerThreadDefaultStream() { t_per_thread = before_; }
bool PerThreadDefaultStream::Active() { return t_per_thread; }

InHostFunction::InHostFunction() { t_in_host_function = true; }
InHostFunction::~InHostFunction() { t_in_host_function = false; }
bool InHostFunction::Active() { return t_in_host_function; }

}  // namespace sgprs::simgpu::driver
