// SPDX-License-Identifier: Apache-2.0
// Packets of the control socket (include/sgprs/abi/control.h): checked on the way in, built on the
// way out. Pure. Everything that comes in is hostile; what a Parse function returns is safe to use:
// strings end, numbers are in range, enums are known.
#ifndef SGPRS_RUNTIME_INGRESS_MESSAGES_H_
#define SGPRS_RUNTIME_INGRESS_MESSAGES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.h"
#include "sgprs/abi/control.h"

namespace sgprs::ingress {

// Why a peer is turned away.
struct Refusal {
  SgprsRefuseCode code = SGPRS_REFUSE_BAD_MESSAGE;
  std::string text;  // one line
};

// `packet` as received; `whole_bytes`: its true length, which may exceed what was received.
struct Packet {
  std::span<const std::byte> bytes;
  size_t whole_bytes = 0;
};

// A checked header. On failure `*refusal` says why (VERSION or BAD_MESSAGE).
bool ParseHeader(const Packet& packet, SgprsMessageHeader* header, Refusal* refusal);

// Each after ParseHeader() gave the type. Error text: which field, which value, what is allowed.
Status ParseHello(const Packet& packet, SgprsHello* hello);
Status ParseReady(const Packet& packet, SgprsReady* ready);
Status ParseBare(const Packet& packet);  // GOODBYE, STATE
Result<std::string> ParseCommand(const Packet& packet);

SgprsMessageHeader MakeHeader(SgprsMessageType type, size_t bytes);
SgprsRefuse MakeRefuse(const Refusal& refusal);
// `text` is cut at what fits.
SgprsCommand MakeReply(uint32_t status, std::string_view text);

}  // namespace sgprs::ingress

#endif  // SGPRS_RUNTIME_INGRESS_MESSAGES_H_
