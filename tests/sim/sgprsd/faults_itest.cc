// SPDX-License-Identifier: Apache-2.0
// Clients that die, lie or say nonsense; nobody else may notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>

#include "runtime/base/clock.h"
#include "runtime/lane/doorbell.h"
#include "tests/sim/sgprsd/sgprsd_process.h"
#include "tests/support/fake_shim.h"

namespace sgprs::testing {
namespace {

using ::testing::HasSubstr;

// Waits until the daemon closed this connection; the refusal it said, if any.
std::optional<SgprsRefuse> ReadCut(FakeShim* shim) {
  std::optional<SgprsRefuse> refuse;
  for (;;) {
    const std::vector<char> packet = shim->Receive();
    if (packet.empty()) {
      EXPECT_FALSE(shim->hung_up_after_timeout()) << "still connected";
      return refuse;
    }
    if (const auto found = FakeShim::AsRefuse(packet)) refuse = found;
  }
}

// A client in a process of its own that registers, does `work` and is then killed.
void RunAndKill(const std::string& socket, const std::function<void(FakeLane*)>& work) {
  const pid_t child = fork();
  if (child == 0) {
    FakeShim shim;
    if (!shim.Register(socket, MakeHello("victim", 10 * kNsPerMs)).ok()) _exit(1);
    work(shim.lane());
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << "the victim could not register";
}

TEST(SgprsdFaults, KilledClientsLeaveNothingBehind) {
  SgprsdProcess daemon;
  FakeShim survivor;
  ASSERT_TRUE(survivor.Register(daemon.socket(), MakeHello("survivor")).ok());
  survivor.lane()->RecordJob(10);
  ASSERT_TRUE(survivor.lane()->RunUntilComplete());
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  const size_t before = daemon.OpenDescriptors();
  for (int i = 0; i < 200; ++i) {
    RunAndKill(daemon.socket(), [i](FakeLane* lane) {
      if (i % 4 == 0) return;  // right after READY
      lane->RecordJob(static_cast<uint64_t>(i));
      if (i % 4 == 1) return;  // recorded, no grant taken
      usleep(static_cast<useconds_t>(i));
      const auto grant = lane->TakeGrant();
      if (grant && i % 4 == 3) {
        lane->Complete(*grant, std::min<uint64_t>({grant->upto, 4, lane->recorded()}));
      }
    });
    if (i % 20 == 0) {
      survivor.lane()->RecordJob(10);
      ASSERT_TRUE(survivor.lane()->RunUntilComplete()) << i;
    }
  }
  const uint64_t limit_ns = NowNs() + 10 * kNsPerSecond;
  while (tool.Header()->clients != 1 && NowNs() < limit_ns) usleep(1000);
  EXPECT_EQ(tool.Header()->clients, 1u);
  EXPECT_EQ(daemon.OpenDescriptors(), before);
  EXPECT_EQ(tool.Header()->clients_cut, 0u);
  // Nothing of theirs is left in the queues.
  survivor.lane()->RecordJob(10);
  EXPECT_TRUE(survivor.lane()->RunUntilComplete());
  for (const SgprsPartitionRow& row : tool.Partitions()) EXPECT_EQ(row.queued, 0u);
}

TEST(SgprsdFaults, HostileLaneCutsOnlyItsClient) {
  SgprsdProcess daemon;
  FakeShim good;
  ASSERT_TRUE(good.Register(daemon.socket(), MakeHello("good")).ok());
  const std::vector<std::function<void(FakeLane*)>> lies = {
      [](FakeLane* lane) { lane->header()->recorded = 1'000'000; },
      [](FakeLane* lane) { lane->header()->completed = 5; },
      [](FakeLane* lane) { lane->header()->kernels_interned = 1'000'000; },
      [](FakeLane* lane) { lane->Record({.kernel = 77, .job_first = true}); },
      [](FakeLane* lane) { lane->Record({.kind = 250, .job_first = true}); },
      [](FakeLane* lane) {
        lane->Record({.job_first = true, .job = 9});
        lane->Record({.job_first = true, .job = 3});
      },
      [](FakeLane* lane) {
        lane->Record({.job_first = true});
        SgprsGrant grant = {};
        grant.sequence = 4711;
        grant.upto = 1;
        lane->Complete(grant, 1);
      },
  };
  for (size_t i = 0; i < lies.size(); ++i) {
    FakeShim bad;
    ASSERT_TRUE(bad.Register(daemon.socket(), MakeHello("bad")).ok());
    lies[i](bad.lane());
    lane::Ring(&bad.lane()->header()->runtime_doorbell);
    const auto refuse = ReadCut(&bad);
    ASSERT_TRUE(refuse.has_value()) << "lie " << i;
    EXPECT_EQ(refuse->code, static_cast<uint32_t>(SGPRS_REFUSE_BAD_MESSAGE));
    good.lane()->RecordJob(10);
    ASSERT_TRUE(good.lane()->RunUntilComplete()) << "lie " << i;
  }
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  EXPECT_EQ(tool.Header()->clients_cut, lies.size());
  EXPECT_EQ(tool.Header()->clients, 1u);
}

TEST(SgprsdFaults, BadMessagesAreRefusedWithOneLine) {
  SgprsdProcess daemon;
  struct Case {
    const char* what;
    uint32_t code;
    std::function<void(FakeShim*)> send;
  };
  const auto hello_with = [](const std::function<void(SgprsHello*)>& change) {
    return [change](FakeShim* shim) {
      SgprsHello hello = MakeHello("bad");
      change(&hello);
      shim->Send(hello);
    };
  };
  const std::vector<Case> cases = {
      {"short", SGPRS_REFUSE_BAD_MESSAGE, [](FakeShim* s) { s->Send("hi", 2); }},
      {"magic", SGPRS_REFUSE_BAD_MESSAGE, hello_with([](auto* h) { h->header.magic = 1; })},
      {"version", SGPRS_REFUSE_VERSION, hello_with([](auto* h) { h->header.major = 99; })},
      {"size", SGPRS_REFUSE_BAD_MESSAGE, hello_with([](auto* h) { h->header.bytes = 5; })},
      {"type", SGPRS_REFUSE_BAD_MESSAGE, hello_with([](auto* h) { h->header.type = 77; })},
      {"name", SGPRS_REFUSE_BAD_MESSAGE,
       hello_with([](auto* h) { std::fill(std::begin(h->name), std::end(h->name), 'x'); })},
      {"class", SGPRS_REFUSE_BAD_MESSAGE, hello_with([](auto* h) { h->task_class = 3; })},
      {"sms", SGPRS_REFUSE_BAD_MESSAGE, hello_with([](auto* h) { h->sm_count = 0; })},
      {"early READY", SGPRS_REFUSE_BAD_MESSAGE, [](FakeShim* s) { s->SendReady(); }},
      {"huge", SGPRS_REFUSE_BAD_MESSAGE,
       [](FakeShim* s) {
         const std::vector<char> bytes(9000, 'x');
         s->Send(bytes.data(), bytes.size());
       }},
  };
  for (const Case& c : cases) {
    FakeShim shim;
    ASSERT_TRUE(shim.Connect(daemon.socket()).ok());
    c.send(&shim);
    const auto refuse = ReadCut(&shim);
    ASSERT_TRUE(refuse.has_value()) << c.what;
    EXPECT_EQ(refuse->code, c.code) << c.what;
    EXPECT_EQ(std::string(refuse->text).find('\n'), std::string::npos);
  }
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  EXPECT_EQ(tool.Header()->clients_refused, cases.size());
  EXPECT_EQ(tool.Header()->clients_total, 0u);
}

TEST(SgprsdFaults, SilentConnectionIsCut) {
  SgprsdProcess daemon;
  FakeShim shim;
  ASSERT_TRUE(shim.Connect(daemon.socket()).ok());
  const auto refuse = ReadCut(&shim);
  ASSERT_TRUE(refuse.has_value());
  EXPECT_THAT(std::string(refuse->text), HasSubstr("nothing said"));
}

TEST(SgprsdFaults, NameWithControlCharactersStaysOneLine) {
  SgprsdProcess daemon;
  FakeShim shim;
  SgprsHello hello = MakeHello("evil\nname\x1b[31m\xff");
  ASSERT_TRUE(shim.Register(daemon.socket(), hello).ok());
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  EXPECT_TRUE(tool.WaitForTask("evil?name?[31m?", SGPRS_TASK_LEARNING).has_value());
  EXPECT_THAT(daemon.stderr_text(), HasSubstr("evil?name?[31m? (pid"));
}

TEST(SgprsdFaults, OtherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  // Allowing some third user opens the socket's mode; the daemon itself must still look.
  SgprsdProcess daemon({"--allow-uid", "12345"});
  ASSERT_TRUE(daemon.ready());
  ASSERT_EQ(chmod(daemon.directory().c_str(), 0755), 0);
  for (const uid_t uid : {65534u, 12345u}) {
    const pid_t child = fork();
    if (child == 0) {
      if (setuid(uid) != 0) _exit(99);
      FakeShim shim;
      if (!shim.Connect(daemon.socket()).ok()) _exit(98);
      shim.Send(MakeHello("stranger"));
      const auto refuse = FakeShim::AsRefuse(shim.Receive());
      _exit(refuse ? static_cast<int>(refuse->code) : 50);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), uid == 12345u ? 50 : SGPRS_REFUSE_UID);
  }
}

TEST(SgprsdFaults, ClientComesBackToANewDaemon) {
  SgprsdProcess daemon;
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("phoenix")).ok());
  shim.lane()->RecordJob(10);
  ASSERT_TRUE(shim.lane()->RunUntilComplete());
  EXPECT_EQ(daemon.Stop(SIGKILL), -SIGKILL);
  EXPECT_TRUE(shim.Receive().empty());  // hang-up tells
  daemon.Start({});                     // over the stale socket
  ASSERT_TRUE(daemon.ready()) << daemon.stderr_text();
  FakeShim again;
  ASSERT_TRUE(again.Register(daemon.socket(), MakeHello("phoenix")).ok());
  // Its job ordinals go on; its lane is a new one, entered in the middle of a job.
  again.lane()->Record({.job = 17});
  lane::Ring(&again.lane()->header()->runtime_doorbell);
  const uint64_t limit_ns = NowNs() + 10 * kNsPerSecond;
  std::optional<SgprsGrant> grant;
  while (!grant && NowNs() < limit_ns) grant = again.lane()->TakeGrant();
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->job, 17u);
  EXPECT_EQ(grant->from, 0u);
}

TEST(SgprsdFaults, MissedBellIsMadeUpForByTheHeartbeat) {
  SgprsdProcess daemon;
  FakeShim shim;
  ASSERT_TRUE(shim.Register(daemon.socket(), MakeHello("mute")).ok());
  FakeTool tool;
  ASSERT_TRUE(tool.Connect(daemon.socket()).ok());
  ASSERT_TRUE(tool.WaitForTask("mute", SGPRS_TASK_LEARNING).has_value());
  shim.lane()->Record({.job = 1});  // no JOB_FIRST, so no ring
  EXPECT_TRUE(shim.lane()->RunUntilComplete());
}

}  // namespace
}  // namespace sgprs::testing
