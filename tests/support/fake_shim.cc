// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_shim.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/lane/doorbell.h"

namespace sgprs::testing {
namespace {

// Release stores pair with the acquire loads of LaneOwner.
void StoreRelease(uint64_t& word, uint64_t value) {
  std::atomic_ref<uint64_t>(word).store(value, std::memory_order_release);
}
uint64_t LoadAcquire(uint64_t& word) {
  return std::atomic_ref<uint64_t>(word).load(std::memory_order_acquire);
}

constexpr uint64_t kReceiveLimitNs = 10 * kNsPerSecond;

}  // namespace

// --- FakeLane ---

SgprsSlot* FakeLane::slot(uint64_t index) {
  return At<SgprsSlot>(header_->slots_offset) + (index & (header_->slot_count - 1));
}

uint64_t FakeLane::granted() const { return LoadAcquire(header_->granted); }

uint32_t FakeLane::InternKernel(const std::string& name) {
  const uint64_t count = header_->kernels_interned;
  SgprsKernelName* row = At<SgprsKernelName>(header_->kernels_offset) + count;
  row->hash = std::hash<std::string>()(name) | 1;
  row->name_bytes = static_cast<uint32_t>(name.size());
  std::strncpy(row->name, name.c_str(), sizeof(row->name) - 1);
  StoreRelease(header_->kernels_interned, count + 1);
  return static_cast<uint32_t>(count + 1);
}

uint64_t FakeLane::Record(const Launch& launch) {
  const uint64_t index = recorded_;
  if (launch.job_first) {
    ++job_;
    if (launch.job != 0) job_ = launch.job;
    job_first_index_.push_back(index);
    std::atomic_ref<uint64_t>(header_->jobs).store(job_, std::memory_order_relaxed);
  }
  SgprsSlot* s = slot(index);
  std::atomic_ref<uint64_t>(s->index).store(UINT64_MAX, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  s->time_ns = launch.time_ns != 0 ? launch.time_ns : NowNs();
  s->bytes = 0;
  s->job = launch.job != 0 ? launch.job : job_;
  s->kernel = launch.kernel;
  s->stream = launch.stream;
  s->kind = launch.kind;
  s->flags = launch.job_first ? SGPRS_SLOT_JOB_FIRST : 0;
  StoreRelease(s->index, index);
  StoreRelease(header_->recorded, ++recorded_);
  if (launch.job_first) lane::Ring(&header_->runtime_doorbell);
  return index;
}

void FakeLane::RecordJob(uint64_t count) {
  const auto kernels = static_cast<uint32_t>(header_->kernels_interned);
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t kernel = kernels == 0 ? 0 : static_cast<uint32_t>(i % kernels) + 1;
    Record({.kernel = kernel, .job_first = i == 0});
  }
}

std::optional<SgprsGrant> FakeLane::TakeGrant() {
  if (LoadAcquire(header_->grants_published) == grants_taken_) return std::nullopt;
  const SgprsGrant grant =
      At<SgprsGrant>(header_->grants_offset)[grants_taken_ & (header_->grant_count - 1)];
  StoreRelease(header_->grants_consumed, ++grants_taken_);
  grants_.push_back(grant);
  return grant;
}

void FakeLane::Issue(uint64_t upto) { StoreRelease(header_->issued, upto); }

void FakeLane::CompleteSilently(uint64_t upto) {
  Issue(upto);
  completed_ = upto;
  StoreRelease(header_->completed, upto);
}

void FakeLane::Publish(const SgprsCompletion& completion) {
  auto* ring = At<SgprsCompletion>(header_->completions_offset);
  ring[completions_ & (header_->completion_count - 1)] = completion;
  StoreRelease(header_->completions_published, ++completions_);
  lane::Ring(&header_->runtime_doorbell);
}

void FakeLane::Complete(const SgprsGrant& grant, uint64_t upto, uint16_t flags) {
  CompleteSilently(upto);
  SgprsCompletion completion = {};
  completion.grant = grant.sequence;
  completion.upto = upto;
  completion.complete_ns = NowNs();
  completion.first_issue_ns = completion.complete_ns - 1000;
  completion.last_issue_ns = completion.complete_ns - 500;
  completion.gpu_ns = 1000;
  completion.job = grant.job;
  completion.stage = grant.stage;
  completion.partition = grant.partition;
  completion.flags = flags;
  if (upto < grant.upto) completion.flags |= SGPRS_COMPLETION_PARTIAL;
  Publish(completion);
}

void FakeLane::CompleteSelf(uint64_t upto) {
  CompleteSilently(upto);
  SgprsCompletion completion = {};
  completion.upto = upto;
  completion.complete_ns = NowNs();
  completion.flags = SGPRS_COMPLETION_SELF | SGPRS_COMPLETION_PARTIAL;
  Publish(completion);
}

bool FakeLane::RunUntilComplete(uint64_t give_up_ns) {
  const uint64_t limit_ns = NowNs() + give_up_ns;
  std::optional<SgprsGrant> grant;
  if (!grants_.empty()) grant = grants_.back();  // it may reach further than it was used for
  while (completed_ < recorded_) {
    // Entries of jobs after the grant's are not covered by it.
    uint64_t upto = 0;
    if (grant) {
      upto = std::min(grant->upto, recorded_);
      if (grant->job < job_) {
        upto = std::min(upto, job_first_index_[job_first_index_.size() - (job_ - grant->job)]);
      }
    }
    if (upto > completed_) {
      Complete(*grant, upto);
      continue;
    }
    grant = TakeGrant();
    if (grant) continue;
    if (NowNs() > limit_ns) return false;
    usleep(50);
    if (!grants_.empty()) grant = grants_.back();
  }
  return true;
}

// --- FakeShim ---

SgprsMessageHeader MakeHeader(uint16_t type, size_t bytes) {
  SgprsMessageHeader header = {};
  header.magic = SGPRS_CONTROL_MAGIC;
  header.major = SGPRS_ABI_MAJOR;
  header.minor = SGPRS_ABI_MINOR;
  header.type = type;
  header.bytes = static_cast<uint32_t>(bytes);
  return header;
}

SgprsHello MakeHello(const std::string& name, uint64_t period_ns) {
  SgprsHello hello = {};
  hello.header = MakeHeader(SGPRS_MESSAGE_HELLO, sizeof(hello));
  std::strncpy(hello.name, name.c_str(), sizeof(hello.name) - 1);
  std::strncpy(hello.program, "fake", sizeof(hello.program) - 1);
  std::strncpy(hello.device_name, "fake device", sizeof(hello.device_name) - 1);
  hello.period_ns = period_ns;
  hello.task_class = period_ns != 0 ? SGPRS_CLASS_LOW : SGPRS_CLASS_BEST_EFFORT;
  hello.job_rule = SGPRS_JOB_MARKED;
  std::memset(hello.device_uuid, 7, sizeof(hello.device_uuid));
  hello.sm_count = 68;
  hello.sm_minimum = 2;
  hello.sm_alignment = 2;
  hello.backends = (1u << SGPRS_BACKEND_GREEN) | (1u << SGPRS_BACKEND_NONE);
  return hello;
}

FakeShim::~FakeShim() {
  if (mapping_ != nullptr) munmap(mapping_, welcome_.lane_bytes);
}

Status FakeShim::Connect(const std::string& socket_path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof(address.sun_path) - 1);
  socket_.reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const timeval limit = {static_cast<time_t>(kReceiveLimitNs / kNsPerSecond), 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return Status(ErrorCode::kUnavailable, std::strerror(errno));
  }
  return Status::Ok();
}

