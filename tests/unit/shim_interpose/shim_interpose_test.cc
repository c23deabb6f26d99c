// SPDX-License-Identifier: Apache-2.0
// Ways into the driver, each in a process of its own that knows nothing of the shim.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "process.h"

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kShim = TEST_SHIM;
const std::string kDriver = FAKE_DRIVER;  // .../libcuda.so.1, with libcuda.so beside it
const std::string kDriverDir = FAKE_DRIVER_DIR;
const std::string kRoutes = ROUTES;
const std::string kLaunch = "R cuLaunchKernel 1 2 3 4 5 6 7 8 9 10 11";

std::vector<std::string> Shimmed(std::vector<std::string> more = {}) {
  more.push_back("LD_PRELOAD=" + kShim);
  return more;
}
std::vector<std::string> WithDriver(std::vector<std::string> more = {}) {
  more.push_back("SGPRS_DRIVER=" + kDriver);
  return Shimmed(more);
}

void ExpectOneHookedLaunch(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.error, IsEmpty());
  EXPECT_EQ(std::count(outcome.log.begin(), outcome.log.end(), "H cuLaunchKernel"), 1);
  EXPECT_EQ(std::count(outcome.log.begin(), outcome.log.end(), kLaunch), 1);
}

// A way must work bare, or it proves nothing; and under the shim, where every launch is hooked.
struct Way {
  const char* way;
  std::string what;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.way << " " << way.what; }
class WaysIn : public ::testing::TestWithParam<Way> {};

TEST_P(WaysIn, WorksBare) {
  const Outcome bare =
      RunProgram({kRoutes, GetParam().way, GetParam().what}, {"LD_LIBRARY_PATH=" + kDriverDir});
  EXPECT_EQ(bare.exit_code, 0) << bare.output;
  EXPECT_THAT(bare.log, Contains(kLaunch));
}

TEST_P(WaysIn, IsHookedOnce) {
  ExpectOneHookedLaunch(RunProgram({kRoutes, GetParam().way, GetParam().what},
                                   Shimmed({"LD_LIBRARY_PATH=" + kDriverDir})));
}

TEST_P(WaysIn, IsHookedOnceWithGivenDriver) {
  ExpectOneHookedLaunch(RunProgram({kRoutes, GetParam().way, GetParam().what},
                                   WithDriver({"LD_LIBRARY_PATH=" + kDriverDir})));
}

INSTANTIATE_TEST_SUITE_P(
    All, WaysIn,
    ::testing::Values(Way{"open", "libcuda.so.1"}, Way{"open", "libcuda.so"}, Way{"open", kDriver},
                      Way{"open", kDriverDir + "/libcuda.so"},
                      Way{"open", kDriverDir + "/../driver/libcuda.so.1"},
                      Way{"deepbind", "libcuda.so.1"}, Way{"default", "libcuda.so.1"},
                      Way{"next", "libcuda.so.1"}, Way{"getproc", "libcuda.so.1"},
                      Way{"getproc2", "libcuda.so.1"}, Way{"plugin", PLUGIN},
                      Way{"plugin-deepbind", PLUGIN}),
    [](const auto& info) {
      std::string name = info.param.way;
      std::replace(name.begin(), name.end(), '-', '_');
      return name + "_" + std::to_string(info.index);
    });

TEST(Direct, LaunchIsHookedAndSynchronisationToo) {
  const Outcome outcome = RunProgram({DIRECT}, Shimmed());
  ExpectOneHookedLaunch(outcome);
  EXPECT_EQ(outcome.output, "0 0 0 -\n");
  EXPECT_THAT(outcome.log,
              ElementsAre("R loaded", "R cuInit 0", "H cuLaunchKernel", kLaunch,
                          "H cuCtxSynchronize", "R cuCtxSynchronize", "R cuGetErrorName"));
}

