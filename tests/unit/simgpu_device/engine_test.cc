// SPDX-License-Identifier: Apache-2.0
#include "tools/simgpu/device/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

namespace sgprs::simgpu {
namespace {

constexpr uint64_t kStart = 1'000'000'000;

struct Told {
  uint64_t client;
  LogEntry entry;
  bool operator==(const Told& other) const {
    return client == other.client && entry.seq == other.entry.seq &&
           entry.start_ns == other.entry.start_ns && entry.end_ns == other.entry.end_ns &&
           entry.kind == other.entry.kind && entry.error == other.entry.error;
  }
};

// One engine with clients 1 and 2; commands are numbered for each.
class Bench : public EngineListener {
 public:
  explicit Bench(bool mps = true, const char* device = "rtx2080ti", uint32_t devices = 1)
      : device_(*model::FindDevice(device)), engine_(device_, mps, this, kStart, devices) {
    for (uint64_t client : {1, 2}) engine_.AddClient(client, 100);
  }
  void OnLog(uint64_t client, const LogEntry& entry) override { told_.push_back({client, entry}); }

  Command Make(CommandKind kind, uint32_t stream, uint64_t submit_ns = kStart) {
    Command command{};
    command.kind = static_cast<uint32_t>(kind);
    command.stream = stream;
    command.context = 1;
    command.submit_ns = submit_ns;
    return command;
  }
  Command Kernel(uint32_t stream, double flops = 1e9, uint64_t submit_ns = kStart) {
    Command command = Make(CommandKind::kKernel, stream, submit_ns);
    command.blocks = 68 * 240;
    command.threads = 256;
    command.flops = flops;
    command.dram_bytes = 1;
    return command;
  }
  // Returns its seq.
  uint64_t Submit(Command command, uint64_t client = 1) {
    command.seq = ++last_seq_[client];
    const Status status = engine_.Submit(client, command);
    EXPECT_TRUE(status.ok()) << status.text();
    return command.seq;
  }
  Status TrySubmit(Command command, uint64_t client = 1) {
    command.seq = last_seq_[client] + 1;
    return engine_.Submit(client, command);
  }
  void Streams(std::initializer_list<uint32_t> ids, uint64_t client = 1) {
    for (uint32_t id : ids) Submit(Make(CommandKind::kStreamCreate, id), client);
  }
  void Finish() {
    while (engine_.NextEventNs() != model::kNeverNs) engine_.AdvanceTo(engine_.NextEventNs());
    engine_.AdvanceTo(engine_.now_ns());
  }
  const LogEntry* Entry(uint64_t seq, uint64_t client = 1, LogKind kind = LogKind::kDone) {
    for (const Told& told : told_) {
      if (told.client == client && told.entry.seq == seq &&
          told.entry.kind == static_cast<uint32_t>(kind)) {
        return &told.entry;
      }
    }
    return nullptr;
  }
  LogEntry Done(uint64_t seq, uint64_t client = 1) {
    const LogEntry* entry = Entry(seq, client);
    EXPECT_NE(entry, nullptr) << "command " << seq << " of client " << client;
    return entry != nullptr ? *entry : LogEntry{};
  }
  double AloneNs(const Command& kernel, uint32_t sms) {
    return model::KernelCost(device_, {kernel.blocks, kernel.threads, kernel.shared_bytes,
                                       kernel.registers, kernel.flops, kernel.dram_bytes})
        .TimeNs(sms);
  }

