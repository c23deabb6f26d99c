// SPDX-License-Identifier: Apache-2.0
// The loader's cache as a file that anything may have happened to.
#include "shim/interpose/driver_search.h"

#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace sgprs::shim {
// Of real_dl.h; the cache has no use for them.
link_map* MapOf(const void*) { return nullptr; }
link_map* OwnMap() { return nullptr; }
}  // namespace sgprs::shim

namespace {

#if defined(__x86_64__)
constexpr uint32_t kFlags = 0x0303;
#else
constexpr uint32_t kFlags = 0x0a03;
#endif

class LoaderCache : public ::testing::Test {
 protected:
  void SetUp() override {
    char directory[] = "/tmp/sgprs-cache-XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    directory_ = directory;
    std::ofstream(driver()) << "x";
  }
  void TearDown() override {
    unlink(driver().c_str());
    unlink(cache().c_str());
    rmdir(directory_.c_str());
  }
  std::string driver() const { return directory_ + "/a-driver"; }
  std::string cache() const { return directory_ + "/cache"; }

  // A cache of one entry, as ldconfig writes it.
  std::string Image(const std::string& key, uint32_t flags = kFlags) const {
    const uint32_t strings = 48 + 24;
    std::string image = "glibc-ld.so.cache1.1";
    Append(&image, 1);                                                        // entries
    Append(&image, static_cast<uint32_t>(key.size() + driver().size() + 2));  // bytes of strings
    for (int i = 0; i < 5; ++i) Append(&image, 0);
    Append(&image, flags);
    Append(&image, strings);
    Append(&image, static_cast<uint32_t>(strings + key.size() + 1));
    for (int i = 0; i < 3; ++i) Append(&image, 0);  // os version, hwcap
    image += key + std::string(1, '\0') + driver() + std::string(1, '\0');
    return image;
  }
  static void Append(std::string* image, uint32_t value) {
    image->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  std::vector<std::string> Offered(const std::string& image) {
    std::ofstream(cache(), std::ios::binary | std::ios::trunc) << image;
    std::vector<std::string> offered;
    sgprs::shim::SearchLoaderCache(
        cache().c_str(),
        [](const char* path, void* context) {
          static_cast<std::vector<std::string>*>(context)->push_back(path);
          return false;
        },
        &offered);
    return offered;
  }

  std::string directory_;
};

TEST_F(LoaderCache, OffersTheDriverOfThisArchitecture) {
  EXPECT_EQ(Offered(Image("libcuda.so.1")), std::vector<std::string>{driver()});
  EXPECT_TRUE(Offered(Image("libcuda.so.1", 0x0003)).empty());
  EXPECT_TRUE(Offered(Image("libcudart.so.1")).empty());
}

TEST_F(LoaderCache, AnyTruncationOffersNothingOrTheDriver) {
  const std::string whole = Image("libcuda.so.1");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(Offered(whole.substr(0, size)).empty()) << size;
  }
}

TEST_F(LoaderCache, RandomDamageIsHarmless) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string image = Image("libcuda.so.1");
    for (int i = 0; i < 4; ++i) image[random() % image.size()] = static_cast<char>(random());
    for (const std::string& path : Offered(image)) EXPECT_FALSE(path.empty());
  }
}

}  // namespace
