// SPDX-License-Identifier: Apache-2.0
// The measurements of runtime_probe. Each may block for seconds; a failure ends the process with
// one line on stderr.
#ifndef SGPRS_TESTS_BENCH_RUNTIME_PROBES_H_
#define SGPRS_TESTS_BENCH_RUNTIME_PROBES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sgprs::bench {

// ns of each round trip. `pause_ns` sleeps between them. Where the two sides run decides more than
// what they do (README.md), so the asker is kept on CPU `here`, the baseline's other side on
// `there`; sgprsd is the caller's to place.
std::vector<uint64_t> GrantRoundTrips(const std::string& socket, uint64_t count, uint64_t pause_ns,
                                      uint64_t here);
std::vector<uint64_t> FutexRoundTrips(uint64_t count, uint64_t pause_ns, uint64_t here,
                                      uint64_t there);

// ns until the last of `count` is done.
uint64_t RegisterAtOnce(const std::string& socket, uint64_t count);
uint64_t ConnectAtOnce(uint64_t count);

// A child process that answers each packet on `path` with `answer_bytes` bytes.
class EchoServer {
 public:
  EchoServer(const std::string& path, uint64_t answer_bytes);
  ~EchoServer();  // ends it

 private:
  int pid_ = 0;
};

[[noreturn]] void Fail(const std::string& what);

}  // namespace sgprs::bench

#endif  // SGPRS_TESTS_BENCH_RUNTIME_PROBES_H_