bool FakeShim::Send(const void* bytes, size_t size) {
  return send(socket_.get(), bytes, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

std::vector<char> FakeShim::Receive() {
  std::vector<char> packet(SGPRS_CONTROL_MAX_BYTES);
  iovec part = {packet.data(), packet.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  timed_out_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (got <= 0) return {};
  if (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(rights), sizeof(fd));
    last_fd_.reset(fd);
  }
  packet.resize(static_cast<size_t>(got));
  return packet;
}

std::optional<SgprsRefuse> FakeShim::AsRefuse(const std::vector<char>& packet) {
  SgprsRefuse refuse;
  if (packet.size() != sizeof(refuse)) return std::nullopt;
  std::memcpy(&refuse, packet.data(), sizeof(refuse));
  if (refuse.header.type != SGPRS_MESSAGE_REFUSE) return std::nullopt;
  return refuse;
}

Status FakeShim::ReceiveWelcome() {
  const std::vector<char> packet = Receive();
  if (const auto refuse = AsRefuse(packet)) return Status(ErrorCode::kRefused, refuse->text);
  if (packet.size() != sizeof(welcome_) || !last_fd_.valid()) {
    return Status(ErrorCode::kUnavailable, "no WELCOME");
  }
  std::memcpy(&welcome_, packet.data(), sizeof(welcome_));
  void* at =
      mmap(nullptr, welcome_.lane_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, last_fd_.get(), 0);
  if (at == MAP_FAILED) return Status(ErrorCode::kInternal, std::strerror(errno));
  mapping_ = at;
  lane_.emplace(static_cast<SgprsLaneHeader*>(at));
  last_fd_.reset();
  return Status::Ok();
}

bool FakeShim::SendReady() {
  SgprsReady ready = {};
  ready.header = MakeHeader(SGPRS_MESSAGE_READY, sizeof(ready));
  ready.backend = welcome_.backend_wanted;
  ready.partition_count = welcome_.partition_count;
  for (uint32_t i = 0; i < ready.partition_count; ++i) {
    ready.sm_counts[i] = welcome_.partitions[i].sm_count;
  }
  return Send(ready);
}

Status FakeShim::Register(const std::string& socket_path, const SgprsHello& hello) {
  if (Status connected = Connect(socket_path); !connected.ok()) return connected;
  if (!Send(hello)) return Status(ErrorCode::kUnavailable, "HELLO could not be sent");
  if (Status welcome = ReceiveWelcome(); !welcome.ok()) return welcome;
  return SendReady() ? Status::Ok() : Status(ErrorCode::kUnavailable, "READY could not be sent");
}

// --- FakeTool ---

FakeTool::~FakeTool() {
  if (state_ != nullptr) munmap(state_, state_bytes_);
}

Status FakeTool::Connect(const std::string& socket_path) {
  if (Status connected = connection_.Connect(socket_path); !connected.ok()) return connected;
  connection_.Send(MakeHeader(SGPRS_MESSAGE_STATE, sizeof(SgprsMessageHeader)));
  const std::vector<char> answer = connection_.Receive();
  if (const auto refuse = FakeShim::AsRefuse(answer)) {
    return Status(ErrorCode::kRefused, refuse->text);
  }
  state_fd_ = std::move(connection_.last_fd());
  struct stat info = {};
  if (fstat(state_fd_.get(), &info) != 0) return Status(ErrorCode::kInternal, "no state");
  state_bytes_ = static_cast<uint64_t>(info.st_size);
  void* at = mmap(nullptr, state_bytes_, PROT_READ, MAP_SHARED, state_fd_.get(), 0);
  if (at == MAP_FAILED) return Status(ErrorCode::kInternal, std::strerror(errno));
  state_ = static_cast<char*>(at);
  return Status::Ok();
}

FakeTool::Reply FakeTool::Command(const std::string& line) {
  SgprsCommand command = {};
  command.header = MakeHeader(SGPRS_MESSAGE_COMMAND, sizeof(command));
  command.text_bytes = static_cast<uint32_t>(line.size());
  std::memcpy(command.text, line.data(), std::min(line.size(), sizeof(command.text) - 1));
  connection_.Send(command);
  const std::vector<char> packet = connection_.Receive();
  if (packet.size() != sizeof(command)) return {};
  std::memcpy(&command, packet.data(), sizeof(command));
  return {static_cast<int>(command.status), std::string(command.text, command.text_bytes)};
}

template <typename Row>
Row FakeTool::CopyRow(uint64_t offset, size_t guard) const {
  Row row;
  std::atomic_ref<uint32_t> count(*reinterpret_cast<uint32_t*>(state_ + offset + guard));
  for (;;) {
    // Acquire pairs with the writer's release store of the even count.
    const uint32_t before = count.load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    auto* words = reinterpret_cast<uint32_t*>(state_ + offset);
    for (size_t i = 0; i < sizeof(Row) / sizeof(uint32_t); ++i) {
      const uint32_t word = std::atomic_ref<uint32_t>(words[i]).load(std::memory_order_relaxed);
      std::memcpy(reinterpret_cast<char*>(&row) + i * sizeof(word), &word, sizeof(word));
    }
    // Acquire fence pairs with the writer's release fence after the odd count.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (count.load(std::memory_order_relaxed) == before) return row;
  }
}

std::optional<SgprsStateHeader> FakeTool::Header() {
  if (state_ == nullptr) return std::nullopt;
  return CopyRow<SgprsStateHeader>(0, offsetof(SgprsStateHeader, seqcount));
}

std::vector<SgprsTaskRow> FakeTool::Tasks() {
  std::vector<SgprsTaskRow> rows;
  const std::optional<SgprsStateHeader> header = Header();
  for (uint32_t i = 0; header && i < header->task_rows; ++i) {
    const auto row =
        CopyRow<SgprsTaskRow>(header->tasks_offset + uint64_t{i} * header->task_row_bytes, 0);
    if (row.state != SGPRS_TASK_NONE) rows.push_back(row);
  }
  return rows;
}

std::vector<SgprsPartitionRow> FakeTool::Partitions() {
  std::vector<SgprsPartitionRow> rows;
  const std::optional<SgprsStateHeader> header = Header();
  for (uint32_t i = 0; header && i < header->partition_count; ++i) {
    rows.push_back(CopyRow<SgprsPartitionRow>(
        header->partitions_offset + uint64_t{i} * header->partition_row_bytes, 0));
  }
  return rows;
}

std::optional<SgprsTaskRow> FakeTool::WaitForTask(const std::string& name, uint32_t state) {
  const uint64_t limit_ns = NowNs() + kReceiveLimitNs;
  do {
    for (const SgprsTaskRow& row : Tasks()) {
      if (row.name == name && row.state == state) return row;
    }
    usleep(1000);
  } while (NowNs() < limit_ns);
  return std::nullopt;
}

}  // namespace sgprs::testing
