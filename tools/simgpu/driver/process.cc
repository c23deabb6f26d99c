// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/driver/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime/base/environment.h"
#include "tools/simgpu/driver/memory_table.h"
#include "tools/simgpu/driver/objects.h"
#include "tools/simgpu/driver/thread_state.h"
#include "tools/simgpu/driver/visible_devices.h"

namespace sgprs::simgpu::driver {
namespace {

void InForkedChild() {
  Process& process = TheProcess();
  process.state.store(ProcessState::kForked);
  process.channel.CloseInChild();
}

void AtExit() {
  Process& process = TheProcess();
  ProcessState ready = ProcessState::kReady;
  if (process.state.compare_exchange_strong(ready, ProcessState::kDeinitialised)) {
    process.executor.StopEffects();
  }
}

uint64_t CallNs() {
  const char* text = env::Get(env::kSimgpuCallNs);
  return text != nullptr ? strtoull(text, nullptr, 10) : 0;
}

CUresult Start(Process& process) {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list != nullptr && list[0] == '\0') return CUDA_ERROR_NO_DEVICE;
  if (CUresult result = process.channel.Connect(env::SimgpuSocketPath())) return result;
  if (!ChooseVisibleDevices(process.channel.welcome())) return CUDA_ERROR_NO_DEVICE;
  if (CUresult result = process.queue.Start(&process.channel)) return result;
  if (CUresult result = Memory().Start(process.channel.welcome().memory_bytes, DeviceCount()))
    return result;
  process.call_ns = CallNs();
  ReadFaultPlan(&process.fault);
  pthread_atfork(nullptr, nullptr, InForkedChild);
  std::atexit(AtExit);
  return CUDA_SUCCESS;
}

}  // namespace

Process& TheProcess() {
  static Process* process = new Process();  // never destroyed
  return *process;
}

CUresult InitialiseProcess() {
  static std::mutex* mutex = new std::mutex();
  Process& process = TheProcess();
  std::lock_guard<std::mutex> lock(*mutex);
  if (process.state.load() != ProcessState::kUninitialised) return ProcessStatus();
  const CUresult result = Start(process);
  // release: pairs with ProcessStatus; everything set up above is visible.
  if (result == CUDA_SUCCESS) {
    process.state.store(ProcessState::kReady, std::memory_order_release);
  } else {
    process.channel.CloseInChild();
    LogLine("cuInit: %d (socket %s)", static_cast<int>(result), env::SimgpuSocketPath().c_str());
  }
  return result;
}

CUresult ProcessStatus() {
  switch (TheProcess().state.load(std::memory_order_acquire)) {  // pairs with InitialiseProcess
    case ProcessState::kReady:
      return CUDA_SUCCESS;
    case ProcessState::kLost:
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    case ProcessState::kDeinitialised:
      return CUDA_ERROR_DEINITIALIZED;
    case ProcessState::kUninitialised:
    case ProcessState::kForked:
      break;
  }
  return CUDA_ERROR_NOT_INITIALIZED;
}

CUresult Enter() {
  if (InHostFunction::Active()) return CUDA_ERROR_NOT_PERMITTED;
  return ProcessStatus();
}

void MarkLost() {
  ProcessState ready = ProcessState::kReady;
  if (TheProcess().state.compare_exchange_strong(ready, ProcessState::kLost)) {
    LogLine("the device process has closed the connection");
  }
}

void LogLine(const char* format, ...) {
  const char* path = env::Get(env::kSimgpuLog);
  if (path == nullptr) return;
  char line[512];
  int size = snprintf(line, sizeof(line), "simgpu[%d] ", static_cast<int>(getpid()));
  va_list arguments;
  va_start(arguments, format);
  size += vsnprintf(line + size, sizeof(line) - static_cast<size_t>(size) - 1, format, arguments);
  va_end(arguments);
  size = std::min(size, static_cast<int>(sizeof(line)) - 2);
  line[size] = '\n';
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  if (write(fd, line, static_cast<size_t>(size) + 1) < 0) {
    // Nowhere left to say so.
  }
  close(fd);
}

CUresult NotSupported(const char* name, std::atomic<bool>* logged) {
  if (!logged->exchange(true)) LogLine("%s is not simulated", name);
  if (CUresult status = Enter()) return status;
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace sgprs::simgpu::driver
