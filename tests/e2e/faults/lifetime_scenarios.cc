// SPDX-License-Identifier: Apache-2.0
// Processes and contexts that end, fork or become something else while work is held.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/e2e/faults/probe.h"

namespace probe {
namespace {

CUstream Stream() {
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

void Launches(const Device& d, int count, uint32_t rounds) {
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  for (int i = 0; i < count; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, rounds));
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == static_cast<uint32_t>(count));
}

// exit-queued: exit() with work queued and threads that launch.
void ExitQueued(const Arguments&) {
  const Device d = Open();
  static Device device;
  device = d;
  for (int t = 0; t < 3; ++t) {
    std::thread([] {
      cuCtxSetCurrent(device.context);
      CUdeviceptr buffer = 0;
      CUstream stream = nullptr;
      if (cuMemAlloc(&buffer, kWords * 4) != CUDA_SUCCESS) return;
      if (cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS) return;
      // Errors are fine: the process is ending.
      while (Step(device, stream, buffer, buffer, 0, 1, 50) == CUDA_SUCCESS) usleep(10);
    }).detach();
  }
  Launches(d, 50, 10);
  const CUstream stream = Stream();
  const CUdeviceptr buffer = Buffer(0);
  for (int i = 0; i < 200; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 50));
  std::printf("ok\n");
  std::exit(0);
}

// exec-queued: becomes another CUDA program with work queued.
void ExecQueued(const Arguments&) {
  const Device d = Open();
  const CUstream stream = Stream();
  const CUdeviceptr buffer = Buffer(0);
  for (int i = 0; i < 100; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 50));
  execl("/proc/self/exe", "driver_probe", "eager", "10", "10", nullptr);
  Expect(false, "execl");
}

int Ended(pid_t child) {
  int status = 0;
  Expect(waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// fork-before: parent and child use CUDA, each for itself; fork-after: the child may not, as the
// driver says, and the parent does not notice.
void ForkBefore(const Arguments&) {
  const pid_t child = fork();
  const Device d = Open();
  Launches(d, 100, 20);
  if (child == 0) _exit(0);
  Expect(Ended(child) == 0, "the child's exit code");
}

void ForkAfter(const Arguments&) {
  const Device d = Open();
  const CUstream stream = Stream();
  const CUdeviceptr buffer = Buffer(0);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 50; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 50));
    const pid_t child = fork();
    if (child == 0) {
      int count = 0;
      const bool refused = cuDeviceGetCount(&count) != CUDA_SUCCESS &&
                           Step(d, stream, buffer, buffer, 0, 1) != CUDA_SUCCESS &&
                           cuStreamSynchronize(stream) != CUDA_SUCCESS;
      _exit(refused ? 0 : 1);
    }
    Expect(Ended(child) == 0, "the child is refused");
    // A child that never touches CUDA, as a data loader's.
    const pid_t quiet = fork();
    if (quiet == 0) _exit(0);
    Expect(Ended(quiet) == 0, "a quiet child");
  }
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == 250);
}

// vfork and exec of something without CUDA, while work is queued.
void Vfork(const Arguments&) {
  const Device d = Open();
  const CUstream stream = Stream();
  const CUdeviceptr buffer = Buffer(0);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 20; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 50));
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(1);
    }
    Expect(Ended(child) == 0, "true");
  }
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == 200);
}

// The primary context is reset with work queued; everything is made anew and goes on.
void Reset(const Arguments&) {
  for (int round = 0; round < 3; ++round) {
    const Device d = Open();
    const CUstream stream = Stream();
    const CUdeviceptr buffer = Buffer(0);
    for (int i = 0; i < 50; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 50));
    if (round == 1) CHECK_CU(cuStreamSynchronize(stream));
    CUdevice device;
    CHECK_CU(cuDeviceGet(&device, 0));
    CHECK_CU(cuDevicePrimaryCtxReset(device));
    EXPECT(cuStreamSynchronize(stream) != CUDA_SUCCESS);
  }
  Launches(Open(), 20, 10);
}