TEST(Direct, AnyCallMayComeBeforeInit) {
  for (const char* first : {"getproc", "table"}) {
    ExpectOneHookedLaunch(RunProgram({DIRECT, first}, WithDriver()));
  }
}

TEST(Direct, DriverIsNotLoadedBeforeItIsUsed) {
  const Outcome outcome = RunProgram({"/bin/true"}, WithDriver());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.log, IsEmpty());
}

TEST(Direct, OldDlsymVersionIsHooked) {
  ExpectOneHookedLaunch(RunProgram({ROUTES_OLD, "open", "libcuda.so.1"}, WithDriver()));
}

TEST(Direct, DrainKeepsEveryArgument) {
  const Outcome outcome = RunProgram({kRoutes, "drained", "libcuda.so.1"}, WithDriver());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.log,
              ElementsAre("R loaded", "D cuLaunchCooperativeKernel",
                          "R cuLaunchCooperativeKernel 1 2 3 4 5 6 7 8 9 10", "D cuParamSetf",
                          "R cuParamSetf 1 2 2.5", "R cuMemGetInfo_v2"));
}

TEST(Lookup, NamesNewerThanTheHeaderAreDrainedOrBare) {
  const Outcome outcome = RunProgram({kRoutes, "unknown", "libcuda.so.1"}, WithDriver());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_THAT(outcome.log, ElementsAre("R loaded", "D cuNewThingAsync",
                                       "R cuNewThingAsync 1 2 3 4 5 6 7", "R cuNewQuiet"));
}

TEST(Lookup, OneAddressASymbol) {
  EXPECT_EQ(RunProgram({kRoutes, "same", "libcuda.so.1"}, WithDriver()).exit_code, 0);
}

// Every base name at every version and flag: the export handed out is the variant that the driver
// chose, whether or not its pointers are those that it exports, and for an older driver too.
TEST(Lookup, B9HandsOutTheVariantThatTheDriverChose) {
  const std::vector<std::vector<std::string>> kinds = {{},
                                                       {"FAKE_INTERNAL=1"},
                                                       {"FAKE_VERSION=12040"},
                                                       {"FAKE_VERSION=12040", "FAKE_INTERNAL=1"},
                                                       {"FAKE_OWN_RULES=1"}};
  for (const auto& kind : kinds) {
    const Outcome outcome = RunProgram({kRoutes, "variants", kDriver}, WithDriver(kind));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output.substr(0, 2000);
    EXPECT_THAT(outcome.output, HasSubstr("32334 asked"));
  }
}

TEST(Loader, DlvsymAndNoLoadKeepTheirMeaning) {
  for (const char* way : {"versioned", "noload"}) {
    const std::vector<std::string> path = {"LD_LIBRARY_PATH=" + kDriverDir};
    EXPECT_EQ(RunProgram({kRoutes, way, "libcuda.so.1"}, path).exit_code, 0) << way;
    const Outcome outcome = RunProgram({kRoutes, way, "libcuda.so.1"}, Shimmed(path));
    EXPECT_EQ(outcome.exit_code, 0) << way << outcome.output;
  }
}

TEST(Loader, B6WhatIsNotCudaStaysAsItIs) {
  const Outcome bare = RunProgram({kRoutes, "plain", "libm.so.6"}, {});
  const Outcome shimmed = RunProgram({kRoutes, "plain", "libm.so.6"}, WithDriver());
  EXPECT_EQ(bare.exit_code, 0) << bare.output;
  EXPECT_EQ(shimmed.exit_code, 0);
  EXPECT_EQ(shimmed.output, bare.output);
  EXPECT_THAT(shimmed.error, IsEmpty());
  EXPECT_THAT(shimmed.log, IsEmpty());
}

