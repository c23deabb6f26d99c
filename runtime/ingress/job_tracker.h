// SPDX-License-Identifier: Apache-2.0
// Reads what a client records: slots of its lane in program order become jobs with a first index,
// an end and the identities of their launches.
//
// Trust: slots are copied once, then checked; job ordinals must rise. Thread: the loop's. Memory is
// bounded: identities are kept up to kMostIdentities a job and four times that in all; the list of
// jobs by the caller, who looks at open_jobs().
#ifndef SGPRS_RUNTIME_INGRESS_JOB_TRACKER_H_
#define SGPRS_RUNTIME_INGRESS_JOB_TRACKER_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/lane/lane_owner.h"

namespace sgprs::ingress {

class JobTracker {
 public:
  static constexpr size_t kMostIdentities = 65536;
  static constexpr size_t kMostOpenJobs = SGPRS_LANE_SLOTS;
  static constexpr uint64_t kUnknownEnd = UINT64_MAX;

  struct Job {
    uint64_t id = 0;
    uint64_t first = 0;             // lane index of its first launch
    uint64_t end = kUnknownEnd;     // lane index after its last one; known when the next job begins
    bool lost = false;              // some slots were overwritten unread, or there were too many
    uint64_t last_complete_ns = 0;  // of the latest completion within it
    uint64_t completed_upto = 0;    // lane index
    std::vector<uint64_t> identities;  // kernel, kind and stream of each launch, hashed
    std::vector<SgprsSlot> slots;      // of each launch, after KeepSlots()
  };
  struct Release {
    uint64_t job = 0;
    uint64_t first_launch_ns = 0;
  };

  // `lane` outlives this object.
  explicit JobTracker(lane::LaneOwner* lane) : lane_(lane) {}

  // From now on jobs carry their slots (64 bytes a launch), for a profile.
  void KeepSlots() { keep_slots_ = true; }

  // Reads slots up to the `recorded` of the lane's last Observe(); appends the jobs that begin in
  // them. Error kInvalid: a malformed slot; the client is to be cut.
  Status ReadSlots(uint64_t now_ns, std::vector<Release>* released);

  // Everything before lane index `upto` was complete at `complete_ns`. Rising in both.
  void NoteComplete(uint64_t upto, uint64_t complete_ns);

  // The oldest job if it is over: its end is known and complete, and it comes before job `before`.
  // Call until nullopt.
  std::optional<Job> TakeOver(uint64_t before = UINT64_MAX);
  // At the client's end: the newest job too, if all that was recorded is complete.
  std::optional<Job> TakeLast();

  // nullptr if the job is not open (any more).
  const Job* Find(uint64_t id) const;
  size_t open_jobs() const { return jobs_.size(); }
  uint64_t scanned() const { return scanned_; }

 private:
  Status Take(const SgprsSlot& slot, uint64_t now_ns, std::vector<Release>* released);
  Result<uint64_t> Identity(const SgprsSlot& slot);
  void BeginJob(const SgprsSlot& slot, uint64_t now_ns, std::vector<Release>* released);

  lane::LaneOwner* const lane_;
  uint64_t scanned_ = 0;  // next slot to read
  uint64_t last_job_ = 0;
  uint64_t last_release_ns_ = 0;
  bool keep_slots_ = false;
  size_t identities_ = 0;              // kept, of all jobs
  std::deque<Job> jobs_;               // open ones, in order
  std::vector<uint64_t> kernel_hash_;  // by kernel id - 1; 0 = not looked up yet
};

}  // namespace sgprs::ingress

#endif  // SGPRS_RUNTIME_INGRESS_JOB_TRACKER_H_