// A context of the application's own, destroyed with work queued.
void DestroyContext(const Arguments&) {
  CHECK_CU(cuInit(0));
  CUdevice device;
  CHECK_CU(cuDeviceGet(&device, 0));
  for (int round = 0; round < 3; ++round) {
    Device d;
    CHECK_CU(cuCtxCreate(&d.context, nullptr, 0, device));
    Load(&d);
    Launches(d, 20, 10);
    const CUstream stream = Stream();
    const CUdeviceptr buffer = Buffer(0);
    for (int i = 0; i < 50; ++i) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 50));
    CHECK_CU(cuCtxDestroy(d.context));
    EXPECT(cuStreamSynchronize(stream) != CUDA_SUCCESS);
  }
}

// The same stream and event handles made and destroyed with work held.
void Handles(const Arguments&) {
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  CUevent chain;
  CHECK_CU(cuEventCreate(&chain, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 200; ++i) {
    const CUstream stream = Stream();
    CUevent event;
    CHECK_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    if (i > 0) CHECK_CU(cuStreamWaitEvent(stream, chain, 0));
    CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 20));
    CHECK_CU(cuEventRecord(event, stream));
    CHECK_CU(cuEventRecord(chain, stream));
    CHECK_CU(cuEventDestroy(event));
    CHECK_CU(cuStreamDestroy(stream));
  }
  CHECK_CU(cuEventSynchronize(chain));
  EXPECT(Value(buffer) == 200);
}

// collective FILE WHO ROUNDS: two processes, each of which needs the other's result before it goes
// on.
void Collective(const Arguments& arguments) {
  Expect(arguments.size() >= 3, "collective FILE WHO ROUNDS");
  const int file = open(arguments[0].c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  Expect(file >= 0 && ftruncate(file, 4096) == 0, "the shared file");
  void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  Expect(at != MAP_FAILED, "mmap");
  auto* turns = static_cast<std::atomic<uint32_t>*>(at);
  const int who = Number(arguments, 1, 0);
  const Device d = Open();
  const CUdeviceptr buffer = Buffer(0);
  const CUstream stream = Stream();
  for (uint32_t i = 1; i <= static_cast<uint32_t>(Number(arguments, 2, 100)); ++i) {
    for (int k = 0; k < 8; ++k) CHECK_CU(Step(d, stream, buffer, buffer, 0, 1, 100, 64));
    CHECK_CU(cuStreamSynchronize(stream));
    // Release and acquire: the other process sees a whole round.
    turns[who].store(i, std::memory_order_release);
    while (turns[1 - who].load(std::memory_order_acquire) < i) usleep(50);
  }
  EXPECT(Value(buffer) == static_cast<uint32_t>(8 * Number(arguments, 2, 100)));
}

// What the program is told of memory.
void MemoryView(const Arguments&) {
  const Device d = Open();
  CUdeviceptr device = 0, managed = 0;
  void* host = nullptr;
  size_t before = 0, after = 0, total = 0;
  const CUdeviceptr buffer = Buffer(0);
  CHECK_CU(Step(d, nullptr, buffer, buffer, 0, 1));
  CHECK_CU(cuCtxSynchronize());
  CHECK_CU(cuMemGetInfo(&before, &total));
  CHECK_CU(cuMemAlloc(&device, 64 << 20));
  CHECK_CU(cuMemAllocManaged(&managed, 1 << 20, CU_MEM_ATTACH_GLOBAL));
  CHECK_CU(cuMemHostAlloc(&host, 1 << 20, 0));
  CHECK_CU(cuMemGetInfo(&after, &total));
  std::printf("total %zu taken %zu\n", total, before - after);
  for (const CUdeviceptr at : {device, managed, reinterpret_cast<CUdeviceptr>(host)}) {
    unsigned type = 0, is_managed = 0;
    CHECK_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    CHECK_CU(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
    std::printf("type %u managed %u\n", type, is_managed);
  }
  CUdeviceptr huge = 0;
  EXPECT_CU(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&huge, size_t{1} << 46));
}

const Scenarios kScenarios = {{"collective", Collective},
                              {"memory-view", MemoryView},
                              {"exit-queued", ExitQueued},
                              {"exec-queued", ExecQueued},
                              {"fork-before", ForkBefore},
                              {"fork-after", ForkAfter},
                              {"vfork", Vfork},
                              {"reset", Reset},
                              {"destroy-context", DestroyContext},
                              {"handles", Handles}};

}  // namespace
}  // namespace probe
