// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/control_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <functional>
#include <thread>

#include "sgprs/abi/control.h"
#include "tests/unit/cli/segment.h"
#include "tools/sgprs/daemon.h"
#include "tools/sgprs/temporary_directory.h"

namespace sgprs::cli {
namespace {

using ::testing::HasSubstr;

SgprsMessageHeader Header(SgprsMessageType type, size_t bytes) {
  return {
      SGPRS_CONTROL_MAGIC,         SGPRS_ABI_MAJOR, SGPRS_ABI_MINOR, static_cast<uint16_t>(type), 0,
      static_cast<uint32_t>(bytes)};
}

void Send(int socket, const void* data, size_t bytes, int fd = -1) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part = {const_cast<void*>(data), bytes};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &fd, sizeof(int));
  }
  EXPECT_EQ(sendmsg(socket, &message, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
}

// Accepts one connection, reads one packet, lets `answer` answer it.
class FakeDaemon {
 public:
  using Answer = std::function<void(int socket, const std::string& request)>;

  explicit FakeDaemon(Answer answer) {
    listener_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path().c_str());
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, answer = std::move(answer)] {
      const UniqueFd client(accept(listener_.get(), nullptr, nullptr));
      char packet[SGPRS_CONTROL_MAX_BYTES];
      const ssize_t got = recv(client.get(), packet, sizeof(packet), 0);
      if (got > 0) answer(client.get(), std::string(packet, static_cast<size_t>(got)));
    });
  }
  ~FakeDaemon() { thread_.join(); }
  std::string path() const { return directory_.path() + "/control.sock"; }

 private:
  TemporaryDirectory directory_ = std::move(TemporaryDirectory::Make("sgprs-test-")).value();
  UniqueFd listener_;
  std::thread thread_;
};

TEST(ControlClientTest, GetsTheStateSegment) {
  Segment segment;
  segment.task(0)->state = SGPRS_TASK_JOINING;
  FakeDaemon daemon([&segment](int socket, const std::string& request) {
    EXPECT_EQ(request.size(), sizeof(SgprsMessageHeader));
    const SgprsMessageHeader answer = Header(SGPRS_MESSAGE_STATE, sizeof(SgprsMessageHeader));
    Send(socket, &answer, sizeof(answer), segment.Fd().get());
  });
  Result<Daemon> opened = OpenDaemon(daemon.path());
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  const Result<StateSnapshot> snapshot = opened->state->Read(0);
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(snapshot->tasks.size(), 1u);
}

TEST(ControlClientTest, CommandsCarryTheirLineAndReply) {
  FakeDaemon daemon([](int socket, const std::string& request) {
    ASSERT_EQ(request.size(), sizeof(SgprsCommand));
    SgprsCommand command;
    std::memcpy(&command, request.data(), sizeof(command));
    SgprsCommand reply = {};
    reply.header = Header(SGPRS_MESSAGE_REPLY, sizeof(reply));
    reply.status = 2;
    std::strcpy(reply.text, ("got " + std::string(command.text, command.text_bytes)).c_str());
    Send(socket, &reply, sizeof(reply));
  });
  Result<ControlClient> client = ControlClient::Connect(daemon.path());
  ASSERT_TRUE(client.ok());
  const Result<ControlClient::Reply> reply = client->Command("policy naive");
  ASSERT_TRUE(reply.ok()) << reply.status().text();
  EXPECT_EQ(reply->status, 2);
  EXPECT_EQ(reply->text, "got policy naive");
}

TEST(ControlClientTest, ARefusalIsPassedOnInItsWords) {
  FakeDaemon daemon([](int socket, const std::string&) {
    SgprsRefuse refuse = {};
    refuse.header = Header(SGPRS_MESSAGE_REFUSE, sizeof(refuse));
    refuse.header.major = SGPRS_ABI_MAJOR + 1;  // said before the version is judged
    std::strcpy(refuse.text, "wrong uid 7");
    Send(socket, &refuse, sizeof(refuse));
  });
  const Result<UniqueFd> state = ControlClient::Connect(daemon.path())->RequestState();
  ASSERT_FALSE(state.ok());
  EXPECT_THAT(state.status().text(), HasSubstr("wrong uid 7"));
}

// Each answer must be an error, none may crash.
TEST(ControlClientTest, NonsenseIsAnError) {
  const auto error_of = [](const std::string& answer) {
    FakeDaemon daemon([&answer](int socket, const std::string&) {
      if (!answer.empty()) Send(socket, answer.data(), answer.size());
    });
    const Result<UniqueFd> state = ControlClient::Connect(daemon.path())->RequestState();
    EXPECT_FALSE(state.ok());
    return state.status().text();
  };
  const auto bytes = [](const SgprsMessageHeader& header) {
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header));
  };
  EXPECT_THAT(error_of(""), HasSubstr("connection closed"));
  EXPECT_THAT(error_of("abc"), HasSubstr("3 bytes"));
  SgprsMessageHeader header = Header(SGPRS_MESSAGE_STATE, sizeof(SgprsMessageHeader));
  EXPECT_THAT(error_of(bytes(header)), HasSubstr("no state segment"));
  header.type = SGPRS_MESSAGE_REPLY;
  EXPECT_THAT(error_of(bytes(header)), HasSubstr("message type 8"));
  header.major = 9;
  EXPECT_THAT(error_of(bytes(header)), HasSubstr("version 9"));
  header.magic = 0;
  EXPECT_THAT(error_of(bytes(header)), HasSubstr("does not speak"));
}

TEST(ControlClientTest, NoDaemonSaysWhatToStart) {
  const Result<ControlClient> client = ControlClient::Connect("/nonexistent/s");
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.status().code(), ErrorCode::kUnavailable);
  EXPECT_THAT(client.status().text(), HasSubstr("start `sgprsd`"));
  EXPECT_EQ(ControlClient::Connect(std::string(200, 'x')).status().code(), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace sgprs::cli
