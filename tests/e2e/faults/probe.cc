// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/faults/probe.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/stress/shim_order/kernel.h"

namespace probe {
namespace {

std::vector<Scenario>& All() {
  static std::vector<Scenario> all;
  return all;
}

// Other threads may be inside the driver: no exit().
[[noreturn]] void Fail(const char* what, const char* why, int code) {
  std::fprintf(stderr, "driver_probe: %s: %s (%d)\n", what, why, code);
  _exit(3);
}

}  // namespace

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  Fail(what, name, result);
}

void Expect(bool good, const char* what) {
  if (!good) Fail(what, "is false", 0);
}

void ExpectError(CUresult result, CUresult expected, const char* what) {
  if (result == expected) return;
  std::fprintf(stderr, "driver_probe: expected %d\n", expected);
  const char* name = "?";
  cuGetErrorName(result, &name);
  Fail(what, name, result);
}

Device Open(int ordinal) {
  Device device;
  CUdevice handle;
  CHECK_CU(cuInit(0));
  CHECK_CU(cuDeviceGet(&handle, ordinal));
  CHECK_CU(cuDevicePrimaryCtxRetain(&device.context, handle));
  CHECK_CU(cuCtxSetCurrent(device.context));
  Load(&device);
  return device;
}

void Load(Device* device) {
  CHECK_CU(cuModuleLoadData(&device->module, shim_order::Ptx(false).c_str()));
  CHECK_CU(cuModuleGetFunction(&device->step, device->module, shim_order::kKernelName));
}

CUdeviceptr Buffer(uint32_t first) {
  CUdeviceptr buffer = 0;
  CHECK_CU(cuMemAlloc(&buffer, kWords * sizeof(uint32_t)));
  CHECK_CU(cuMemsetD32(buffer, first, kWords));
  CHECK_CU(cuCtxSynchronize());
  return buffer;
}

uint32_t Value(CUdeviceptr buffer) {
  uint32_t words[kWords];
  CHECK_CU(cuMemcpyDtoH(words, buffer, sizeof(words)));
  for (uint32_t word : words) Expect(word == words[0], "all words of a buffer are equal");
  return words[0];
}

CUresult Step(const Device& device, CUstream stream, CUdeviceptr to, CUdeviceptr from, uint32_t a,
              uint32_t b, uint32_t rounds, uint32_t blocks) {
  shim_order::KernelParams p = {to, from, kWords, a, b, rounds};
  void* params[] = {&p.to, &p.from, &p.words, &p.a, &p.b, &p.rounds};
  return cuLaunchKernel(device.step, blocks, 1, 1, kWords, 1, 1, 0, stream, params, nullptr);
}

int Number(const Arguments& arguments, size_t index, int otherwise) {
  return index < arguments.size() ? std::atoi(arguments[index].c_str()) : otherwise;
}

Scenarios::Scenarios(std::initializer_list<Scenario> list) {
  All().insert(All().end(), list.begin(), list.end());
}

}  // namespace probe

int main(int argc, char** argv) {
  for (const probe::Scenario& scenario : probe::All()) {
    if (argc < 2 || std::strcmp(argv[1], scenario.name) != 0) continue;
    scenario.run(probe::Arguments(argv + 2, argv + argc));
    std::printf("ok\n");
    return 0;
  }
  std::fprintf(stderr, "driver_probe: scenarios:\n");
  for (const probe::Scenario& scenario : probe::All())
    std::fprintf(stderr, "  %s\n", scenario.name);
  return 2;
}
