// SPDX-License-Identifier: Apache-2.0
#include "runtime/observe/trace_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace sgprs::observe {
namespace {

using nlohmann::json;

std::string TempPath() {
  return ::testing::TempDir() + "/trace-" + std::to_string(getpid()) + ".json";
}

json ReadJson(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file, nullptr, false);
}

TEST(TraceFile, IsWholeAfterEveryFlush) {
  const std::string path = TempPath();
  auto file = TraceFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().text();
  EXPECT_EQ(ReadJson(path)["traceEvents"].size(), 0u);
  (*file)->NameProcess(1, "tasks \"quoted\"");
  (*file)->Slice({1, 2}, "one", 1'234'567, 2'000'000, "\"job\":3");
  ASSERT_TRUE((*file)->Flush().ok());
  EXPECT_EQ(ReadJson(path)["traceEvents"].size(), 3u);
  (*file)->Instant({1, 2}, "mark", 5, "");
  file->reset();
  const json events = ReadJson(path)["traceEvents"];
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0]["args"]["name"], "tasks \"quoted\"");
  EXPECT_NEAR(events[2]["ts"].get<double>(), 1234.567, 0.0005);
  EXPECT_NEAR(events[2]["dur"].get<double>(), 765.433, 0.0005);
  EXPECT_EQ(events[2]["args"]["job"], 3);
  EXPECT_EQ(events[3]["ph"], "i");
  unlink(path.c_str());
}

// Perfetto reads a double, multiplies by 1000 and cuts off.
TEST(TraceFile, NoNanosecondIsLostByWhoCutsOff) {
  const std::string path = TempPath();
  auto file = TraceFile::Open(path);
  ASSERT_TRUE(file.ok());
  std::vector<uint64_t> times;
  for (uint64_t i = 0; i < 1000; ++i) times.push_back(2'000'000'000'000'000 + i * 1'000'003);
  for (const uint64_t ns : times) (*file)->Slice({1, 1}, "s", ns, ns + 999'999, "");
  file->reset();
  const json events = ReadJson(path)["traceEvents"];
  ASSERT_EQ(events.size(), times.size());
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(static_cast<uint64_t>(events[i]["ts"].get<double>() * 1000), times[i]);
    EXPECT_EQ(static_cast<uint64_t>(events[i]["dur"].get<double>() * 1000), 999'999u);
  }
  unlink(path.c_str());
}

TEST(TraceFile, FlushesByItselfWhenMuchIsHeld) {
  const std::string path = TempPath();
  auto file = TraceFile::Open(path);
  ASSERT_TRUE(file.ok());
  for (int i = 0; i < 10'000; ++i) (*file)->Slice({1, 1}, "slice", 1, 2, "");
  EXPECT_GT(ReadJson(path)["traceEvents"].size(), 1000u);
  unlink(path.c_str());
}

TEST(TraceFile, SaysWhyItCanNotBeWritten) {
  auto file = TraceFile::Open("/nonexistent/trace.json");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), ErrorCode::kInvalid);
  EXPECT_NE(file.status().text().find("/nonexistent/trace.json"), std::string::npos);
}

TEST(TraceFile, FullDiskIsAnErrorOnce) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  EXPECT_FALSE(TraceFile::Open("/dev/full").ok());
}

}  // namespace
}  // namespace sgprs::observe
