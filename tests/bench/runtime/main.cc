// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/runtime/probes.h"

namespace sgprs::bench {
namespace {

constexpr const char* kUsage =
    "usage: runtime_probe grant SOCKET COUNT PAUSE_NS CPU | futex COUNT PAUSE_NS CPU CPU | "
    "register SOCKET COUNT | connect COUNT\n";

uint64_t Number(const std::string& text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != '\0') Fail("'" + text + "' is no number");
  return number;
}

int ShowTrips(std::vector<uint64_t> trips) {
  if (trips.empty()) Fail("nothing was measured");
  std::sort(trips.begin(), trips.end());
  const auto at = [&trips](double part) {
    return trips[static_cast<size_t>(part * static_cast<double>(trips.size() - 1))];
  };
  std::printf("{\"count\":%zu,\"min_ns\":%lu,\"p50_ns\":%lu,\"p90_ns\":%lu,\"p99_ns\":%lu}\n",
              trips.size(), trips.front(), at(0.5), at(0.9), at(0.99));
  return 0;
}

int ShowTotal(uint64_t ns) {
  std::printf("{\"total_ns\":%lu}\n", ns);
  return 0;
}

int Run(const std::vector<std::string>& words) {
  const std::string call = words.empty() ? "" : words[0];
  if (call == "grant" && words.size() == 5) {
    return ShowTrips(
        GrantRoundTrips(words[1], Number(words[2]), Number(words[3]), Number(words[4])));
  }
  if (call == "futex" && words.size() == 5) {
    return ShowTrips(
        FutexRoundTrips(Number(words[1]), Number(words[2]), Number(words[3]), Number(words[4])));
  }
  if (call == "register" && words.size() == 3) {
    return ShowTotal(RegisterAtOnce(words[1], Number(words[2])));
  }
  if (call == "connect" && words.size() == 2) return ShowTotal(ConnectAtOnce(Number(words[1])));
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace

void Fail(const std::string& what) {
  std::fprintf(stderr, "runtime_probe: %s\n", what.c_str());
  std::_Exit(1);
}

}  // namespace sgprs::bench

int main(int argc, char** argv) {
  return sgprs::bench::Run(std::vector<std::string>(argv + 1, argv + argc));
}
