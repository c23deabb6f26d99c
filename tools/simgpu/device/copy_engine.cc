// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/copy_engine.h"

#include <algorithm>
#include <cmath>

namespace sgprs::simgpu {
namespace {
constexpr double kLongestNs = 1e18;  // bytes are the client's word
}  // namespace

void CopyEngine::StartFront(uint64_t now_ns) {
  const double ns = latency_ns_ + static_cast<double>(queue_.front().bytes) / bytes_per_ns_;
  start_ns_ = now_ns;
  end_ns_ = now_ns + static_cast<uint64_t>(std::ceil(std::min(ns, kLongestNs)));
}

void CopyEngine::Add(uint64_t tag, uint64_t bytes, uint64_t now_ns) {
  queue_.push_back({tag, bytes});
  if (queue_.size() == 1) StartFront(now_ns);
}

void CopyEngine::Remove(uint64_t tag, uint64_t now_ns) {
  if (queue_.empty()) return;
  const bool running = queue_.front().tag == tag;
  std::erase_if(queue_, [tag](const Copy& copy) { return copy.tag == tag; });
  if (running && !queue_.empty()) StartFront(now_ns);
}

uint64_t CopyEngine::NextEndNs() const { return queue_.empty() ? UINT64_MAX : end_ns_; }

void CopyEngine::Advance(uint64_t to_ns, std::vector<CopyEnd>* ended) {
  while (!queue_.empty() && end_ns_ <= to_ns) {
    ended->push_back({queue_.front().tag, start_ns_, end_ns_});
    queue_.pop_front();
    if (!queue_.empty()) StartFront(end_ns_);
  }
}

}  // namespace sgprs::simgpu
