// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/replace_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace sgprs {
namespace {

namespace fs = std::filesystem;

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ReplaceFileTest : public testing::Test {
 protected:
  ReplaceFileTest() {
    std::string pattern = fs::temp_directory_path() / "sgprs-test-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~ReplaceFileTest() override { fs::remove_all(directory_); }

  std::string Path(const char* name) const { return directory_ + "/" + name; }
  size_t Files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  std::string directory_;
};

TEST_F(ReplaceFileTest, MakesAndReplaces) {
  EXPECT_TRUE(ReplaceFile(Path("a"), "long text").ok());
  EXPECT_TRUE(ReplaceFile(Path("a"), "short").ok());
  EXPECT_EQ(Content(Path("a")), "short");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(ReplaceFileTest, ALinkStaysALink) {
  ASSERT_TRUE(ReplaceFile(Path("a"), "old").ok());
  fs::create_symlink("a", Path("link"));
  EXPECT_TRUE(ReplaceFile(Path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Content(Path("a")), "new");
}

// By a link: what went wrong must not take the machine's /dev/full along.
TEST_F(ReplaceFileTest, ADeviceIsWrittenToAndStaysOne) {
  fs::create_symlink("/dev/full", Path("full"));
  fs::create_symlink("/dev/null", Path("null"));
  EXPECT_TRUE(ReplaceFile(Path("null"), "text").ok());
  const Status full = ReplaceFile(Path("full"), "text");
  EXPECT_EQ(full.text(), "No space left on device");
  EXPECT_TRUE(fs::is_character_file(Path("null")));
  EXPECT_TRUE(fs::is_character_file(Path("full")));
}

TEST_F(ReplaceFileTest, WhatCanNotBeWrittenLeavesNothing) {
  EXPECT_EQ(ReplaceFile(Path("missing/a"), "text").text(), "No such file or directory");
  EXPECT_EQ(ReplaceFile(directory_, "text").text(), "Is a directory");
  EXPECT_EQ(Files(), 0u);
}

}  // namespace
}  // namespace sgprs
