// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tools/sgprs/exit_code.h"

namespace sgprs::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  int code;
  std::string out;
  std::string error;
};

Outcome Call(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = RunCommandLine(arguments);
  std::string error = testing::internal::GetCapturedStderr();
  return {code, testing::internal::GetCapturedStdout(), error};
}

// Not understood: code 2, nothing on stdout, one line on stderr that contains `part`.
void ExpectUsage(const std::vector<std::string>& arguments, const std::string& part) {
  const Outcome outcome = Call(arguments);
  EXPECT_EQ(outcome.code, kExitUsage) << part;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.error, HasSubstr(part));
  EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1) << outcome.error;
}

TEST(CommandLineTest, MistypedWordsGetTheNearestOne) {
  ExpectUsage({"stauts"}, "sgprs: unknown command 'stauts': did you mean status?");
  ExpectUsage({"--hepl"}, "unknown option --hepl: did you mean --help?");
  ExpectUsage({"status", "--jsno"}, "sgprs status: unknown option --jsno: did you mean --json?");
  ExpectUsage({"run", "--perod=3ms", "--", "x"}, "unknown option --perod: did you mean --period?");
  ExpectUsage({"help", "tsaks"}, "did you mean tasks?");
  ExpectUsage({"tasks", "extra"}, "'extra' is one word too many");
}

TEST(CommandLineTest, RunChecksItsOptionsBeforeItDoesAnything) {
  ExpectUsage({"run", "--period", "33.3", "--", "x"}, "--period: '33.3' has no unit");
  ExpectUsage({"run", "--period", "0ms", "--", "x"}, "no time at all");
  ExpectUsage({"run", "--period", "1e30s", "--", "x"}, "'1e30s' is not a duration");
  ExpectUsage({"run", "--period", "1441min", "--", "x"}, "too long: at most a day");
  ExpectUsage({"run", "--period", "5ms", "--fps", "30", "--", "x"}, "--fps");
  ExpectUsage({"run", "--class", "hihg", "--", "x"}, "did you mean high?");
  ExpectUsage({"run", "--release", "timr", "--", "x"},
              "'timr' is none of first-launch, timer, input, grid: did you mean timer?");
  ExpectUsage({"sim", "--policy", "sgpr"}, "did you mean sgprs?");
  ExpectUsage({"sim", "--tasks", "0"}, "sgprs sim: --tasks: '0'");
  ExpectUsage({"trace"}, "say what: one of ");
  ExpectUsage({"run", "--job", "launches:x", "--", "x"}, "launches:N");
  ExpectUsage({"run", "--device", "a100", "--", "x"}, "--simulate");
  ExpectUsage({"run", "--fps", "30"}, "no program");
  ExpectUsage({"run", "--fps", "30", "--"}, "no program");
  ExpectUsage({"run", "--period"}, "--period");
  ExpectUsage({"demo", "--tasks", "0"}, "--tasks");
  ExpectUsage({"demo", "--seconds", "abc"}, "--seconds");
}

TEST(CommandLineTest, EveryCommandHasHelp) {
  for (const char* command : {"run", "status", "tasks", "partitions", "policy", "demo", "sim",
                              "doctor", "version", "help"}) {
    const Outcome outcome = Call({command, "--help"});
    EXPECT_EQ(outcome.code, kExitOk) << command;
    EXPECT_THAT(outcome.out, HasSubstr(std::string("Usage: sgprs ") + command));
    EXPECT_EQ(outcome.out.back(), '\n');
    EXPECT_THAT(outcome.out, Not(HasSubstr("[Option Group"))) << command;
    EXPECT_EQ(Call({"help", command}).out, outcome.out);
  }
  EXPECT_EQ(Call({}).code, kExitUsage);
}

TEST(CommandLineTest, DemoHelpHasEveryDefault) {
  const std::string help = Call({"demo", "--help"}).out;
  for (const char* value : {"8", "6", "30", "naive,sgprs", "rtx2080ti", "resnet18", "3", "1.5"}) {
    EXPECT_THAT(help, HasSubstr(std::string("(default: ") + value));
  }
}

TEST(CommandLineTest, OptionsThatExcludeEachOtherAreAGroupLikeAnyOther) {
  EXPECT_THAT(Call({"sim", "--help"}).out,
              HasSubstr("\nInstead of a scenario (one of them):\n  --paper "));
}

TEST(CommandLineTest, VersionIsAnOptionToo) {
  EXPECT_EQ(Call({"--version"}).out, Call({"version"}).out);
  EXPECT_EQ(Call({"--version"}).code, kExitOk);
}

TEST(CommandLineTest, EnvironmentHelpListsEveryVariable) {
  const Outcome outcome = Call({"help", "environment"});
#define SGPRS_ENV(identifier, name, help) EXPECT_THAT(outcome.out, HasSubstr(name));
#include "runtime/base/environment.inc"
#undef SGPRS_ENV
  EXPECT_EQ(Call({"help", "environment", "--json"}).code, kExitOk);
}

TEST(CommandLineTest, ReadingWithoutADaemonIsOneLineAndOne) {
  for (const char* command : {"status", "tasks", "partitions", "policy"}) {
    const Outcome outcome = Call({command, "--socket", "/nonexistent/control.sock"});
    EXPECT_EQ(outcome.code, kExitFailure);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.error, HasSubstr("no daemon at /nonexistent/control.sock"));
    EXPECT_EQ(std::count(outcome.error.begin(), outcome.error.end(), '\n'), 1);
  }
}

}  // namespace
}  // namespace sgprs::cli
