// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/sim_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>

#include "runtime/base/clock.h"

namespace sgprs::cli {

Result<std::vector<model::SimResult>> RunAll(const std::vector<SimJob>& jobs, unsigned threads,
                                             const SimProgress& progress) {
  std::vector<std::optional<Result<model::SimResult>>> results(jobs.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  size_t done = 0;
  const auto work = [&] {
    // Relaxed: the counter only deals out indices and the flag only ends early; results are handed
    // over by join().
    while (!failed.load(std::memory_order_relaxed)) {
      const size_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= jobs.size()) return;
      results[index] = model::Run(jobs[index].scenario, jobs[index].options);
      if (!results[index]->ok()) failed.store(true, std::memory_order_relaxed);
      const std::lock_guard<std::mutex> lock(mutex);
      ++done;
      if (progress) progress(done, jobs.size());
    }
  };
  std::vector<std::thread> others;
  const size_t wanted = std::min<size_t>(std::max(1u, threads), jobs.size());
  for (size_t i = 1; i < wanted; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();

  std::vector<model::SimResult> out;
  out.reserve(jobs.size());
  for (std::optional<Result<model::SimResult>>& result : results) {
    if (!result.has_value()) continue;  // after a failure, which comes
    if (!result->ok()) return result->status();
    out.push_back(std::move(*result).value());
  }
  return out;
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1), began_ns_(NowNs()) {}

ProgressLine::~ProgressLine() {
  if (shown_ns_ != 0) fmt::print(stderr, "\r\033[K");
}

void ProgressLine::Show(size_t done, size_t all) {
  const uint64_t now_ns = NowNs();
  const uint64_t past_ns = now_ns - began_ns_;
  if (!terminal_ || past_ns < kNsPerSecond || now_ns - shown_ns_ < kNsPerSecond / 5) return;
  shown_ns_ = now_ns;
  const double left_s = static_cast<double>(past_ns) / 1e9 * static_cast<double>(all - done) /
                        static_cast<double>(std::max<size_t>(1, done));
  fmt::print(stderr, "\rsgprs sim: {} of {} runs, about {:.0f} s left\033[K", done, all, left_s);
  std::fflush(stderr);
}

}  // namespace sgprs::cli
