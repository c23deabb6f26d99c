// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/run_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sgprs::cli {
namespace {

using ::testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

const Installation kAt = Installation::At("/opt/sgprs/bin");

Variables Build(const RunOptions& options, const Variables& present = {}) {
  Result<Variables> out = BuildRunEnvironment(options, kAt, [&present](const char* name) {
    const auto found = present.find(name);
    return found == present.end() ? nullptr : found->second.c_str();
  });
  EXPECT_TRUE(out.ok()) << out.status().text();
  return out.ok() ? *out : Variables();
}

TEST(InstallationTest, LibrariesLieBesideTheProgramsDirectory) {
  EXPECT_EQ(kAt.shim, "/opt/sgprs/lib/libsgprs-shim.so");
  EXPECT_EQ(kAt.simgpu_cuda, "/opt/sgprs/lib/simgpu/libcuda.so.1");
  EXPECT_EQ(kAt.Program("sgprsd"), "/opt/sgprs/bin/sgprsd");
}

TEST(RunEnvironmentTest, WithoutOptionsOnlyThePreload) {
  EXPECT_EQ(Build({}), (Variables{{"LD_PRELOAD", kAt.shim}}));
}

TEST(RunEnvironmentTest, KeepsOtherPreloadsAndNamesItselfOnce) {
  EXPECT_EQ(Build({}, {{"LD_PRELOAD", "/a.so /b.so"}})["LD_PRELOAD"], kAt.shim + ":/a.so:/b.so");
  EXPECT_EQ(Build({}, {{"LD_PRELOAD", "/a.so:" + kAt.shim}})["LD_PRELOAD"], kAt.shim + ":/a.so");
}

TEST(RunEnvironmentTest, DescribesTheTask) {
  RunOptions options;
  options.name = "camera";
  options.period_ns = 33'300'000;
  options.deadline_ns = 20'000'000;
  options.task_class = "high";
  options.job = "launches:12";
  options.backend = "green";
  options.require = true;
  options.socket = "/tmp/s";
  const Variables out = Build(options);
  EXPECT_EQ(out, (Variables{{"LD_PRELOAD", kAt.shim},
                            {"SGPRS_NAME", "camera"},
                            {"SGPRS_PERIOD_NS", "33300000"},
                            {"SGPRS_DEADLINE_NS", "20000000"},
                            {"SGPRS_CLASS", "high"},
                            {"SGPRS_JOB", "launches:12"},
                            {"SGPRS_BACKEND", "green"},
                            {"SGPRS_REQUIRE", "1"},
                            {"SGPRS_SOCKET", "/tmp/s"}}));
}

TEST(RunEnvironmentTest, SimulationPutsTheStandInFirst) {
  RunOptions options;
  options.simulate = true;
  options.kernels = {"/k/a.so", "/k/b.so"};
  options.simgpu_socket = "/run/g.sock";
  const Variables out = Build(
      options, {{"LD_LIBRARY_PATH", "/usr/local/cuda/lib64"}, {"SGPRS_SIMGPU_KERNELS", "/old.so"}});
  EXPECT_EQ(out.at("LD_LIBRARY_PATH"), kAt.simgpu_lib + ":/usr/local/cuda/lib64");
  EXPECT_EQ(out.at("SGPRS_DRIVER"), kAt.simgpu_cuda);
  EXPECT_EQ(out.at("SGPRS_SIMGPU_SOCKET"), "/run/g.sock");
  EXPECT_EQ(out.at("SGPRS_SIMGPU_KERNELS"), "/k/a.so:/k/b.so:" + kAt.demo_kernels + ":/old.so");
}

TEST(RunEnvironmentTest, StandInsComeBehindTheShimInSimulationAlone) {
  Installation at = kAt;
  at.stand_ins = {"/l/libcudart.so.13", "/l/libcudnn.so.9"};
  at.stand_in_kernels = {"/l/libmath-kernels.so"};
  RunOptions options;
  for (bool simulate : {false, true}) {
    options.simulate = simulate;
    const Result<Variables> out = BuildRunEnvironment(options, at, [](const char* name) {
      return std::string(name) == "LD_PRELOAD" ? "/old.so" : nullptr;
    });
    ASSERT_TRUE(out.ok());
    const std::string between = simulate ? ":/l/libcudart.so.13:/l/libcudnn.so.9" : "";
    EXPECT_EQ(out->at("LD_PRELOAD"), kAt.shim + between + ":/old.so");
    if (!simulate) continue;
    EXPECT_EQ(out->at("SGPRS_SIMGPU_KERNELS"), "/l/libmath-kernels.so:" + kAt.demo_kernels);
  }
}

TEST(RunEnvironmentTest, NvtxCallsGoToTheShimUnlessAnotherToolHasThem) {
  RunOptions options;
  EXPECT_FALSE(Build(options, {}).contains("NVTX_INJECTION64_PATH"));
  options.job = "nvtx:frame";
  EXPECT_EQ(Build(options, {}).at("NVTX_INJECTION64_PATH"), kAt.shim);
  EXPECT_EQ(Build(options, {{"NVTX_INJECTION64_PATH", kAt.shim}}).at("SGPRS_JOB"), "nvtx:frame");
  const Result<Variables> out = BuildRunEnvironment(options, kAt, [](const char* name) {
    return std::string(name) == "NVTX_INJECTION64_PATH" ? "/opt/nsys/inject.so" : nullptr;
  });
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().text(), HasSubstr("/opt/nsys/inject.so"));
}

TEST(RunEnvironmentTest, RefusesPathsThatLdPreloadSplits) {
  const Result<Variables> out = BuildRunEnvironment({}, Installation::At("/my tools/bin"),
                                                    [](const char*) { return nullptr; });
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.status().text(), HasSubstr("/my tools/lib"));
}

TEST(RunOptionCheckTest, SaysWhatIsWrong) {
  EXPECT_EQ(CheckTaskClass("best-effort"), "");
  EXPECT_THAT(CheckTaskClass("hihg"), HasSubstr("did you mean high?"));
  EXPECT_EQ(CheckJobRule("launches:1"), "");
  EXPECT_EQ(CheckJobRule("auto"), "");
  EXPECT_EQ(CheckJobRule("nvtx:one frame"), "");
  EXPECT_NE(CheckJobRule("nvtx:" + std::string(256, 'x')), "");
  for (const char* job : {"", "launches", "launches:", "launches:0", "launches:-1", "launches:1x",
                          "launches:9999999999", "nvtx", "nvtx:"}) {
    EXPECT_NE(CheckJobRule(job), "") << job;
  }
  EXPECT_EQ(CheckTaskName("cam 1"), "");
  EXPECT_NE(CheckTaskName(""), "");
  EXPECT_NE(CheckTaskName(std::string(64, 'a')), "");
  EXPECT_NE(CheckTaskName("a\nb"), "");
  EXPECT_NE(CheckBackend("vulkan"), "");
}

TEST(RunOptionCheckTest, FpsBecomesAPeriod) {
  EXPECT_EQ(*ParseFpsAsPeriodNs("30"), 33'333'333u);
  EXPECT_EQ(*ParseFpsAsPeriodNs("0.5"), 2'000'000'000u);
  for (const char* fps : {"", "0", "-3", "x", "30fps", "inf", "nan", "1e9"}) {
    EXPECT_FALSE(ParseFpsAsPeriodNs(fps).ok()) << fps;
  }
}

}  // namespace
}  // namespace sgprs::cli
