// SPDX-License-Identifier: Apache-2.0
// The shim's side of the protocol for tests, without a CUDA program: writes a lane as
// include/sgprs/abi/lane.h says, and speaks the control socket. Right by default; each piece can be
// sent wrong on purpose.
#ifndef SGPRS_TESTS_SUPPORT_FAKE_SHIM_H_
#define SGPRS_TESTS_SUPPORT_FAKE_SHIM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/base/unique_fd.h"
#include "sgprs/abi/control.h"
#include "sgprs/abi/lane.h"
#include "sgprs/abi/state.h"

namespace sgprs::testing {

// Writes one lane. One thread.
class FakeLane {
 public:
  explicit FakeLane(SgprsLaneHeader* header) : header_(header) {}

  // Interns a name; its id.
  uint32_t InternKernel(const std::string& name);

  struct Launch {
    uint32_t kernel = 0;
    uint32_t stream = 0;
    uint8_t kind = SGPRS_SLOT_KERNEL;
    bool job_first = false;
    uint64_t time_ns = 0;  // 0 = now
    uint32_t job = 0;      // 0 = the current one, moved on by `job_first`
  };
  // Records one launch and moves `recorded`; rings the runtime at a job's first. Its index.
  uint64_t Record(const Launch& launch);
  // `count` launches of one job, kernels 1..count modulo what is interned.
  void RecordJob(uint64_t count);

  // The next grant, if one is published.
  std::optional<SgprsGrant> TakeGrant();
  // Moves `issued`.
  void Issue(uint64_t upto);
  // Moves `issued` and `completed` to `upto`, publishes a completion and rings. Flags as given, and
  // PARTIAL if the grant reaches further.
  void Complete(const SgprsGrant& grant, uint64_t upto, uint16_t flags = 0);
  // Without a grant.
  void CompleteSelf(uint64_t upto);
  // Moves the cursors without a completion entry.
  void CompleteSilently(uint64_t upto);

  // Does what granted work there is until all that is recorded is complete. False: `give_up_ns`
  // passed without.
  bool RunUntilComplete(uint64_t give_up_ns = 20'000'000'000);

  SgprsLaneHeader* header() { return header_; }
  SgprsSlot* slot(uint64_t index);
  uint64_t recorded() const { return recorded_; }
  uint64_t grants_taken() const { return grants_taken_; }
  const std::vector<SgprsGrant>& grants() const { return grants_; }
  uint64_t granted() const;

 private:
  void Publish(const SgprsCompletion& completion);
  template <typename T>
  T* At(uint64_t offset) {
    return reinterpret_cast<T*>(reinterpret_cast<char*>(header_) + offset);
  }

  SgprsLaneHeader* header_;
  uint64_t recorded_ = 0;
  uint64_t completed_ = 0;
  uint64_t grants_taken_ = 0;
  uint64_t completions_ = 0;
  uint32_t job_ = 0;
  std::vector<SgprsGrant> grants_;  // all that were taken
  std::vector<uint64_t> job_first_index_;
};

SgprsMessageHeader MakeHeader(uint16_t type, size_t bytes);
// A valid HELLO of a device of 68 SMs.
SgprsHello MakeHello(const std::string& name, uint64_t period_ns = 0);

// A connection to the control socket. Every receive waits 10 s at most.
class FakeShim {
 public:
  ~FakeShim();
  // Error kUnavailable: nobody listens.
  Status Connect(const std::string& socket_path);
  bool Send(const void* bytes, size_t size);
  template <typename Message>
  bool Send(const Message& message) {
    return Send(&message, sizeof(message));
  }
  // One packet; empty at hang-up or time-out. A descriptor that came along is kept in last_fd().
  std::vector<char> Receive();
  bool hung_up_after_timeout() const { return timed_out_; }
  UniqueFd& last_fd() { return last_fd_; }
  int fd() const { return socket_.get(); }
  void Close() { socket_.reset(); }

  // HELLO, WELCOME, map, READY. Error: what happened instead (a refusal's text).
  Status Register(const std::string& socket_path, const SgprsHello& hello);
  bool SendReady();
  Status ReceiveWelcome();
  const SgprsWelcome& welcome() const { return welcome_; }
  FakeLane* lane() { return lane_ ? &*lane_ : nullptr; }
  // The refusal in a packet.
  static std::optional<SgprsRefuse> AsRefuse(const std::vector<char>& packet);

 private:
  UniqueFd socket_;
  UniqueFd last_fd_;
  bool timed_out_ = false;
  SgprsWelcome welcome_ = {};
  void* mapping_ = nullptr;
  std::optional<FakeLane> lane_;
};

// A tool's view.
class FakeTool {
 public:
  Status Connect(const std::string& socket_path);
  // Status and text of the reply.
  struct Reply {
    int status = -1;
    std::string text;
  };
  Reply Command(const std::string& line);
  // Rows that are not NONE; empty on failure.
  std::vector<SgprsTaskRow> Tasks();
  std::optional<SgprsStateHeader> Header();
  std::vector<SgprsPartitionRow> Partitions();
  // The row of that name and state, waited for; nullopt after 10 s.
  std::optional<SgprsTaskRow> WaitForTask(const std::string& name, uint32_t state);
  int state_fd() const { return state_fd_.get(); }
  ~FakeTool();

 private:
  template <typename Row>
  Row CopyRow(uint64_t offset, size_t guard) const;

  FakeShim connection_;
  UniqueFd state_fd_;
  char* state_ = nullptr;
  uint64_t state_bytes_ = 0;
};

}  // namespace sgprs::testing

#endif  // SGPRS_TESTS_SUPPORT_FAKE_SHIM_H_
