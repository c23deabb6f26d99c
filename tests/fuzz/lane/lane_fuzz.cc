// SPDX-License-Identifier: Apache-2.0
// A hostile shim: the input is a list of 8-byte stores anywhere into the lane, and between them the
// runtime does all it ever does with it. What the runtime gets must keep the promises of
// lane_owner.h, whatever the memory says.
//
// Input: operations of 11 bytes {u8 what, u16 where, u64 value}, little endian. what & 7: 0..5
// store `value` at word `where` of the region kRegions[what & 7], 6 read everything, 7 publish a
// grant.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/lane/lane_owner.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using sgprs::lane::LaneCursors;
using sgprs::lane::LaneOwner;

constexpr size_t kOperationBytes = 11;
constexpr uint8_t kUuid[SGPRS_UUID_BYTES] = {};

void Require(bool promise) {
  if (!promise) std::abort();
}

class HostileLane {
 public:
  HostileLane() {
    auto lane = LaneOwner::Create(1, kUuid);
    Require(lane.ok());
    lane_ = std::move(*lane);
    base_ = reinterpret_cast<char*>(lane_->header());
    const SgprsLaneHeader& h = *lane_->header();
    regions_[0] = regions_[1] = {0, h.header_bytes};
    regions_[2] = {offsetof(SgprsLaneHeader, recorded), 24};
    regions_[3] = {h.slots_offset, h.slot_count * sizeof(SgprsSlot)};
    regions_[4] = {h.completions_offset, h.completion_count * sizeof(SgprsCompletion)};
    regions_[5] = {h.kernels_offset, h.kernel_count * sizeof(SgprsKernelName)};
  }

  void Apply(uint8_t what, uint16_t where, uint64_t value) {
    what &= 7;
    if (what == 6) return ReadAll();
    if (what == 7) return Grant(value);
    const Region& region = regions_[what];
    const uint64_t word = where % (region.bytes / sizeof(value));
    std::memcpy(base_ + region.offset + word * sizeof(value), &value, sizeof(value));
  }

  void ReadAll() {
    const LaneCursors before = lane_->cursors();
    auto seen = lane_->Observe();
    const LaneCursors& now = lane_->cursors();
    Require(now.recorded >= before.recorded && now.completed <= now.issued);
    Require(now.issued <= now.recorded && now.recorded - now.issued <= SGPRS_LANE_SLOTS);
    Require(now.kernels_interned <= SGPRS_LANE_KERNELS);
    Require(seen.ok() || now.recorded == before.recorded);
    ReadSlots(now);
    ReadNames(now);
    ReadCompletions();
    (void)lane_->CopyCountersUntrusted();
  }

 private:
  struct Region {
    uint64_t offset = 0;
    uint64_t bytes = 0;
  };

  void ReadSlots(const LaneCursors& now) {
    const uint64_t around[] = {0,         now.completed, now.issued, now.recorded - 1, now.recorded,
                               UINT64_MAX};
    for (const uint64_t index : around) {
      SgprsSlot slot;
      if (!lane_->CopySlotUntrusted(index, &slot)) continue;
      Require(index < now.recorded && slot.index == index && slot.kind < SGPRS_SLOT_KIND_COUNT);
    }
  }
  void ReadNames(const LaneCursors& now) {
    for (const uint64_t id :
         {uint64_t{0}, uint64_t{1}, now.kernels_interned, uint64_t{UINT32_MAX}}) {
      SgprsKernelName name;
      if (!lane_->CopyKernelNameUntrusted(static_cast<uint32_t>(id), &name)) continue;
      Require(id != 0 && id <= now.kernels_interned);
      Require(std::memchr(name.name, 0, sizeof(name.name)) != nullptr);
    }
  }
  void ReadCompletions() {
    SgprsCompletion completion;
    uint32_t taken = 0;
    while (lane_->TakeCompletionUntrusted(&completion)) Require(++taken <= SGPRS_LANE_COMPLETIONS);
  }
  void Grant(uint64_t upto) {
    SgprsGrant grant = {};
    grant.upto = upto;
    uint64_t sequence = 0;
    if (!lane_->PublishGrant(grant, &sequence)) return;
    Require(sequence == last_sequence_ + 1);
    last_sequence_ = sequence;
  }

  std::unique_ptr<LaneOwner> lane_;
  char* base_ = nullptr;
  Region regions_[6];
  uint64_t last_sequence_ = 0;
};

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  HostileLane lane;
  for (size_t at = 0; at + kOperationBytes <= size; at += kOperationBytes) {
    uint16_t where;
    uint64_t value;
    std::memcpy(&where, data + at + 1, sizeof(where));
    std::memcpy(&value, data + at + 3, sizeof(value));
    lane.Apply(data[at], where, value);
  }
  lane.ReadAll();
  return 0;
}
