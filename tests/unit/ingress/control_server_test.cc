// SPDX-License-Identifier: Apache-2.0
// The order of messages and the deaths, with a handler that only notes what it is told.
#include "runtime/ingress/control_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "runtime/ingress/listener.h"
#include "tests/support/fake_shim.h"

namespace sgprs::ingress {
namespace {

using sgprs::testing::FakeShim;
using sgprs::testing::MakeHeader;
using sgprs::testing::MakeHello;
using ::testing::ElementsAre;

class NotingHandler : public ControlHandler {
 public:
  std::variant<Admission, Refusal> OnHello(ConnectionId, const Peer& peer,
                                           const SgprsHello& hello) override {
    notes.push_back(std::string("hello ") + hello.name);
    EXPECT_EQ(peer.uid, geteuid());
    if (refuse_hello) return Refusal{SGPRS_REFUSE_FULL, "full"};
    Admission admission;
    admission.lane_fd = STDIN_FILENO;
    return admission;
  }
  Status OnReady(ConnectionId, const SgprsReady&) override {
    notes.push_back("ready");
    return ready_status;
  }
  int StateFd() override { return STDIN_FILENO; }
  Reply OnCommand(const Peer&, const std::string& line) override { return {3, "echo " + line}; }
  void OnGone(ConnectionId, bool orderly) override {
    notes.push_back(orderly ? "gone orderly" : "gone");
  }
  void OnRefused(const Peer&, const Refusal&, bool cut) override {
    notes.push_back(cut ? "cut" : "refused");
  }

