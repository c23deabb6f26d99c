// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "tests/stress/shim_order/program.h"

namespace shim_order {
namespace {

uint64_t Mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3ull; }

void Fill(std::vector<uint32_t>* to, uint32_t value, uint32_t width) {
  uint32_t word = value;
  if (width == 1) word = (value & 0xff) * 0x01010101u;
  if (width == 2) word = (value & 0xffff) * 0x00010001u;
  for (uint32_t& w : *to) w = word;
}

void Run(const Op& op, int index, Results* results) {
  auto& buffers = results->buffers;
  switch (op.kind) {
    case OpKind::kLaunch:
    case OpKind::kOtherLaunch:
      for (int i = 0; i < kWords; ++i) {
        buffers[op.to][i] = buffers[op.to][i] * op.a + buffers[op.from][i] + op.b;
      }
      break;
    case OpKind::kHostFunction:
      for (uint32_t& w : buffers[op.to]) w = w * op.a + op.b;
      break;
    case OpKind::kCopy:
    case OpKind::kSyncCopy:
      buffers[op.to] = buffers[op.from];
      break;
    case OpKind::kFill:
    case OpKind::kSyncFill:
    case OpKind::kRenewBuffer:
      Fill(&buffers[op.to], op.a, op.width);
      break;
    case OpKind::kHostWrite:
      for (int i = 0; i < kWords; ++i) buffers[op.to][i] = op.a + static_cast<uint32_t>(i);
      break;
    case OpKind::kGraphLaunch:
    case OpKind::kBatchCopy:
      for (const Op& node : op.nodes) Run(node, index, results);
      break;
    case OpKind::kHostRead:
      results->reads[index] = Hash(buffers[op.from]);
      break;
    default:
      break;
  }
}

}  // namespace

const char* NameOf(OpKind kind) {
  static constexpr const char* kNames[] = {
      "launch",      "copy",         "batch copy",   "fill",         "host function",
      "sync copy",   "sync fill",    "renew buffer", "event record", "event wait",
      "value write", "value wait",   "event sync",   "event query",  "renew event",
      "stream sync", "stream query", "renew stream", "context sync", "reload module",
      "make graph",  "graph launch", "graph params", "other launch", "host write",
      "host read",   "nothing"};
  return kNames[static_cast<int>(kind)];
}

uint64_t Hash(const std::vector<uint32_t>& words) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (uint32_t word : words) hash = Mix(hash, word);
  return hash;
}

uint64_t Checksum(const Results& results) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const auto& buffer : results.buffers) hash = Mix(hash, Hash(buffer));
  for (uint64_t read : results.reads) hash = Mix(hash, read);
  return hash;
}

uint32_t FirstWord(int buffer, int word) { return static_cast<uint32_t>(buffer * 1000 + word); }

Results Interpret(const Program& program) {
  Results results;
  results.buffers.resize(kAllBuffers);
  for (int b = 0; b < kAllBuffers; ++b) {
    for (int i = 0; i < kWords; ++i) results.buffers[b].push_back(FirstWord(b, i));
  }
  results.reads.resize(program.ops.size());
  for (size_t i = 0; i < program.ops.size(); ++i) {
    Run(program.ops[i], static_cast<int>(i), &results);
  }
  return results;
}

}  // namespace shim_order
