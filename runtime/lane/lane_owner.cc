// SPDX-License-Identifier: Apache-2.0
#include "runtime/lane/lane_owner.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <cstring>

#include "runtime/lane/doorbell.h"

namespace sgprs::lane {
namespace {

namespace bip = boost::interprocess;

// What mapped_region wants of a thing it maps.
class FdMapping {
 public:
  explicit FdMapping(int fd) { handle_.handle = fd, handle_.is_xsi = false; }
  bip::mapping_handle_t get_mapping_handle() const { return handle_; }

 private:
  bip::mapping_handle_t handle_;
};

constexpr uint64_t kSlotsOffset = 4096;
constexpr uint64_t kGrantsOffset = kSlotsOffset + SGPRS_LANE_SLOTS * sizeof(SgprsSlot);
constexpr uint64_t kCompletionsOffset = kGrantsOffset + SGPRS_LANE_GRANTS * sizeof(SgprsGrant);
constexpr uint64_t kKernelsOffset =
    kCompletionsOffset + SGPRS_LANE_COMPLETIONS * sizeof(SgprsCompletion);
constexpr uint64_t kLaneBytes =
    (kKernelsOffset + SGPRS_LANE_KERNELS * sizeof(SgprsKernelName) + 4095) / 4096 * 4096;

template <typename T>
T LoadAcquire(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_acquire);
}
template <typename T>
void StoreRelease(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
}
template <typename T>
void StoreRelaxed(T& word, T value) {
  std::atomic_ref<T>(word).store(value, std::memory_order_relaxed);
}

template <typename T>
T* At(SgprsLaneHeader* header, uint64_t offset) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(header) + offset);
}

Status SystemError(const char* what) {
  const ErrorCode code = errno == EMFILE || errno == ENFILE || errno == ENOMEM
                             ? ErrorCode::kExhausted
                             : ErrorCode::kInternal;
  return Status(code, std::string(what) + ": " + std::strerror(errno));
}

void LayOut(SgprsLaneHeader* header, uint64_t client_id, const uint8_t* device_uuid) {
  header->magic = SGPRS_LANE_MAGIC;
  header->major = SGPRS_ABI_MAJOR;
  header->minor = SGPRS_ABI_MINOR;
  header->total_bytes = kLaneBytes;
  header->header_bytes = sizeof(SgprsLaneHeader);
  header->slot_count = SGPRS_LANE_SLOTS;
  header->grant_count = SGPRS_LANE_GRANTS;
  header->completion_count = SGPRS_LANE_COMPLETIONS;
  header->kernel_count = SGPRS_LANE_KERNELS;
  header->slots_offset = kSlotsOffset;
  header->grants_offset = kGrantsOffset;
  header->completions_offset = kCompletionsOffset;
  header->kernels_offset = kKernelsOffset;
  header->client_id = client_id;
  std::memcpy(header->device_uuid, device_uuid, SGPRS_UUID_BYTES);
}

}  // namespace

LaneOwner::LaneOwner() = default;
LaneOwner::~LaneOwner() = default;

