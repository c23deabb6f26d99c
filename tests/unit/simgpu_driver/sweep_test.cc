// SPDX-License-Identifier: Apache-2.0
// Every entry point with nothing but zeroes: before cuInit, without a context, with one.
#include <dlfcn.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/unit/simgpu_driver/device_process.h"

namespace sgprs::simgpu::testing {
namespace {

using Call = CUresult (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                          uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

std::set<std::string> AllSymbols() {
  std::set<std::string> symbols;
  std::ifstream file(ABI_VARIANTS);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string word;
    words >> word >> word;
    while (words >> word) symbols.insert(word.substr(word.find(':') + 1));
  }
  return symbols;
}

CUresult CallWithZeroes(const std::string& symbol) {
  void* address = dlsym(RTLD_DEFAULT, symbol.c_str());
  if (address == nullptr) return CUDA_ERROR_UNKNOWN;
  return reinterpret_cast<Call>(address)(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

// Answers whatever the state of the process is, or changes it.
bool NeedsNoInit(const std::string& symbol) {
  return symbol == "cuInit" || symbol == "cuDriverGetVersion" || symbol == "cuProfilerInitialize" ||
         StartsWith(symbol, "cuGetError") || StartsWith(symbol, "cuGetProcAddress") ||
         symbol == "cuGetExportTable";
}

TEST(SweepTest, NothingWorksBeforeInit) {
  const std::set<std::string> symbols = AllSymbols();
  ASSERT_GT(symbols.size(), 600u);
  for (const std::string& symbol : symbols) {
    if (NeedsNoInit(symbol)) continue;
    EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, CallWithZeroes(symbol)) << symbol;
  }
}

// Calls that all zeroes are good enough for.
bool ZeroesDo(const std::string& symbol) {
  static const std::set<std::string> good = {"cuInit",
                                             "cuCtxSetCurrent",
                                             "cuCtxSetFlags",
                                             "cuCtxSynchronize",
                                             "cuCtxSynchronize_v2",
                                             "cuCtxSetCacheConfig",
                                             "cuCtxSetSharedMemConfig",
                                             "cuCtxResetPersistingL2Cache",
                                             "cuCtxPopCurrent",
                                             "cuCtxPopCurrent_v2",
                                             "cuCtxSetLimit",
                                             "cuCtxGetStreamPriorityRange",
                                             "cuDevicePrimaryCtxRelease",
                                             "cuDevicePrimaryCtxRelease_v2",
                                             "cuDevicePrimaryCtxReset",
                                             "cuDevicePrimaryCtxReset_v2",
                                             "cuDevicePrimaryCtxSetFlags",
                                             "cuDevicePrimaryCtxSetFlags_v2",
                                             "cuDeviceGraphMemTrim",
                                             "cuMemFree_v2",
                                             "cuMemFreeHost",
                                             "cuProfilerStart",
                                             "cuProfilerStop"};
  // Copies and fills of nothing, on the default stream.
  return good.count(symbol) != 0 || StartsWith(symbol, "cuStreamQuery") ||
         StartsWith(symbol, "cuStreamSynchronize") ||
         StartsWith(symbol, "cuStreamCopyAttributes") || StartsWith(symbol, "cuMemset") ||
         StartsWith(symbol, "cuMemcpy") || StartsWith(symbol, "cuMemFreeAsync");
}

TEST_F(DriverTest, NoEntryPointTakesNullForAnAnswer) {
  for (const std::string& symbol : AllSymbols()) {
    if (StartsWith(symbol, "cuDevicePrimaryCtxRe")) continue;  // would end the test's context
    if (StartsWith(symbol, "cuStreamBeginCapture")) continue;  // zeroes do, and all else would fail
    ASSERT_OK(cuCtxSetCurrent(context_));
    const CUresult result = CallWithZeroes(symbol);
    EXPECT_TRUE(result != CUDA_SUCCESS || ZeroesDo(symbol)) << symbol;
    EXPECT_NE(CUDA_ERROR_UNKNOWN, result) << symbol;
  }
  ASSERT_OK(cuCtxSetCurrent(context_));
  EXPECT_OK(cuCtxSynchronize());  // and nothing is broken
}

}  // namespace
}  // namespace sgprs::simgpu::testing
