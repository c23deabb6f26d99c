// SPDX-License-Identifier: Apache-2.0
// Unix SOCK_SEQPACKET connections, as a tool needs them: connect, one packet out, one packet in.
#ifndef SGPRS_TOOLS_SGPRS_UNIX_SOCKET_H_
#define SGPRS_TOOLS_SGPRS_UNIX_SOCKET_H_

#include <cstddef>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::cli {

// Connected, close-on-exec, with `timeout_ms` on every send and receive. Errors: kUnavailable (no
// such socket, or nobody listens), kRefused (no permission), kInvalid (path too long), kInternal.
// The text is the reason alone ("no such file or directory").
Result<UniqueFd> ConnectSeqpacket(const std::string& path, int timeout_ms);

// Sends one packet. Never raises SIGPIPE. Error kUnavailable.
Status SendPacket(int socket, const void* data, size_t bytes);

// Receives one packet of at most `capacity` bytes; a passed descriptor goes to `fd` (close-on-exec)
// if that is not null, others are closed. Returns the bytes of the packet. Error kUnavailable:
// hang-up, no answer in time.
Result<size_t> ReceivePacket(int socket, void* data, size_t capacity, UniqueFd* fd);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_UNIX_SOCKET_H_
