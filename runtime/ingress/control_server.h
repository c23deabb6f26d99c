// SPDX-License-Identifier: Apache-2.0
// Speaks the control protocol with every connection: identity, order of messages, time limits. What
// the messages mean is the handler's.
//
// Life of a connection:  connected -> [STATE | COMMAND]* (a tool)
//                        connected -> HELLO -> READY+ -> GOODBYE or hang-up (a client)
// A peer that says nothing for kSilenceNs, of a uid that is not allowed, or out of order is refused
// with one line and cut. A client's death is noticed by hang-up or by its pidfd, whichever is
// first.
//
// Thread: the loop's. Nothing blocks: a peer that does not read its answers is cut.
#ifndef SGPRS_RUNTIME_INGRESS_CONTROL_SERVER_H_
#define SGPRS_RUNTIME_INGRESS_CONTROL_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/ingress/messages.h"
#include "runtime/ingress/peer.h"
#include "runtime/loop/loop.h"
#include "sgprs/abi/control.h"

namespace sgprs::ingress {

using ConnectionId = uint64_t;  // from 1, never reused

// What the rest of the runtime does for a connection. Called on the loop's thread.
class ControlHandler {
 public:
  virtual ~ControlHandler() = default;

  struct Admission {
    SgprsWelcome welcome = {};  // header filled in by the server
    int lane_fd = -1;           // stays the handler's
  };
  virtual std::variant<Admission, Refusal> OnHello(ConnectionId id, const Peer& peer,
                                                   const SgprsHello& hello) = 0;
  // Error: the client is cut with that text.
  virtual Status OnReady(ConnectionId id, const SgprsReady& ready) = 0;
  // Read-only descriptor of the state segment; stays the handler's.
  virtual int StateFd() = 0;
  struct Reply {
    uint32_t status = 0;
    std::string text;
  };
  virtual Reply OnCommand(const Peer& peer, const std::string& line) = 0;
  // The client of an admitted connection is over. `orderly`: it said GOODBYE or closed.
  virtual void OnGone(ConnectionId id, bool orderly) = 0;
  // Counted and logged by the handler. `cut`: the peer was admitted and broke the rules, else it
  // was turned away.
  virtual void OnRefused(const Peer& peer, const Refusal& refusal, bool cut) = 0;
};

struct ControlServerOptions {
  std::vector<uid_t> allowed_uids;  // besides root and this process's own
  uint64_t silence_ns = 2 * kNsPerSecond;
  size_t most_connections = SGPRS_MAX_TASKS + 256;
};

class ControlServer {
 public:
  // `loop`, `handler` and the listening descriptor outlive this object.
  ControlServer(loop::Loop* loop, ControlHandler* handler, ControlServerOptions options);
  ~ControlServer();

  void Serve(int listening_fd);
  // Stops accepting and closes every connection; OnGone() is not called.
  void Close();
  // Cuts an admitted client that broke a rule elsewhere (its lane). Calls OnRefused and OnGone.
  void Cut(ConnectionId id, const std::string& why);
  size_t connections() const { return connections_.size(); }

 private:
  struct Connection;

  void Accept(UniqueFd socket);
  void OnReadable(ConnectionId id);
  void OnPacket(Connection* connection, const Packet& packet);
  void OnMessage(Connection* connection, const SgprsMessageHeader& header, const Packet& packet);
  void OnHelloMessage(Connection* connection, const Packet& packet);
  bool Allowed(uid_t uid) const;
  // Sends one packet with at most one descriptor. False: the peer is gone or does not read.
  bool Send(Connection* connection, const void* bytes, size_t size, int fd);
  void Refuse(Connection* connection, const Refusal& refusal);
  // Forgets the connection; tells the handler if it was admitted.
  void Drop(ConnectionId id, bool orderly);

  loop::Loop* const loop_;
  ControlHandler* const handler_;
  const ControlServerOptions options_;
  loop::WatchId listening_ = 0;
  ConnectionId next_id_ = 1;
  std::unordered_map<ConnectionId, std::unique_ptr<Connection>> connections_;
};

}  // namespace sgprs::ingress

#endif  // SGPRS_RUNTIME_INGRESS_CONTROL_SERVER_H_
