// SPDX-License-Identifier: Apache-2.0
#include "runtime/ingress/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tests/support/fake_shim.h"

namespace sgprs::ingress {
namespace {

using sgprs::testing::MakeHello;
using ::testing::HasSubstr;

template <typename Message>
Packet AsPacket(const Message& message) {
  return {std::as_bytes(std::span(&message, 1)), sizeof(message)};
}

TEST(Messages, GoodHelloPasses) {
  const SgprsHello sent = MakeHello("task", 33'000'000);
  SgprsMessageHeader header;
  Refusal refusal;
  ASSERT_TRUE(ParseHeader(AsPacket(sent), &header, &refusal)) << refusal.text;
  EXPECT_EQ(header.type, SGPRS_MESSAGE_HELLO);
  SgprsHello hello;
  const Status parsed = ParseHello(AsPacket(sent), &hello);
  ASSERT_TRUE(parsed.ok()) << parsed.text();
  EXPECT_EQ(std::memcmp(&sent, &hello, sizeof(hello)), 0);
}

TEST(Messages, EveryHelloFieldHasItsRange) {
  struct Case {
    const char* text;
    std::function<void(SgprsHello*)> change;
  };
  const Case cases[] = {
      {"period_ns", [](auto* h) { h->period_ns = UINT64_MAX; }},
      {"deadline_ns", [](auto* h) { h->deadline_ns = UINT64_MAX / 2; }},
      {"task_class is 3", [](auto* h) { h->task_class = 3; }},
      {"job_rule is 9", [](auto* h) { h->job_rule = 9; }},
      {"job_launches is 0", [](auto* h) { h->job_rule = SGPRS_JOB_LAUNCHES; }},
      {"sm_count is 0", [](auto* h) { h->sm_count = 0; }},
      {"sm_minimum is 69", [](auto* h) { h->sm_minimum = 69; }},
      {"sm_alignment is 0", [](auto* h) { h->sm_alignment = 0; }},
      {"backends is 0", [](auto* h) { h->backends = 0; }},
      {"backends is 16", [](auto* h) { h->backends = 16; }},
      {"does not end", [](auto* h) { std::memset(h->name, 'x', sizeof(h->name)); }},
      {"does not end", [](auto* h) { std::memset(h->program, 'x', sizeof(h->program)); }},
      {"does not end", [](auto* h) { std::memset(h->device_name, 'x', sizeof(h->device_name)); }},
  };
  for (const Case& c : cases) {
    SgprsHello hello = MakeHello("task");
    c.change(&hello);
    SgprsHello out;
    const Status parsed = ParseHello(AsPacket(hello), &out);
    EXPECT_FALSE(parsed.ok()) << c.text;
    EXPECT_THAT(parsed.text(), HasSubstr(c.text));
  }
}

TEST(Messages, HeadersThatLieAreRefused) {
  struct Case {
    SgprsRefuseCode code;
    std::function<void(SgprsMessageHeader*)> change;
  };
  const Case cases[] = {
      {SGPRS_REFUSE_BAD_MESSAGE, [](auto* h) { h->magic ^= 1; }},
      {SGPRS_REFUSE_VERSION, [](auto* h) { h->major = SGPRS_ABI_MAJOR + 1; }},
      {SGPRS_REFUSE_BAD_MESSAGE, [](auto* h) { h->bytes += 1; }},
      {SGPRS_REFUSE_BAD_MESSAGE, [](auto* h) { h->flags = 1; }},
  };
  for (const Case& c : cases) {
    SgprsMessageHeader header =
        sgprs::testing::MakeHeader(SGPRS_MESSAGE_STATE, sizeof(SgprsMessageHeader));
    c.change(&header);
    SgprsMessageHeader out;
    Refusal refusal;
    EXPECT_FALSE(ParseHeader(AsPacket(header), &out, &refusal));
    EXPECT_EQ(refusal.code, c.code);
    EXPECT_FALSE(refusal.text.empty());
  }
  SgprsMessageHeader newer =
      sgprs::testing::MakeHeader(SGPRS_MESSAGE_STATE, sizeof(SgprsMessageHeader));
  newer.minor = 7;  // only adds fields in padding
  SgprsMessageHeader out;
  Refusal refusal;
  EXPECT_TRUE(ParseHeader(AsPacket(newer), &out, &refusal));
}

TEST(Messages, TruncatedPacketIsNoMessage) {
  const SgprsHello hello = MakeHello("task");
  SgprsHello out;
  Packet packet = AsPacket(hello);
  packet.bytes = packet.bytes.first(sizeof(hello) - 1);
  EXPECT_FALSE(ParseHello(packet, &out).ok());
  packet = AsPacket(hello);
  packet.whole_bytes += 1;
  EXPECT_FALSE(ParseHello(packet, &out).ok());
}

TEST(Messages, ReadyCountsAreChecked) {
  SgprsReady ready = {};
  ready.partition_count = 2;
  ready.sm_counts[0] = 34;
  ready.sm_counts[1] = 34;
  SgprsReady out;
  EXPECT_TRUE(ParseReady(AsPacket(ready), &out).ok());
  ready.sm_counts[1] = 0;
  EXPECT_FALSE(ParseReady(AsPacket(ready), &out).ok());
  ready.partition_count = SGPRS_MAX_PARTITIONS + 1;
  EXPECT_FALSE(ParseReady(AsPacket(ready), &out).ok());
}

TEST(Messages, CommandTextEndsWhereItSays) {
  SgprsCommand command = MakeReply(0, "policy naive");
  Result<std::string> line = ParseCommand(AsPacket(command));
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(*line, "policy naive");
  command.text_bytes = SGPRS_CONTROL_TEXT_BYTES;
  EXPECT_FALSE(ParseCommand(AsPacket(command)).ok());
  command.text_bytes = 3;
  EXPECT_FALSE(ParseCommand(AsPacket(command)).ok());
  command.text_bytes = 12;
  command.text[4] = '\0';
  EXPECT_FALSE(ParseCommand(AsPacket(command)).ok());
}

TEST(Messages, LongAnswersAreCutNotOverrun) {
  const std::string text(10'000, 'x');
  const SgprsCommand reply = MakeReply(1, text);
  EXPECT_EQ(reply.text_bytes, sizeof(reply.text) - 1);
  EXPECT_EQ(reply.text[reply.text_bytes], '\0');
  const SgprsRefuse refuse = MakeRefuse({SGPRS_REFUSE_FULL, text});
  EXPECT_EQ(std::strlen(refuse.text), sizeof(refuse.text) - 1);
}

}  // namespace
}  // namespace sgprs::ingress
