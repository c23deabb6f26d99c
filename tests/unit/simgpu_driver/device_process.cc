// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/simgpu_driver/device_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace sgprs::simgpu::testing {
namespace {

bool Answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const bool answers = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return answers;
}

}  // namespace

const char kPtx[] = R"(
.version 7.0
.target sm_70
.address_size 64
.global .align 4 .b32 answer = 42;
.visible .entry add_one(.param .u64 add_one_param_0, .param .u32 add_one_param_1) { ret; }
.visible .entry scale(.param .u64 p0, .param .u32 p1, .param .f32 p2) { ret; }
.visible .entry no_body(.param .u64 p0) { ret; }
.visible .entry big(.param .align 4 .b8 p0[32756], .param .align 4 .b8 p1[8]) { ret; }
)";

DeviceProcess::DeviceProcess(const std::string& mps, const std::string& device, int count) {
  char directory[] = "/tmp/simgpu-driver-XXXXXX";
  directory_ = mkdtemp(directory);
  const std::string socket_path = directory_ + "/simgpu.sock";
  pid_ = fork();
  if (pid_ == 0) {
    execl(SIMGPU_PROGRAM, "simgpu", "--device", device.c_str(), "--devices",
          std::to_string(count).c_str(), "--socket", socket_path.c_str(), "--mps", mps.c_str(),
          nullptr);
    _exit(127);
  }
  setenv("SGPRS_SIMGPU_SOCKET", socket_path.c_str(), 1);
  setenv("SGPRS_SIMGPU_KERNELS", TEST_KERNELS, 1);
  for (int i = 0; i < 2000 && !Answers(socket_path); ++i) usleep(5000);
}

DeviceProcess::~DeviceProcess() {
  Kill();
  unlink((directory_ + "/simgpu.sock").c_str());
  rmdir(directory_.c_str());
}

void DeviceProcess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void DriverTest::SetUp() {
  ASSERT_OK(cuInit(0));
  ASSERT_OK(cuDevicePrimaryCtxRetain(&context_, 0));
  ASSERT_OK(cuCtxSetCurrent(context_));
  ASSERT_OK(cuModuleLoadData(&module_, kPtx));
}

CUfunction DriverTest::Function(const char* name) {
  CUfunction function = nullptr;
  EXPECT_OK(cuModuleGetFunction(&function, module_, name));
  return function;
}

CUdeviceptr DriverTest::Allocate(size_t bytes) {
  CUdeviceptr pointer = 0;
  EXPECT_OK(cuMemAlloc(&pointer, bytes));
  return pointer;
}

void Gate::Close(CUstream stream) {
  const auto wait = [](void* gate) {
    while (!static_cast<Gate*>(gate)->open_) usleep(100);
  };
  EXPECT_OK(cuLaunchHostFunc(stream, wait, this));
}

CUresult LaunchAddOne(CUfunction function, CUdeviceptr data, int count, CUstream stream) {
  void* params[] = {&data, &count};
  return cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, stream, params, nullptr);
}

}  // namespace sgprs::simgpu::testing
