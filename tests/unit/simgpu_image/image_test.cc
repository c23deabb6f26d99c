// SPDX-License-Identifier: Apache-2.0
// The same source through every container must give the same image; damage must give an error.
#include "tools/simgpu/image/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/simgpu/image/fatbin_reader.h"

namespace sgprs::simgpu {
namespace {

std::vector<uint8_t> LoadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}
std::vector<uint8_t> Fixture(const std::string& name) {
  return LoadFile(std::string(SGPRS_IMAGE_DATA "/") + name);
}

std::string ParamsOf(const ImageKernel& kernel) {
  std::string text;
  for (const ImageParam& param : kernel.params) {
    text += std::to_string(param.offset_bytes) + "+" + std::to_string(param.size_bytes) + " ";
  }
  return text;
}

std::map<std::string, ImageKernel> ByName(const Image& image) {
  std::map<std::string, ImageKernel> result;
  for (const ImageKernel& kernel : image.kernels) result[kernel.name] = kernel;
  return result;
}

// What every container of sample.cu must say.
void ExpectSample(const Image& image) {
  std::map<std::string, ImageKernel> kernels = ByName(image);
  EXPECT_EQ(kernels.size(), 5u);
  EXPECT_EQ(ParamsOf(kernels["scale"]), "0+8 8+8 16+4 20+4 ");
  EXPECT_EQ(ParamsOf(kernels["mixed"]), "0+1 8+8 16+3 32+32 64+2 66+1 72+8 ");
  EXPECT_EQ(ParamsOf(kernels["large"]), "0+4 4+4200 4208+8 ");
  EXPECT_EQ(ParamsOf(kernels["empty"]), "");
  EXPECT_EQ(ParamsOf(kernels["_Z9templatedIdEvPT_S0_"]), "0+8 8+8 ");
  EXPECT_EQ(kernels["scale"].static_shared_bytes, 1280u);
  EXPECT_EQ(kernels["scale"].max_threads, 256u);
  EXPECT_EQ(kernels["scale"].const_bytes, 16u);
  EXPECT_EQ(kernels["mixed"].static_shared_bytes, 0u);
  EXPECT_EQ(kernels["mixed"].max_threads, 1024u);
  EXPECT_EQ(kernels["large"].local_bytes, 1200u);

  std::map<std::string, ImageGlobal> globals;
  for (const ImageGlobal& global : image.globals) globals[global.name] = global;
  EXPECT_EQ(globals.size(), 5u);
  EXPECT_EQ(globals["zeroes"].size_bytes, 800u);
  EXPECT_TRUE(globals["zeroes"].initial.empty());
  EXPECT_TRUE(globals["table"].constant);
  ASSERT_EQ(globals["table"].initial.size(), 16u);
  float third = 0;
  std::memcpy(&third, globals["table"].initial.data() + 8, 4);
  EXPECT_EQ(third, -3.5f);
  ASSERT_EQ(globals["matrix"].initial.size(), 24u);
  EXPECT_EQ(globals["matrix"].initial[12], 4);
  EXPECT_EQ(globals["pointer"].size_bytes, 8u);
}

struct Container {
  const char* file;
  uint32_t asked;
  uint32_t compute;
  bool registers;
};

class ContainerTest : public testing::TestWithParam<Container> {};

TEST_P(ContainerTest, SaysWhatTheSourceSays) {
  const std::vector<uint8_t> bytes = Fixture(GetParam().file);
  Result<Image> image = ReadImage(bytes.data(), bytes.size(), GetParam().asked);
  ASSERT_TRUE(image.ok()) << image.status().text();
  EXPECT_EQ(image->compute, GetParam().compute);
  ExpectSample(*image);
  EXPECT_EQ(ByName(*image)["scale"].registers != 0, GetParam().registers);
}

TEST_P(ContainerTest, NeedsNoSize) {
  std::vector<uint8_t> bytes = Fixture(GetParam().file);
  bytes.push_back(0);
  Result<Image> image = ReadImage(bytes.data(), 0, GetParam().asked);
  ASSERT_TRUE(image.ok()) << image.status().text();
  ExpectSample(*image);
}

TEST_P(ContainerTest, EveryTruncationIsSurvived) {
  const std::vector<uint8_t> bytes = Fixture(GetParam().file);
  for (size_t size = 1; size < bytes.size(); size += 1 + size / 200) {
    // Of exactly this size, so that a sanitizer sees the first byte too many.
    auto part = std::make_unique<uint8_t[]>(size);
    std::copy_n(bytes.begin(), size, part.get());
    const Result<Image> image = ReadImage(part.get(), size, GetParam().asked);
    if (bytes[0] != '/') {
      EXPECT_FALSE(image.ok()) << size << " bytes of " << bytes.size();
    }
  }
}

TEST_P(ContainerTest, EveryDamagedByteIsSurvived) {
  const std::vector<uint8_t> bytes = Fixture(GetParam().file);
  auto copy = std::make_unique<uint8_t[]>(bytes.size());
  for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 2000) {
    for (const uint8_t value : {0x00, 0xff, bytes[at] ^ 0x10}) {
      std::copy(bytes.begin(), bytes.end(), copy.get());
      copy[at] = value;
      (void)ReadImage(copy.get(), bytes.size(), GetParam().asked).ok();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContainerTest,
                         testing::Values(Container{"sample.ptx", 75, 75, false},
                                         Container{"sample.sm_75.cubin", 75, 75, true},
                                         Container{"sample.sm_90.cubin", 90, 90, true},
                                         Container{"sample.plain.fatbin", 75, 75, true},
                                         Container{"sample.lz4.fatbin", 80, 75, false},
                                         Container{"sample.zstd.fatbin", 75, 75, true},
                                         Container{"sample.zstd.fatbin", 90, 90, true},
                                         Container{"sample.zstd.fatbin", 86, 75, false},  // its PTX
                                         Container{"sample.sm_90a.fatbin", 90, 90, true}),
                         [](const auto& info) {
                           std::string name = info.param.file;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
                           return name + "_on_" + std::to_string(info.param.asked);
                         });

TEST(Image, WrapperLeadsToItsFatbin) {
  const std::vector<uint8_t> bytes = Fixture("sample.zstd.fatbin");
  const FatbinWrapper wrapper{kFatbinWrapperMagic, 1, bytes.data(), nullptr};
  Result<Image> image = ReadImage(&wrapper, 0, 75);
  ASSERT_TRUE(image.ok()) << image.status().text();
  ExpectSample(*image);
  // Of an image whose size is known, no pointer is followed.
  EXPECT_FALSE(ReadImage(&wrapper, sizeof(wrapper), 75).ok());
}

TEST(Image, NoMemberForTheDevice) {
  const auto code = [](const char* file, uint32_t compute) {
    const std::vector<uint8_t> bytes = Fixture(file);
    const Result<Image> image = ReadImage(bytes.data(), bytes.size(), compute);
    return image.ok() ? ErrorCode::kOk : image.status().code();
  };
  EXPECT_EQ(code("sample.zstd.fatbin", 70), ErrorCode::kNotFound);
  EXPECT_EQ(code("sample.sm_75.cubin", 80), ErrorCode::kNotFound);
  EXPECT_EQ(code("sample.sm_75.cubin", 70), ErrorCode::kNotFound);
  EXPECT_EQ(code("sample.sm_90a.fatbin", 100), ErrorCode::kNotFound);
}

TEST(Image, NotAnImage) {
  EXPECT_EQ(ReadImage(nullptr, 0, 75).status().code(), ErrorCode::kInvalid);
  EXPECT_EQ(ReadImage("", 0, 75).status().code(), ErrorCode::kInvalid);
  EXPECT_EQ(ReadImage("P", 1, 75).status().code(), ErrorCode::kInvalid);
  EXPECT_EQ(ReadImage("hello", 0, 75).status().code(), ErrorCode::kInvalid);
  const std::vector<uint8_t> self = LoadFile("/proc/self/exe");
  EXPECT_EQ(ReadImage(self.data(), self.size(), 75).status().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace sgprs::simgpu
