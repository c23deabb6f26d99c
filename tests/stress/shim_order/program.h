// SPDX-License-Identifier: Apache-2.0
// A random program of driver calls without data races: every two conflicting accesses are ordered
// by streams, events, NULL-stream rules, or a host that knows that the first is over. So its
// results are those of running its operations one by one, in the order of `Program::ops`.
#ifndef SGPRS_TESTS_STRESS_SHIM_ORDER_PROGRAM_H_
#define SGPRS_TESTS_STRESS_SHIM_ORDER_PROGRAM_H_

#include <cstdint>
#include <vector>

namespace shim_order {

inline constexpr int kWords = 64;  // of each buffer, 32 bits each
inline constexpr int kDeviceBuffers = 8;
inline constexpr int kPinnedBuffers = 4;
inline constexpr int kPageableBuffers = 3;
inline constexpr int kBuffers = kDeviceBuffers + kPinnedBuffers + kPageableBuffers;
inline constexpr int kOtherBuffer = kBuffers;  // device memory of a second context
inline constexpr int kAllBuffers = kBuffers + 1;
inline constexpr int kOwnStreams = 5;  // slots; a slot's stream may be destroyed and made anew
inline constexpr int kEvents = 6;
inline constexpr int kFlags = 1024;  // words that streams write and wait for, once each
inline constexpr int kModules = 2;
inline constexpr int kGraphModule = kModules;  // one more, never reloaded: graphs keep its kernel
inline constexpr int kGraphs = 3;
inline constexpr int kFirstGraphBuffer = kDeviceBuffers - 3;  // of those that are never renewed
inline constexpr int kMostThreads = 4;
// Stream numbers: own slots, then the NULL stream, then one per-thread stream a thread.
inline constexpr int kNullStream = kOwnStreams;
inline constexpr int kFirstThreadStream = kOwnStreams + 1;
inline constexpr int kStreams = kFirstThreadStream + kMostThreads;

inline bool IsDevice(int buffer) { return buffer < kDeviceBuffers; }
inline bool IsPinned(int buffer) {
  return buffer >= kDeviceBuffers && buffer < kDeviceBuffers + kPinnedBuffers;
}
inline bool IsPageable(int buffer) { return buffer >= kDeviceBuffers + kPinnedBuffers; }

enum class OpKind {
  kLaunch,        // to = to * a + from + b, word by word; `from` may be `to`
  kCopy,          // asynchronous
  kBatchCopy,     // `nodes`, in one call, in no order among themselves
  kFill,          // asynchronous, `a` in units of 1, 2 or 4 bytes
  kHostFunction,  // to (pinned) = to * a + b
  kSyncCopy,      // on the NULL stream
  kSyncFill,
  kRenewBuffer,  // free and allocate in stream order, then fill with `a`
  kEventRecord,
  kEventWait,
  kValueWrite,  // word `event` of the flags, which was 0, becomes 1
  kValueWait,   // until it is 1
  kEventSync,
  kEventQuery,  // until it says yes
  kRenewEvent,
  kStreamSync,
  kStreamQuery,
  kRenewStream,  // `a`: 1 = blocking
  kContextSync,
  kReloadModule,
  kMakeGraph,    // captured on a stream of its own, from `nodes`
  kGraphLaunch,  // `nodes`, one after the other
  kGraphParams,  // the first node's `a` and `b` for later launches
  kOtherLaunch,  // a launch in a second context, `from` pinned; over when it returns
  kHostWrite,    // to[i] = a + i
  kHostRead,     // of `from`; its hash is a result
  kNothing,      // awaits only
};
const char* NameOf(OpKind kind);

struct Op {
  OpKind kind = OpKind::kContextSync;
  int thread = 0;
  int stream = kNullStream;
  int event = -1;
  int module = -1;
  int graph = -1;
  int to = -1;
  int from = -1;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t width = 4;   // of fills
  uint32_t rounds = 0;  // how long a kernel takes
  bool alias = false;   // another way to say the same (CU_STREAM_LEGACY, cuMemcpyAsync, ...)
  uint32_t pause_us = 0;
  std::vector<Op> nodes;    // of a graph, the first a launch; or copies of a batch
  std::vector<int> awaits;  // operations of other threads that must have returned
};

struct Program {
  uint64_t seed = 0;
  int threads = 1;
  bool blocking[kOwnStreams] = {};  // of the streams at the start
  std::vector<Op> ops;
  // For each launch (by operation): the launches that are over on the device before it begins.
  std::vector<std::vector<int>> after;
};

// What a run leaves behind: all buffers, and for each kHostRead the hash of what it saw.
struct Results {
  std::vector<std::vector<uint32_t>> buffers;
  std::vector<uint64_t> reads;  // by operation
};
uint64_t Hash(const std::vector<uint32_t>& words);
uint64_t Checksum(const Results& results);
// The first words of a buffer of a new program.
uint32_t FirstWord(int buffer, int word);

Program Generate(uint64_t seed, int threads, int length);
// Runs the operations one by one on the host.
Results Interpret(const Program& program);

}  // namespace shim_order

#endif  // SGPRS_TESTS_STRESS_SHIM_ORDER_PROGRAM_H_
