// SPDX-License-Identifier: Apache-2.0
// Who is at the other end of a Unix socket: what the kernel says, never what the peer says.
#ifndef SGPRS_RUNTIME_INGRESS_PEER_H_
#define SGPRS_RUNTIME_INGRESS_PEER_H_

#include <sys/types.h>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"

namespace sgprs::ingress {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
};

// SO_PEERCRED: the process that connected, even if it passed the socket on. Error kInternal.
Result<Peer> PeerOf(int socket_fd);

// A pidfd of the peer, readable when that process is over. SO_PEERPIDFD (6.5), else pidfd_open on
// the pid. Error kNotFound: it is over already; kUnavailable, kExhausted.
Result<UniqueFd> PidfdOf(int socket_fd, const Peer& peer);

}  // namespace sgprs::ingress

#endif  // SGPRS_RUNTIME_INGRESS_PEER_H_