TEST(Loader, CallerDecidesNextAndRunpath) {
  const std::vector<std::string> command = {kRoutes, "neighbours", NEIGHBOUR_RUNPATH};
  const std::string neighbours = std::string(NEIGHBOUR_1) + ":" + NEIGHBOUR_2;
  const Outcome bare = RunProgram(command, {"LD_PRELOAD=" + neighbours});
  EXPECT_EQ(bare.output, "next 2\nrunpath 1\n");
  // The shim before, between and after them.
  for (const std::string& preload : {kShim + ":" + neighbours, neighbours + ":" + kShim,
                                     NEIGHBOUR_1 + (":" + kShim) + ":" + NEIGHBOUR_2}) {
    const Outcome outcome = RunProgram(command, {"LD_PRELOAD=" + preload});
    EXPECT_EQ(outcome.output, bare.output) << preload;
  }
}

TEST(Loader, DriverConstructorsMayUseTheLoader) {
  const Outcome outcome = RunProgram({DIRECT}, WithDriver({"FAKE_CTOR=1"}));
  ExpectOneHookedLaunch(outcome);
  EXPECT_THAT(outcome.log, Contains("R constructor ok"));
}

TEST(Process, ForkBeforeAndAfterTheDriverIsOpen) {
  for (const char* way : {"fork", "fork-after"}) {
    const Outcome outcome = RunProgram({kRoutes, way, "libcuda.so.1"}, WithDriver());
    EXPECT_EQ(outcome.exit_code, 0) << way << outcome.output;
    EXPECT_THAT(outcome.log, Contains("H cuLaunchKernel"));
  }
}

TEST(Process, ThreadsOpenTheDriverTogether) {
  const Outcome outcome = RunProgram({kRoutes, "threads", "libcuda.so.1"}, WithDriver());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  EXPECT_EQ(std::count(outcome.log.begin(), outcome.log.end(), "R loaded"), 1);
}

TEST(OldDriver, WhatItLacksIsNotThere) {
  const std::vector<std::string> driver = {"SGPRS_DRIVER=" + std::string(OLD_DRIVER)};
  const Outcome looked = RunProgram({kRoutes, "missing", "libcuda.so.1"}, Shimmed(driver));
  EXPECT_EQ(looked.exit_code, 0) << looked.output;
  // A program that was linked with a newer one: NOT_SUPPORTED.
  EXPECT_EQ(RunProgram({DIRECT}, Shimmed(driver)).output, "0 0 801 -\n");
}

// Two shims, as when an application brings its own copy, found before the driver.
TEST(Process, AnotherCopyOfTheShimIsNotTheDriver) {
  ExpectOneHookedLaunch(RunProgram({DIRECT}, Shimmed({"LD_LIBRARY_PATH=" SHIM_COPY_DIR})));
}

TEST(NoDriver, CallsSayNoDevice) {
  const Outcome outcome = RunProgram({DIRECT}, Shimmed({"SGPRS_DRIVER=/nonexistent/libcuda.so.1"}));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.output, "100 3 3 CUDA_ERROR_NO_DEVICE\n");
  EXPECT_THAT(outcome.error, HasSubstr("sgprs: /nonexistent/libcuda.so.1"));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1);
}

TEST(NoDriver, LoaderAnswersAsWithoutTheShim) {
  const Outcome bare = RunProgram({kRoutes, "nodriver", "libcuda.so.1"}, {});
  if (bare.output.find("opened") != std::string::npos) {
    GTEST_SKIP() << "this machine has a driver";
  }
  for (const char* name : {"libcuda.so.1", "libcuda.so", "/nonexistent/libcuda.so.1"}) {
    const Outcome without = RunProgram({kRoutes, "nodriver", name}, {});
    const Outcome with = RunProgram({kRoutes, "nodriver", name}, Shimmed());
    EXPECT_EQ(with.output, without.output);
    EXPECT_EQ(with.exit_code, 0);
    EXPECT_THAT(with.error, IsEmpty());
    EXPECT_THAT(with.output, Not(HasSubstr("opened")));
  }
}

}  // namespace