  std::vector<std::string> notes;
  bool refuse_hello = false;
  Status ready_status;
};

class ControlServerTest : public ::testing::Test {
 protected:
  ControlServerTest() {
    char name[] = "/tmp/sgprs-control-XXXXXX";
    directory_ = mkdtemp(name);
    loop_ = loop::Loop::Make({}).value();
    listener_ = Listener::Open({.path = path()}).value();
  }
  ~ControlServerTest() override {
    server_.reset();
    listener_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string path() const { return directory_ + "/control.sock"; }
  void Serve(ControlServerOptions options = {}) {
    server_ = std::make_unique<ControlServer>(loop_.get(), &handler_, options);
    server_->Serve(listener_->fd());
  }
  // Turns until the handler has been told `count` things.
  void TurnUntilNotes(size_t count) {
    const uint64_t limit_ns = NowNs() + 10 * kNsPerSecond;
    while (handler_.notes.size() < count && NowNs() < limit_ns) loop_->Turn(10 * kNsPerMs);
  }
  void Turns(int count) {
    for (int i = 0; i < count; ++i) loop_->Turn(kNsPerMs);
  }

  std::string directory_;
  NotingHandler handler_;
  std::unique_ptr<loop::Loop> loop_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<ControlServer> server_;
};

TEST_F(ControlServerTest, LifeOfAClient) {
  Serve();
  FakeShim shim;
  ASSERT_TRUE(shim.Connect(path()).ok());
  shim.Send(MakeHello("task"));
  TurnUntilNotes(1);
  const std::vector<char> packet = shim.Receive();
  ASSERT_EQ(packet.size(), sizeof(SgprsWelcome));
  EXPECT_TRUE(shim.last_fd().valid());
  SgprsReady ready = {};
  ready.header = MakeHeader(SGPRS_MESSAGE_READY, sizeof(ready));
  ready.partition_count = 1;
  ready.sm_counts[0] = 4;
  shim.Send(ready);
  shim.Send(ready);  // may repeat
  shim.Send(MakeHeader(SGPRS_MESSAGE_GOODBYE, sizeof(SgprsMessageHeader)));
  TurnUntilNotes(4);
  EXPECT_THAT(handler_.notes, ElementsAre("hello task", "ready", "ready", "gone orderly"));
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_TRUE(shim.Receive().empty());
  EXPECT_FALSE(shim.hung_up_after_timeout());
}

TEST_F(ControlServerTest, ToolsAreAnsweredWithoutRegistering) {
  Serve();
  FakeShim tool;
  ASSERT_TRUE(tool.Connect(path()).ok());
  tool.Send(MakeHeader(SGPRS_MESSAGE_STATE, sizeof(SgprsMessageHeader)));
  SgprsCommand command = MakeReply(0, "hello");
  command.header.type = SGPRS_MESSAGE_COMMAND;
  tool.Send(command);
  Turns(20);
  EXPECT_EQ(tool.Receive().size(), sizeof(SgprsMessageHeader));
  EXPECT_TRUE(tool.last_fd().valid());
  const std::vector<char> reply = tool.Receive();
  ASSERT_EQ(reply.size(), sizeof(SgprsCommand));
  SgprsCommand answer;
  std::memcpy(&answer, reply.data(), sizeof(answer));
  EXPECT_EQ(answer.status, 3u);
  EXPECT_STREQ(answer.text, "echo hello");
  tool.Close();
  Turns(20);
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_TRUE(handler_.notes.empty());
}

TEST_F(ControlServerTest, RefusalsReachThePeer) {
  handler_.refuse_hello = true;
  Serve();
  FakeShim shim;
  ASSERT_TRUE(shim.Connect(path()).ok());
  shim.Send(MakeHello("task"));
  TurnUntilNotes(2);
  const auto refuse = FakeShim::AsRefuse(shim.Receive());
  ASSERT_TRUE(refuse.has_value());
  EXPECT_EQ(refuse->code, static_cast<uint32_t>(SGPRS_REFUSE_FULL));
  EXPECT_THAT(handler_.notes, ElementsAre("hello task", "refused"));
}

TEST_F(ControlServerTest, RuleBreakersAreCut) {
  Serve();
  FakeShim shim;
  ASSERT_TRUE(shim.Connect(path()).ok());
  shim.Send(MakeHello("task"));
  shim.Send(MakeHello("task"));  // twice
  TurnUntilNotes(3);
  EXPECT_THAT(handler_.notes, ElementsAre("hello task", "cut", "gone"));
}

TEST_F(ControlServerTest, SilenceIsBounded) {
  Serve({.silence_ns = 20 * kNsPerMs});
  FakeShim silent;
  FakeShim talking;
  ASSERT_TRUE(silent.Connect(path()).ok());
  ASSERT_TRUE(talking.Connect(path()).ok());
  talking.Send(MakeHeader(SGPRS_MESSAGE_STATE, sizeof(SgprsMessageHeader)));
  TurnUntilNotes(1);
  Turns(30);
  EXPECT_THAT(handler_.notes, ElementsAre("refused"));
  EXPECT_EQ(server_->connections(), 1u);
}

// The socket is inherited by a child that lives on, so only the pidfd tells.
TEST_F(ControlServerTest, DeathIsSeenThroughAnInheritedSocket) {
  Serve();
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const pid_t client = fork();
  if (client == 0) {
    FakeShim shim;
    if (!shim.Connect(path()).ok()) _exit(1);
    const pid_t heir = fork();
    if (heir == 0) {
      pause();
      _exit(0);
    }
    if (write(pipe_fds[1], &heir, sizeof(heir)) < 0) _exit(1);
    shim.Send(MakeHello("parent"));
    shim.Receive();
    kill(getpid(), SIGKILL);
  }
  TurnUntilNotes(2);
  EXPECT_THAT(handler_.notes, ElementsAre("hello parent", "gone"));
  waitpid(client, nullptr, 0);
  pid_t heir = 0;
  ASSERT_EQ(read(pipe_fds[0], &heir, sizeof(heir)), static_cast<ssize_t>(sizeof(heir)));
  kill(heir, SIGKILL);
  close(pipe_fds[0]);
  close(pipe_fds[1]);
}

TEST_F(ControlServerTest, TooManyConnectionsAreRefused) {
  Serve({.most_connections = 2});
  FakeShim shims[3];
  for (FakeShim& shim : shims) ASSERT_TRUE(shim.Connect(path()).ok());
  TurnUntilNotes(1);
  EXPECT_EQ(server_->connections(), 2u);
  EXPECT_TRUE(FakeShim::AsRefuse(shims[2].Receive()).has_value());
}

}  // namespace
}  // namespace sgprs::ingress
