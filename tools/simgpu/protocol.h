// SPDX-License-Identifier: Apache-2.0
// What the stand-in driver (tools/simgpu/driver, inside each client process) and the device process
// (tools/simgpu/device) share. Data lives in the client: device memory is host memory of the
// client, copies and kernel bodies run there. TIME lives in the device process: it alone decides
// when each command starts and ends, by runtime/model, on its own clock.
//
//   client                                            device process
//   commands[]  --- command_tail (client writes) ---> drains, orders per stream, simulates
//   log[]       <-- log_tail (device writes) -------- one entry per finished command, end-time
//   order client applies the effect of each entry in log order, then lets waiters go.
//
// Clock: u64 ns of CLOCK_MONOTONIC. A command starts at max(submit_ns, end of its predecessor in
// the stream, end of what it waits for), never at the moment the device process happened to wake
// up, so that a late wake-up of this machine does not stretch the simulated GPU. `submit_ns` older
// than the time that the device has already simulated counts as that time.
#ifndef SGPRS_TOOLS_SIMGPU_PROTOCOL_H_
#define SGPRS_TOOLS_SIMGPU_PROTOCOL_H_

#include <cstdint>

namespace sgprs::simgpu {

inline constexpr uint32_t kMagic = 0x554d4953;  // "SIMU"
inline constexpr uint32_t kVersion = 3;
inline constexpr uint32_t kCommandCount = 16384;  // ring sizes, powers of two
inline constexpr uint32_t kLogCount = 32768;
inline constexpr uint32_t kMaxDevices = 16;  // of one device process, all alike
inline constexpr int kAskSlots = 64;  // threads of one client that wait at once, each with its own
inline constexpr int kQuerySlots = 8;
inline constexpr int kMaxSms = 256;
inline constexpr int kSmWords = kMaxSms / 64;

enum class CommandKind : uint32_t {
  kNone = 0,
  kStreamCreate =
      1,  // stream, context, priority, sm set or sm limit; takes effect in command order
  kStreamDestroy = 2,  // after its work
  kKernel = 3,
  kCopy = 4,            // direction, bytes
  kFill = 5,            // bytes
  kEventRecord = 6,     // no time of its own; its end time is the event's stamp
  kWait = 7,            // stream waits until command `wait_seq` has finished
  kHostFunction = 8,    // see LogKind::kRunHost
  kHostDone = 9,        // client: host function of command `wait_seq` has returned
  kContextCreate = 10,  // context, sm_limit (0 = all)
  kContextDestroy = 11,
  kWaitValue = 12,       // as kHostFunction: the client looks at its memory, then says kHostDone
  kStreamPriority = 13,  // stream, priority: of the stream's later commands
};

enum class CopyDirection : uint32_t {
  kHostToDevice = 0,
  kDeviceToHost = 1,
  kDeviceToDevice = 2,
  kPeer = 3,  // from the stream's device to another one or back: as kDeviceToHost
};

// One command, 192 bytes. `seq` counts from 1 per client, without gaps; slot = seq & (count - 1).
struct Command {
  uint64_t seq;
  uint64_t submit_ns;
  uint32_t kind;       // CommandKind
  uint32_t stream;     // client-chosen id, unique while it lives
  uint32_t context;    // client-chosen id; 1 to kMaxDevices: primary contexts of device 0, 1, ...
  int32_t priority;    // kStreamCreate, kStreamPriority: CUDA sense, lower number = more urgent.
                       // kKernel: of this launch, if has_priority
  uint32_t sm_limit;   // kStreamCreate/kContextCreate: at most so many SMs (MPS affinity), 0 = none
  uint32_t direction;  // CopyDirection
  uint64_t wait_seq;
  uint64_t bytes;  // copies, fills
  // kKernel
  uint64_t blocks;        // total blocks of the grid
  uint32_t threads;       // per block
  uint32_t shared_bytes;  // static + dynamic
  uint32_t registers;     // per thread, 0 = unknown
  uint32_t cooperative;   // 1 = all blocks must be resident
  double flops;           // of the whole launch; 0 and dram_bytes 0 = unknown: the model guesses
  double dram_bytes;      // of the whole launch
  uint64_t name_hash;     // FNV-1a of the kernel's name, for the log
  uint64_t sm_set[kSmWords];  // kStreamCreate: SMs of its green context; all zero = all SMs
  uint32_t device;            // kContextCreate
  uint32_t has_priority;      // kKernel
  uint32_t fault;             // kKernel: CUresult that it ends with (faults on request), 0 = none
  uint32_t reserved0;
  uint64_t reserved[5];
};
static_assert(sizeof(Command) == 192);

enum class LogKind : uint32_t {
  kDone = 1,     // command finished
  kRunHost = 2,  // host function is at the head of its stream: run it, then send kHostDone
  kError =
      3,  // command finished with `error` (CUresult); sticky errors: every later one has it too
};

struct LogEntry {
  uint64_t seq;
  uint64_t start_ns;  // simulated
  uint64_t end_ns;
  uint32_t kind;   // LogKind
  uint32_t error;  // CUresult, 0 = success
};
static_assert(sizeof(LogEntry) == 32);

// A doorbell: ring = add 1 to `sequence`, FUTEX_WAKE if `asleep`. Sleep = set `asleep`, look again,
// FUTEX_WAIT on `sequence`.
struct Doorbell {
  uint32_t sequence;
  uint32_t asleep;
  uint32_t reserved[14];
};
static_assert(sizeof(Doorbell) == 64);

// Head of the per-client memfd: header, commands, log. The device process makes it.
struct ChannelHeader {
  uint32_t magic;
  uint32_t version;
  uint64_t total_bytes;
  uint64_t commands_offset;
  uint64_t log_offset;
  uint32_t command_count;
  uint32_t log_count;
  uint64_t client_id;
  uint8_t reserved0[16];
  uint64_t command_tail;  // @64 client writes: commands published
  uint64_t log_head;      // client writes: log entries consumed
  uint64_t reserved1[6];
  uint64_t command_head;  // @128 device writes: commands consumed
  uint64_t log_tail;      // device writes: log entries published
  uint64_t simulated_ns;  // device writes: time simulated so far
  uint64_t kernels;       // device writes: kernels of this client finished
  uint64_t reserved2[4];
  Doorbell client_doorbell;  // @192 rung by the device
  // @256 client writes. What nobody asks for may be told up to 0.5 ms late, so that a kernel's end
  // costs no wake-up. To ask: store the seq in a free slot (0 = free) or a query slot (the last one
  // polled for, seq % 8), or count `ask_all` up when no slot is free; add 1 to `asks`; ring.
  uint64_t asks;
  uint64_t ask_all;
  uint64_t reserved3[6];
  uint64_t asked[kAskSlots];
  uint64_t queried[kQuerySlots];
};
static_assert(sizeof(ChannelHeader) == 256 + 64 + 8 * (kAskSlots + kQuerySlots));

// Socket (Unix SOCK_SEQPACKET, path: $SGPRS_SIMGPU_SOCKET): the client sends Hello; the device
// answers Welcome with two fds: the channel memfd and the device-wide doorbell memfd (one page, a
// Doorbell at offset 0, rung by every client). The connection's end is the client's end: its
// commands are dropped at once. A tool sends Hello with kind kStats and gets one JSON text packet.
struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t kind;  // HelloKind
  uint32_t pid;
};
enum class HelloKind : uint32_t { kClient = 1, kStats = 2, kShutdown = 3 };

struct Welcome {
  uint32_t magic;
  uint32_t version;
  uint32_t refused;  // 0, or a CUresult
  uint32_t mps;      // 1 = MPS is on
  char name[64];     // "simulated NVIDIA GeForce RTX 2080 Ti"
  uint8_t uuid[16];
  uint32_t sm_count;
  uint32_t sm_minimum;    // green contexts: least SMs of a group ...
  uint32_t sm_alignment;  // ... and multiple
  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t copy_engines;
  uint64_t memory_bytes;
  uint32_t shared_bytes_per_sm;
  uint32_t threads_per_sm;
  uint32_t blocks_per_sm;
  uint32_t registers_per_sm;
  uint32_t clock_khz;
  uint32_t memory_clock_khz;
  uint32_t memory_bus_bits;
  uint32_t l2_bytes;
  int32_t priority_least;     // 0
  int32_t priority_greatest;  // e.g. -5
  uint32_t shared_bytes_per_block;
  uint32_t shared_bytes_per_block_optin;
  uint64_t client_id;
  uint32_t device_count;
  uint32_t reserved0;
  uint64_t reserved[7];
};

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_PROTOCOL_H_