Result<std::unique_ptr<LaneOwner>> LaneOwner::Create(uint64_t client_id,
                                                     const uint8_t device_uuid[SGPRS_UUID_BYTES]) {
  std::unique_ptr<LaneOwner> lane(new LaneOwner);
  lane->fd_.reset(memfd_create("sgprs-lane", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!lane->fd_.valid()) return SystemError("memfd_create");
  if (ftruncate(lane->fd(), static_cast<off_t>(kLaneBytes)) != 0) return SystemError("ftruncate");
  if (fcntl(lane->fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return SystemError("F_ADD_SEALS");
  }
  try {
    lane->region_ =
        std::make_unique<bip::mapped_region>(FdMapping(lane->fd()), bip::read_write, 0, kLaneBytes);
  } catch (const bip::interprocess_exception& error) {
    return Status(ErrorCode::kExhausted, std::string("mapping a lane: ") + error.what());
  }
  LayOut(lane->header(), client_id, device_uuid);
  return lane;
}

uint64_t LaneOwner::bytes() const { return kLaneBytes; }

SgprsLaneHeader* LaneOwner::header() {
  return static_cast<SgprsLaneHeader*>(region_->get_address());
}

SgprsDoorbell* LaneOwner::runtime_doorbell() { return &header()->runtime_doorbell; }

Result<LaneCursors> LaneOwner::Observe() {
  SgprsLaneHeader* h = header();
  LaneCursors seen;
  // Acquire, each paired with the release store of its writer in shim/record and shim/issue; read
  // from the slowest to the fastest, so that a well-behaved writer never looks out of order.
  seen.completed = LoadAcquire(h->completed);
  seen.issued = LoadAcquire(h->issued);
  seen.recorded = LoadAcquire(h->recorded);
  seen.jobs = LoadAcquire(h->jobs);
  seen.kernels_interned = LoadAcquire(h->kernels_interned);
  if (seen.recorded < cursors_.recorded || seen.issued < cursors_.issued ||
      seen.completed < cursors_.completed || seen.jobs < cursors_.jobs) {
    return Status(ErrorCode::kInvalid, "a lane cursor ran backwards");
  }
  if (seen.completed > seen.issued || seen.issued > seen.recorded) {
    return Status(ErrorCode::kInvalid, "lane cursors out of order: recorded " +
                                           std::to_string(seen.recorded) + ", issued " +
                                           std::to_string(seen.issued) + ", completed " +
                                           std::to_string(seen.completed));
  }
  // Against an `issued` read after `recorded`: between the two loads above an honest shim may have
  // issued and recorded a whole ring. Acquire pairs as above.
  const uint64_t issued_later = LoadAcquire(h->issued);
  if (issued_later < seen.recorded && seen.recorded - issued_later > SGPRS_LANE_SLOTS) {
    return Status(ErrorCode::kInvalid, "lane holds more than its ring");
  }
  if (seen.kernels_interned > SGPRS_LANE_KERNELS) {
    return Status(ErrorCode::kInvalid, "kernel table beyond its end");
  }
  cursors_ = seen;
  return seen;
}

bool LaneOwner::CopySlotUntrusted(uint64_t index, SgprsSlot* slot) const {
  if (index >= cursors_.recorded || cursors_.recorded - index > SGPRS_LANE_SLOTS) return false;
  auto* h = static_cast<SgprsLaneHeader*>(region_->get_address());
  SgprsSlot* shared = At<SgprsSlot>(h, kSlotsOffset) + (index & (SGPRS_LANE_SLOTS - 1));
  if (LoadAcquire(shared->index) != index) return false;
  std::memcpy(slot, shared, sizeof(*slot));
  // The recorder may have been rewriting the slot meanwhile, `index` last. It does so only when the
  // slot is issued and `recorded` stands a whole ring further, and it moves `recorded` there
  // before: the fence orders the copy before these loads, which pair with the shim's release
  // stores.
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool reusable =
      LoadAcquire(h->issued) > index && LoadAcquire(h->recorded) - index >= SGPRS_LANE_SLOTS;
  if (reusable || LoadAcquire(shared->index) != index) return false;
  return slot->index == index && slot->kind < SGPRS_SLOT_KIND_COUNT;
}

bool LaneOwner::CopyKernelNameUntrusted(uint32_t id, SgprsKernelName* name) const {
  if (id == 0 || id > cursors_.kernels_interned) return false;
  auto* h = static_cast<SgprsLaneHeader*>(region_->get_address());
  std::memcpy(name, At<SgprsKernelName>(h, kKernelsOffset) + (id - 1), sizeof(*name));
  name->name[SGPRS_KERNEL_NAME_BYTES - 1] = '\0';
  return true;
}

bool LaneOwner::TakeCompletionUntrusted(SgprsCompletion* completion) {
  SgprsLaneHeader* h = header();
  // Acquire pairs with the completer's release store: the entry is whole.
  const uint64_t published = LoadAcquire(h->completions_published);
  if (published == completions_consumed_) return false;
  if (published - completions_consumed_ > SGPRS_LANE_COMPLETIONS) {
    // A writer that ran past the ring; skip what is lost. Cursors still tell the truth.
    completions_consumed_ = published - SGPRS_LANE_COMPLETIONS;
  }
  std::memcpy(completion,
              At<SgprsCompletion>(h, kCompletionsOffset) +
                  (completions_consumed_ & (SGPRS_LANE_COMPLETIONS - 1)),
              sizeof(*completion));
  ++completions_consumed_;
  // Release: the copy above is done before the completer may reuse the entry.
  StoreRelease(h->completions_consumed, completions_consumed_);
  return true;
}

SgprsLaneCounters LaneOwner::CopyCountersUntrusted() const {
  SgprsLaneCounters copy;
  std::memcpy(&copy, &static_cast<SgprsLaneHeader*>(region_->get_address())->counters,
              sizeof(copy));
  return copy;
}

bool LaneOwner::PublishGrant(SgprsGrant grant, uint64_t* sequence) {
  SgprsLaneHeader* h = header();
  // Acquire pairs with the issuer's release store: it is done reading the entry we rewrite.
  const uint64_t consumed = LoadAcquire(h->grants_consumed);
  if (grants_published_ - consumed >= SGPRS_LANE_GRANTS) return false;
  grant.sequence = grants_published_ + 1;
  std::memcpy(At<SgprsGrant>(h, kGrantsOffset) + (grants_published_ & (SGPRS_LANE_GRANTS - 1)),
              &grant, sizeof(grant));
  ++grants_published_;
  // Release pairs with the issuer's acquire load.
  StoreRelease(h->grants_published, grants_published_);
  Ring(&h->issuer_doorbell);
  if (sequence != nullptr) *sequence = grant.sequence;
  return true;
}

// Relaxed below: each is a lone word that tells nothing about other memory.
void LaneOwner::SetGranted(uint64_t index) { StoreRelaxed(header()->granted, index); }
void LaneOwner::SetPeriodNs(uint64_t ns) { StoreRelaxed(header()->settings.period_ns, ns); }
void LaneOwner::SetPauseNs(uint64_t ns) { StoreRelaxed(header()->settings.pause_ns, ns); }
void LaneOwner::SetJobLaunches(uint64_t n) { StoreRelaxed(header()->settings.job_launches, n); }
void LaneOwner::SetJobRule(uint32_t rule) { StoreRelaxed(header()->settings.job_rule, rule); }
void LaneOwner::SetAliveNs(uint64_t ns) { StoreRelaxed(header()->settings.alive_ns, ns); }

}  // namespace sgprs::lane