  const model::DeviceDescription& device_;
  Engine engine_;
  std::vector<Told> told_;
  std::map<uint64_t, uint64_t> last_seq_;
};

double Length(const LogEntry& entry) { return static_cast<double>(entry.end_ns - entry.start_ns); }

TEST(EngineTest, ALateWakeUpDoesNotStretchTheDevice) {
  Bench bench;
  bench.Streams({1});
  const uint64_t first = bench.Submit(bench.Kernel(1));
  bench.engine_.AdvanceTo(kStart + 1000);
  // Submitted while the first runs; the device looks a second later.
  const uint64_t second = bench.Submit(bench.Kernel(1, 1e9, kStart + 20'000));
  const uint64_t event = bench.Submit(bench.Make(CommandKind::kEventRecord, 1, kStart + 30'000));
  bench.engine_.AdvanceTo(kStart + 1'000'000'000);
  EXPECT_EQ(bench.Done(first).start_ns, kStart);
  EXPECT_NEAR(Length(bench.Done(first)), bench.AloneNs(bench.Kernel(1), 68), 2);
  EXPECT_EQ(bench.Done(second).start_ns, bench.Done(first).end_ns);
  EXPECT_EQ(bench.Done(event).end_ns, bench.Done(second).end_ns);
}

TEST(EngineTest, AnIdleStreamStartsAtSubmission) {
  Bench bench;
  bench.Streams({1});
  const uint64_t kernel = bench.Submit(bench.Kernel(1, 1e9, kStart + 5000));
  bench.Finish();
  EXPECT_EQ(bench.Done(kernel).start_ns, kStart + 5000);
  // What is older than the simulated time counts as that time.
  const uint64_t now_ns = bench.engine_.now_ns();
  const uint64_t old = bench.Submit(bench.Kernel(1, 1e9, kStart));
  bench.Finish();
  EXPECT_EQ(bench.Done(old).start_ns, now_ns);
}

TEST(EngineTest, StreamsRunTogetherAndPartitionsLimit) {
  Bench bench;
  Command green = bench.Make(CommandKind::kStreamCreate, 2);
  for (uint32_t sm = 0; sm < 34; ++sm) green.sm_set[sm / 64] |= uint64_t{1} << (sm % 64);
  bench.Streams({1});
  bench.Submit(green);
  const uint64_t alone = bench.Submit(bench.Kernel(2));
  bench.Finish();
  EXPECT_NEAR(Length(bench.Done(alone)), bench.AloneNs(bench.Kernel(2), 34), 2);
  const uint64_t now_ns = bench.engine_.now_ns();
  const uint64_t a = bench.Submit(bench.Kernel(1, 1e9, now_ns));
  const uint64_t b = bench.Submit(bench.Kernel(2, 1e9, now_ns));
  bench.Finish();
  EXPECT_LT(bench.Done(b).start_ns, bench.Done(a).end_ns);
  EXPECT_GT(Length(bench.Done(a)), 1.3 * bench.AloneNs(bench.Kernel(1), 68));
}

TEST(EngineTest, AContextLimitHoldsForAllItsStreams) {
  Bench bench;
  Command context = bench.Make(CommandKind::kContextCreate, 0);
  context.context = 7;
  context.sm_limit = 20;
  bench.Submit(context);
  std::vector<uint64_t> kernels;
  for (uint32_t stream : {1, 2}) {
    Command create = bench.Make(CommandKind::kStreamCreate, stream);
    create.context = 7;
    bench.Submit(create);
    kernels.push_back(bench.Submit(bench.Kernel(stream)));
  }
  bench.Finish();
  EXPECT_GT(Length(bench.Done(kernels[1])), 1.9 * (bench.AloneNs(bench.Kernel(1), 20) - 10'000));
  EXPECT_EQ(bench.engine_.clients().at(1).counters.kernels_by_sms.at(20), 2u);
}

TEST(EngineTest, DevicesDoNotShareSms) {
  Bench bench(true, "rtx2080ti", 2);
  Command create = bench.Make(CommandKind::kStreamCreate, 2);
  create.context = 2;  // primary context of device 1
  bench.Streams({1});
  bench.Submit(create);
  const uint64_t a = bench.Submit(bench.Kernel(1));
  const uint64_t b = bench.Submit(bench.Kernel(2));
  Command copy = bench.Make(CommandKind::kCopy, 1);
  copy.direction = static_cast<uint32_t>(CopyDirection::kPeer);
  copy.bytes = 1 << 20;
  const uint64_t to_peer = bench.Submit(copy);
  Command wait = bench.Make(CommandKind::kWait, 2);
  wait.wait_seq = to_peer;
  bench.Submit(wait);
  const uint64_t after = bench.Submit(bench.Kernel(2));
  bench.Finish();
  for (uint64_t seq : {a, b}) {
    EXPECT_NEAR(Length(bench.Done(seq)), bench.AloneNs(bench.Kernel(1), 68), 2);
  }
  EXPECT_EQ(bench.Done(after).start_ns, bench.Done(to_peer).end_ns);
  Command context = bench.Make(CommandKind::kContextCreate, 0);
  context.context = 40;
  context.device = 2;
  EXPECT_FALSE(bench.TrySubmit(context).ok());
}

TEST(EngineTest, FaultsOnRequestEndALaunch) {
  Bench bench;
  bench.Streams({1});
  Command kernel = bench.Kernel(1);
  kernel.fault = 700;
  const uint64_t bad = bench.Submit(kernel);
  const uint64_t good = bench.Submit(bench.Kernel(1));
  bench.Finish();
  ASSERT_NE(bench.Entry(bad, 1, LogKind::kError), nullptr);
  EXPECT_EQ(bench.Entry(bad, 1, LogKind::kError)->error, 700u);
  EXPECT_EQ(bench.Done(good).start_ns, kStart);
}

TEST(EngineTest, AStreamsPriorityCanChange) {
  Bench bench;
  bench.Streams({1, 2, 3});
  Command priority = bench.Make(CommandKind::kStreamPriority, 1);
  priority.priority = -1;
  bench.Submit(priority);
  Command urgent = bench.Kernel(2);
  urgent.has_priority = 1;
  urgent.priority = -1;
  const uint64_t by_stream = bench.Submit(bench.Kernel(1));
  const uint64_t by_launch = bench.Submit(urgent);
  const uint64_t plain = bench.Submit(bench.Kernel(3));
  bench.Finish();
  // Launched one after the other, else alike.
  EXPECT_NEAR(Length(bench.Done(by_stream)), Length(bench.Done(by_launch)), 20'000);
  EXPECT_GT(bench.Done(plain).end_ns, bench.Done(by_launch).end_ns);
  priority.priority = 1;
  EXPECT_FALSE(bench.TrySubmit(priority).ok());
}

TEST(EngineTest, WaitsOrderStreams) {
  Bench bench;
  bench.Streams({1, 2, 3});
  const uint64_t kernel = bench.Submit(bench.Kernel(1));
  Command wait = bench.Make(CommandKind::kWait, 2);
  wait.wait_seq = kernel;
  const uint64_t first_wait = bench.Submit(wait);
  const uint64_t after = bench.Submit(bench.Kernel(2));
  wait.stream = 3;
  wait.wait_seq = first_wait;  // a wait for a wait
  bench.Submit(wait);
  const uint64_t event = bench.Submit(bench.Make(CommandKind::kEventRecord, 3));
  bench.Finish();
  EXPECT_EQ(bench.Done(after).start_ns, bench.Done(kernel).end_ns);
  EXPECT_EQ(bench.Done(event).end_ns, bench.Done(kernel).end_ns);
  wait.wait_seq = kernel;  // over long since
  wait.submit_ns = bench.engine_.now_ns() + 10;
  const uint64_t late = bench.Submit(wait);
  bench.Finish();
  EXPECT_EQ(bench.Done(late).end_ns, wait.submit_ns);
}

TEST(EngineTest, ALongChainOfWaitsIsNoDepth) {
  Bench bench;
  bench.Streams({1});
  uint64_t last = bench.Submit(bench.Kernel(1));
  for (uint32_t stream = 2; stream < 60'000; ++stream) {
    bench.Submit(bench.Make(CommandKind::kStreamCreate, stream));
    Command wait = bench.Make(CommandKind::kWait, stream);
    wait.wait_seq = last;
    last = bench.Submit(wait);
  }
  bench.Finish();
  EXPECT_NE(bench.Entry(last), nullptr);
}

TEST(EngineTest, HostFunctionsHoldTheirStreamOnly) {
  Bench bench;
  bench.Streams({1, 2});
  const uint64_t kernel = bench.Submit(bench.Kernel(1));
  const uint64_t host = bench.Submit(bench.Make(CommandKind::kHostFunction, 1));
  const uint64_t behind = bench.Submit(bench.Kernel(1));
  const uint64_t other = bench.Submit(bench.Kernel(2));
  bench.Finish();
  ASSERT_NE(bench.Entry(host, 1, LogKind::kRunHost), nullptr);
  EXPECT_EQ(bench.Entry(host, 1, LogKind::kRunHost)->start_ns, bench.Done(kernel).end_ns);
  EXPECT_EQ(bench.Entry(behind), nullptr);
  EXPECT_NE(bench.Entry(other), nullptr);
  const uint64_t returned_ns = bench.engine_.now_ns() + 7777;
  Command done = bench.Make(CommandKind::kHostDone, 0, returned_ns);
  done.wait_seq = kernel;
  EXPECT_FALSE(bench.TrySubmit(done).ok()) << "no host function";
  done.wait_seq = host;
  bench.Submit(done);
  bench.Finish();
  EXPECT_EQ(bench.Done(host).end_ns, returned_ns);
  EXPECT_EQ(bench.Done(behind).start_ns, returned_ns);
}

TEST(EngineTest, CopiesShareAnEngineAndOverlapTheOther) {
  Bench bench;
  bench.Streams({1, 2, 3});
  std::vector<uint64_t> copies;
  for (uint32_t stream : {1, 2, 3}) {
    Command copy = bench.Make(CommandKind::kCopy, stream);
    copy.bytes = 12'000'000;
    copy.direction = static_cast<uint32_t>(stream == 3 ? CopyDirection::kDeviceToHost
                                                       : CopyDirection::kHostToDevice);
    copies.push_back(bench.Submit(copy));
  }
  Command move = bench.Make(CommandKind::kCopy, 3);
  move.bytes = 100'000'000;
  move.direction = static_cast<uint32_t>(CopyDirection::kDeviceToDevice);
  const uint64_t on_device = bench.Submit(move);
  bench.Finish();
  EXPECT_EQ(bench.Done(copies[0]).end_ns, kStart + 1'004'000);  // 4 us + 12 MB at 12 GB/s
  EXPECT_EQ(bench.Done(copies[1]).start_ns, kStart + 1'004'000);
  EXPECT_EQ(bench.Done(copies[2]).start_ns, kStart);
  // Reads and writes: 200 MB at 85 % of 616 GB/s.
  EXPECT_NEAR(Length(bench.Done(on_device)), 200e6 / (616 * 0.85) + 10'000, 2000);
}

TEST(EngineTest, WithoutMpsProcessesTakeTurns) {
  for (bool mps : {true, false}) {
    Bench bench(mps);
    std::vector<LogEntry> ends;
    for (uint64_t client : {1, 2}) bench.Streams({1}, client);
    const uint64_t a = bench.Submit(bench.Kernel(1, 30e9), 1);
    const uint64_t b = bench.Submit(bench.Kernel(1, 30e9), 2);
    bench.engine_.AdvanceTo(kStart + 300'000);
    const double alone = bench.AloneNs(bench.Kernel(1, 30e9), 68);
    bench.Finish();
    const double last = std::max(Length(bench.Done(a, 1)), Length(bench.Done(b, 2)));
    const double first = std::min(Length(bench.Done(a, 1)), Length(bench.Done(b, 2)));
    if (mps) {
      EXPECT_GT(last, 2.1 * alone);  // contention
    } else {
      EXPECT_NEAR(last, 2 * alone - 10'000, 1000);
      EXPECT_GT(last - first, 100'000);
    }
  }
}

TEST(EngineTest, ADeadClientLeavesNothing) {
  Bench bench;
  bench.Streams({1, 2, 3}, 1);
  bench.Streams({1}, 2);
  bench.Submit(bench.Kernel(1, 1e15), 1);
  Command copy = bench.Make(CommandKind::kCopy, 2);
  copy.bytes = uint64_t{1} << 60;
  bench.Submit(copy, 1);
  bench.Submit(bench.Make(CommandKind::kHostFunction, 3), 1);
  const uint64_t survivor = bench.Submit(bench.Kernel(1), 2);
  const uint64_t next = bench.Submit(
      [&] {
        Command small = bench.Make(CommandKind::kCopy, 1);
        small.bytes = 12'000;
        return small;
      }(),
      2);
  bench.engine_.AdvanceTo(kStart + 50'000);
  bench.engine_.RemoveClient(1);
  EXPECT_EQ(bench.engine_.running_kernels(), 1u);
  const size_t told_before = bench.told_.size();
  bench.Finish();
  for (size_t i = told_before; i < bench.told_.size(); ++i) EXPECT_EQ(bench.told_[i].client, 2u);
  EXPECT_LT(Length(bench.Done(survivor, 2)), 2 * bench.AloneNs(bench.Kernel(1), 68));
  EXPECT_EQ(Length(bench.Done(next, 2)), 5000);
  EXPECT_EQ(bench.engine_.kernels_total(), 1u);
  EXPECT_EQ(bench.engine_.clients_total(), 2u);
}

TEST(EngineTest, DestroyedStreamsEndAfterTheirWork) {
  Bench bench;
  bench.Streams({5});
  const uint64_t kernel = bench.Submit(bench.Kernel(5));
  const uint64_t destroy = bench.Submit(bench.Make(CommandKind::kStreamDestroy, 5));
  EXPECT_FALSE(bench.TrySubmit(bench.Kernel(5)).ok());
  bench.Streams({5});  // the number is free again, the old work goes on
  const uint64_t fresh = bench.Submit(bench.Kernel(5));
  bench.Finish();
  EXPECT_EQ(bench.Done(destroy).end_ns, bench.Done(kernel).end_ns);
  EXPECT_EQ(bench.Done(fresh).start_ns, kStart);
  EXPECT_EQ(bench.engine_.clients().at(1).all_streams.size(), 2u);  // with the control queue
}

TEST(EngineTest, LaunchesThatCanNotRunFail) {
  Bench bench;
  bench.Streams({1});
  Command kernel = bench.Kernel(1);
  kernel.cooperative = 1;
  const uint64_t too_large = bench.Submit(kernel);
  kernel.blocks = 68 * 4;
  const uint64_t fits = bench.Submit(kernel);
  kernel.threads = 1024;
  kernel.registers = 255;
  const uint64_t too_fat = bench.Submit(kernel);
  bench.Finish();
  ASSERT_NE(bench.Entry(too_large, 1, LogKind::kError), nullptr);
  EXPECT_EQ(bench.Entry(too_large, 1, LogKind::kError)->error, 720u);
  EXPECT_NE(bench.Entry(fits), nullptr);
  ASSERT_NE(bench.Entry(too_fat, 1, LogKind::kError), nullptr);
  EXPECT_EQ(bench.Entry(too_fat, 1, LogKind::kError)->error, 701u);
}

TEST(EngineTest, NonsenseIsRefused) {
  Bench bench;
  bench.Streams({1});
  const auto refused = [&bench](CommandKind kind, const std::function<void(Command*)>& change) {
    Command command = kind == CommandKind::kKernel ? bench.Kernel(1) : bench.Make(kind, 1);
    change(&command);
    const Status status = bench.TrySubmit(command);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.text().find('\n'), std::string::npos);
  };
  refused(CommandKind::kNone, [](Command*) {});
  refused(static_cast<CommandKind>(99), [](Command*) {});
  refused(CommandKind::kKernel, [](Command* c) { c->stream = 2; });
  refused(CommandKind::kKernel, [](Command* c) { c->blocks = 0; });
  refused(CommandKind::kKernel, [](Command* c) { c->blocks = ~uint64_t{0}; });
  refused(CommandKind::kKernel, [](Command* c) { c->threads = 0; });
  refused(CommandKind::kKernel, [](Command* c) { c->threads = 1025; });
  refused(CommandKind::kKernel, [](Command* c) { c->shared_bytes = 1 << 20; });
  refused(CommandKind::kKernel, [](Command* c) { c->registers = 256; });
  refused(CommandKind::kKernel, [](Command* c) { c->cooperative = 2; });
  refused(CommandKind::kKernel, [](Command* c) { c->flops = -1; });
  refused(CommandKind::kKernel, [](Command* c) { c->flops = std::nan(""); });
  refused(CommandKind::kKernel,
          [](Command* c) { c->dram_bytes = std::numeric_limits<double>::infinity(); });
  refused(CommandKind::kCopy, [](Command* c) { c->direction = 4; });
  refused(CommandKind::kWait, [](Command* c) { c->wait_seq = 0; });
  refused(CommandKind::kWait, [](Command* c) { c->wait_seq = 2; });  // itself
  refused(CommandKind::kHostDone, [](Command* c) { c->wait_seq = 1; });
  refused(CommandKind::kStreamCreate, [](Command*) {});  // exists
  refused(CommandKind::kStreamCreate, [](Command* c) { c->stream = 9, c->context = 4; });
  refused(CommandKind::kStreamCreate, [](Command* c) { c->stream = 9, c->priority = -6; });
  refused(CommandKind::kStreamCreate, [](Command* c) { c->stream = 9, c->sm_limit = 69; });
  refused(CommandKind::kStreamCreate, [](Command* c) { c->stream = 9, c->sm_set[1] = 1 << 4; });
  refused(CommandKind::kContextCreate, [](Command* c) { c->context = 2, c->sm_limit = 69; });
  refused(CommandKind::kContextDestroy, [](Command* c) { c->context = 2; });
  // None of it has left a trace.
  const uint64_t kernel = bench.Submit(bench.Kernel(1));
  bench.Finish();
  EXPECT_EQ(bench.Done(kernel).start_ns, kStart);
}

// Whoever asks is told on the dot; an end that nobody asks for may wait, but not long.
TEST(EngineTest, OnlyAskedEndsWakeInTime) {
  constexpr uint64_t kLateNs = 500'000;
  Bench bench;
  bench.Streams({1});
  const uint64_t first = bench.Submit(bench.Kernel(1));
  const uint64_t second = bench.Submit(bench.Kernel(1));
  bench.engine_.AdvanceTo(kStart + 1);
  const uint64_t lazy_ns = bench.engine_.NextWakeNs();
  bench.engine_.SetAsked(1, false, {second});
  const uint64_t second_ns = bench.engine_.NextWakeNs();
  bench.engine_.SetAsked(1, false, {first, second});
  const uint64_t first_ns = bench.engine_.NextWakeNs();
  bench.Finish();
  const uint64_t first_end_ns = bench.Done(first).end_ns;
  EXPECT_GT(lazy_ns, first_end_ns);
  EXPECT_LE(lazy_ns, first_end_ns + kLateNs);
  EXPECT_GT(second_ns, first_end_ns);
  EXPECT_LE(second_ns, bench.Done(second).end_ns);
  EXPECT_LE(first_ns, first_end_ns);
}

// A host function runs in the client: what is before it is told at once.
TEST(EngineTest, TheEndBeforeAHostFunctionWakesInTime) {
  Bench bench;
  bench.Streams({1});
  const uint64_t kernel = bench.Submit(bench.Kernel(1));
  bench.Submit(bench.Make(CommandKind::kHostFunction, 1));
  bench.engine_.AdvanceTo(kStart + 1);
  const uint64_t wake_ns = bench.engine_.NextWakeNs();
  bench.engine_.AdvanceTo(kStart + 1'000'000'000);
  EXPECT_LE(wake_ns, bench.Done(kernel).end_ns);
}

// Random commands of two clients, run in one go, event by event, and by NextWakeNs(): the same
// entries with the same stamps, in end-time order; and NextWakeNs() tells the last command of a
// stream no later than the moment at which it ends.
TEST(EngineTest, WhenItWakesDoesNotMatter) {
  const auto run = [](const std::function<void(Bench*)>& finish) {
    Bench bench;
    std::mt19937 random(11);
    for (uint64_t client : {1, 2}) {
      bench.Streams({1, 2, 3}, client);
      for (int i = 0; i < 400; ++i) {
        const uint32_t stream = 1 + random() % 3;
        const uint64_t at_ns = kStart + 5000 * static_cast<uint64_t>(i);
        Command command = bench.Kernel(stream, 1e7 * (1 + random() % 40), at_ns);
        if (random() % 4 == 0) command = bench.Make(CommandKind::kEventRecord, stream, at_ns);
        if (random() % 8 == 0) {
          command = bench.Make(CommandKind::kWait, stream, at_ns);
          command.wait_seq = 1 + random() % bench.last_seq_[client];
        }
        if (random() % 8 == 0) {
          command = bench.Make(CommandKind::kCopy, stream, at_ns);
          command.bytes = random() % 100'000;
        }
        bench.Submit(command, client);
      }
    }
    finish(&bench);
    EXPECT_TRUE(std::is_sorted(bench.told_.begin(), bench.told_.end(),
                               [](auto& a, auto& b) { return a.entry.end_ns < b.entry.end_ns; }));
    return bench.told_;
  };
  const auto one_go = run([](Bench* b) { b->engine_.AdvanceTo(kStart + 10'000'000'000); });
  EXPECT_EQ(one_go.size(), 2u * 403);
  EXPECT_EQ(run([](Bench* b) { b->Finish(); }), one_go);
  EXPECT_EQ(run([](Bench* b) {
              for (uint64_t client : {1, 2}) b->engine_.SetAsked(client, true, {});
              size_t wakes = 0;
              for (; b->engine_.NextWakeNs() != model::kNeverNs; ++wakes) {
                const size_t told = b->told_.size();
                const uint64_t wake_ns = std::max(b->engine_.NextWakeNs(), b->engine_.now_ns());
                b->engine_.AdvanceTo(wake_ns);
                if (b->engine_.NextWakeNs() != model::kNeverNs) continue;
                // Nobody asks for the very last entries: told when they end or a little later.
                ASSERT_GT(b->told_.size(), told);
                EXPECT_LE(b->told_.back().entry.end_ns, wake_ns);
                EXPECT_LE(wake_ns - b->told_.back().entry.end_ns, 500'000u);
              }
              EXPECT_GT(wakes, 10u);
              EXPECT_LT(wakes, 2u * 403 * 4);
            }),
            one_go);
}

}  // namespace
}  // namespace sgprs::simgpu
