// SPDX-License-Identifier: Apache-2.0
// A program of driver calls, one scenario a run: driver_probe SCENARIO [ARGUMENT...]. A scenario
// checks what it computes itself; the tests run it bare and under the shim.
#ifndef SGPRS_TESTS_E2E_FAULTS_PROBE_H_
#define SGPRS_TESTS_E2E_FAULTS_PROBE_H_

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace probe {

using Arguments = std::vector<std::string>;

// Ends the process with exit code 3 and a line that says what failed.
void Check(CUresult result, const char* what);
void Expect(bool good, const char* what);
void ExpectError(CUresult result, CUresult expected, const char* what);
#define CHECK_CU(call) ::probe::Check((call), #call)
#define EXPECT(condition) ::probe::Expect((condition), #condition)
#define EXPECT_CU(expected, call) ::probe::ExpectError((call), (expected), #call)

// Device 0's primary context, current; the kernel so_step.
struct Device {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction step = nullptr;
};
Device Open(int ordinal = 0);
// The kernel, for the current context.
void Load(Device* device);

inline constexpr uint32_t kWords = 64;

// `kWords` words of device memory, all `first`.
CUdeviceptr Buffer(uint32_t first);
// Every word of `buffer`, which must be equal.
uint32_t Value(CUdeviceptr buffer);

// to = to * a + from + b; `rounds` only say how long it takes, `blocks` how many SMs it can fill.
CUresult Step(const Device& device, CUstream stream, CUdeviceptr to, CUdeviceptr from, uint32_t a,
              uint32_t b, uint32_t rounds = 0, uint32_t blocks = 1);

int Number(const Arguments& arguments, size_t index, int otherwise);

struct Scenario {
  const char* name;
  void (*run)(const Arguments& arguments);
};
// Registers the scenarios of a source file.
class Scenarios {
 public:
  Scenarios(std::initializer_list<Scenario> list);
};

}  // namespace probe

#endif  // SGPRS_TESTS_E2E_FAULTS_PROBE_H_
