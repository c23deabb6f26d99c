// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over files: replay_main PATH... (a directory means each regular file in it).
// Each input is fed whole, empty, and cut short in 16 places, since a parser that trusts a length
// fails on the cut ones. Stops only by the target's own crash; prints how many inputs were fed.
// Exit: 0 fed something, 2 no input.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kCuts = 16;

// Feeds copies of exactly the input's size, so that AddressSanitizer sees a read past its end.
void Feed(const std::vector<uint8_t>& input, size_t bytes) {
  const std::vector<uint8_t> exact(input.begin(), input.begin() + static_cast<ptrdiff_t>(bytes));
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

int FeedFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<uint8_t> input((std::istreambuf_iterator<char>(file)),
                                   std::istreambuf_iterator<char>());
  for (size_t cut = 0; cut < kCuts; ++cut) Feed(input, input.size() * cut / kCuts);
  Feed(input, input.size());
  return 1;
}

int FeedPath(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return FeedFile(path);
  int fed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file()) fed += FeedFile(entry.path());
  }
  return fed;
}

}  // namespace

int main(int argc, char** argv) {
  int fed = 0;
  for (int i = 1; i < argc; ++i) fed += FeedPath(argv[i]);
  std::printf("%d inputs fed\n", fed);
  return fed > 0 ? 0 : 2;
}
