// SPDX-License-Identifier: Apache-2.0
// The device's Unix socket (SOCK_SEQPACKET): opening it, and asking a running device something.
#ifndef SGPRS_TOOLS_SIMGPU_DEVICE_SOCKET_H_
#define SGPRS_TOOLS_SIMGPU_DEVICE_SOCKET_H_

#include <cstddef>
#include <span>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "tools/simgpu/protocol.h"

namespace sgprs::simgpu {

// Listens on `path` (non-blocking, mode 0600). Takes away a socket that nobody listens on; makes
// the directory (0700) if it is the runtime directory, any other must be there. Errors: another
// device is alive there (kRefused), the path is too long or is no socket (kInvalid), the system
// refuses (kInternal). Blocks shortly.
Result<UniqueFd> ListenOn(const std::string& path);

// Error: kUnavailable, nobody listens there.
Result<UniqueFd> ConnectTo(const std::string& path);

// One packet with file descriptors. Never blocks. Error: the peer is gone or does not read.
Status SendPacket(int socket, const void* data, size_t size, std::span<const int> fds = {});

// Sends a Hello of this kind and returns the text of the answer; an answer that is only the end of
// the connection is empty. Waits at most 5 s.
Result<std::string> AskDevice(const std::string& path, HelloKind kind);

}  // namespace sgprs::simgpu

#endif  // SGPRS_TOOLS_SIMGPU_DEVICE_SOCKET_H_
