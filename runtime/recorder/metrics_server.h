// SPDX-License-Identifier: Apache-2.0
// Serves the metrics to scrapers: HTTP/1.0 on a Unix socket or on a port of this machine only
// (never of a network). Every path answers the same; one request a connection.
//
// Trust: a scraper is nobody: at most kMostConnections at once, kMostRequestBytes each, gone after
// kPatienceNs. Thread: the loop's; nothing blocks.
#ifndef SGPRS_RUNTIME_RECORDER_METRICS_SERVER_H_
#define SGPRS_RUNTIME_RECORDER_METRICS_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "runtime/loop/loop.h"

namespace sgprs::recorder {

class MetricsServer {
 public:
  static constexpr size_t kMostConnections = 16;
  static constexpr size_t kMostRequestBytes = 8192;
  static constexpr uint64_t kPatienceNs = 2'000'000'000;

  // `address`: an absolute path (mode 0660; a stale socket there is replaced) or a port number.
  // `text` makes the answer. `loop` outlives this object. Errors: kInvalid (no such address, taken,
  // not permitted).
  static Result<std::unique_ptr<MetricsServer>> Open(loop::Loop* loop, const std::string& address,
                                                     std::function<std::string()> text);
  ~MetricsServer();

 private:
  struct Connection {
    UniqueFd fd;
    loop::WatchId watch = 0;
    uint64_t until_ns = 0;
    std::string request;
    std::string answer;
    size_t sent = 0;
  };

  MetricsServer(loop::Loop* loop, std::function<std::string()> text)
      : loop_(loop), text_(std::move(text)) {}
  Status Listen(const std::string& address);
  void Accept(UniqueFd fd);
  void Read(uint64_t id);
  void Send(uint64_t id);
  void Sweep();
  void Close(uint64_t id);

  loop::Loop* const loop_;
  const std::function<std::string()> text_;
  UniqueFd listening_;
  std::string path_;  // of a Unix socket, to be removed
  loop::WatchId watch_ = 0;
  loop::TimerId sweep_ = 0;  // while there are connections
  uint64_t next_id_ = 1;
  std::map<uint64_t, Connection> connections_;
};

}  // namespace sgprs::recorder

#endif  // SGPRS_RUNTIME_RECORDER_METRICS_SERVER_H_
