// SPDX-License-Identifier: Apache-2.0
// Any bytes as packets of the control socket: parsed as ControlServer does, and what passes goes on
// to the pool that a first client lays out. What a Parse function lets through must be as safe as
// messages.h says.
//
// Input: packets of {u16 bytes, bytes}, little endian; the last may be cut. A packet longer than
// the server's buffer is received cut, as recv() does it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device_pool.h"
#include "runtime/ingress/messages.h"
#include "runtime/observe/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using namespace sgprs;
using ingress::Packet;

void Require(bool promise) {
  if (!promise) std::abort();
}

bool OneLine(const std::string& text) { return text.find('\n') == std::string::npos; }

// What a refused peer is told: ends, and is one line.
void CheckRefusal(const ingress::Refusal& refusal) {
  const SgprsRefuse refuse = ingress::MakeRefuse(refusal);
  Require(refuse.text[sizeof(refuse.text) - 1] == '\0' && OneLine(refuse.text));
  Require(refuse.code >= SGPRS_REFUSE_VERSION && refuse.code <= SGPRS_REFUSE_ADMISSION);
}

void CheckWelcome(const SgprsHello& hello, const SgprsWelcome& welcome) {
  Require(welcome.partition_count >= 1 && welcome.partition_count <= SGPRS_MAX_PARTITIONS);
  Require(welcome.backend_wanted < SGPRS_BACKEND_COUNT);
  for (uint32_t i = 0; i < welcome.partition_count; ++i) {
    const SgprsPartitionPlan& plan = welcome.partitions[i];
    Require(plan.sm_count >= 1 && plan.sm_count <= hello.sm_count);
    Require(plan.first_sm <= hello.sm_count - plan.sm_count);
  }
}

class Server {
 public:
  void Take(const Packet& packet) {
    SgprsMessageHeader header;
    ingress::Refusal refusal;
    if (!ingress::ParseHeader(packet, &header, &refusal)) return CheckRefusal(refusal);
    Status status;
    switch (header.type) {
      case SGPRS_MESSAGE_HELLO:
        status = Hello(packet);
        break;
      case SGPRS_MESSAGE_READY:
        status = Ready(packet);
        break;
      case SGPRS_MESSAGE_GOODBYE:
      case SGPRS_MESSAGE_STATE:
        status = ingress::ParseBare(packet);
        Require(!status.ok() || packet.whole_bytes == sizeof(header));
        break;
      case SGPRS_MESSAGE_COMMAND:
        status = Command(packet);
        break;
      default:
        return;
    }
    if (!status.ok()) CheckRefusal({SGPRS_REFUSE_BAD_MESSAGE, status.text()});
  }

 private:
  Status Hello(const Packet& packet) {
    SgprsHello hello;
    if (Status wrong = ingress::ParseHello(packet, &hello); !wrong.ok()) return wrong;
    Require(std::strlen(observe::OneLine(hello.name).c_str()) < SGPRS_NAME_BYTES);
    Require(OneLine(observe::OneLine(hello.program)));
    if (pool_ != nullptr) return pool_->CheckSame(hello);
    auto pool = runtime::DevicePool::Make({}, "sgprs", hello);
    if (!pool.ok()) return pool.status();
    pool_ = std::move(*pool);
    SgprsWelcome welcome = {};
    pool_->FillWelcome(hello, &welcome);
    CheckWelcome(hello, welcome);
    Require(OneLine(pool_->Describe()));
    return Status::Ok();
  }

  Status Ready(const Packet& packet) {
    SgprsReady ready;
    if (Status wrong = ingress::ParseReady(packet, &ready); !wrong.ok()) return wrong;
    if (pool_ == nullptr) return Status(ErrorCode::kInvalid, "READY before HELLO");
    if (Status wrong = pool_->CheckReady(ready); !wrong.ok()) return wrong;
    pool_->NoteReady(ready);
    for (uint32_t i = 0; i < pool_->partition_count(); ++i) {
      Require(pool_->Row(i, 1).sm_actual <= pool_->sm_count());
    }
    return Status::Ok();
  }

  Status Command(const Packet& packet) {
    Result<std::string> line = ingress::ParseCommand(packet);
    if (!line.ok()) return line.status();
    Require(line->size() < SGPRS_CONTROL_TEXT_BYTES && line->find('\0') == std::string::npos);
    const SgprsCommand reply = ingress::MakeReply(2, observe::OneLine(*line));
    Require(reply.text_bytes < sizeof(reply.text) && reply.text[reply.text_bytes] == '\0');
    return Status::Ok();
  }

  std::unique_ptr<runtime::DevicePool> pool_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Server server;
  for (size_t at = 0; at + 2 <= size;) {
    const size_t says = data[at] | size_t{data[at + 1]} << 8;
    at += 2;
    const size_t whole = std::min(says, size - at);
    // A copy of its own size, so that AddressSanitizer sees a read past what was received.
    std::vector<std::byte> received(std::min<size_t>(whole, SGPRS_CONTROL_MAX_BYTES));
    if (!received.empty()) std::memcpy(received.data(), data + at, received.size());
    server.Take({received, whole});
    at += whole;
  }
  return 0;
}
