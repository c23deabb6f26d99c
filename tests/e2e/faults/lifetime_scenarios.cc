// SPDX-License-Identifier: Apache-2.0
// Processes and contexts that end, fork or become something else while work is held.
#include <sys/wait.h>
#include <unistd.h>

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

const Scenarios kScenarios = {{"exit-queued", ExitQueued},
                              {"exec-queued", ExecQueued},
                              {"fork-before", ForkBefore},
                              {"fork-after", ForkAfter},
                              {"vfork", Vfork},
                              {"reset", Reset},
                              {"destroy-context", DestroyContext},
                              {"handles", Handles}};

}  // namespace
}  // namespace probe
