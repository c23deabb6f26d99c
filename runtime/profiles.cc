// SPDX-License-Identifier: Apache-2.0
#include "runtime/profiles.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>

#include "runtime/observe/text.h"

namespace sgprs::runtime {
namespace {

const char* KindWord(uint8_t kind) {
  static constexpr const char* kWords[SGPRS_SLOT_KIND_COUNT] = {
      "none",         "kernel",     "graph",         "copy", "fill",
      "event record", "event wait", "host function", "free"};
  return kind < SGPRS_SLOT_KIND_COUNT ? kWords[kind] : "?";
}

uint64_t Median(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Launches and the kernels that they name, each once.
void FillLaunches(const Client::Observed& seen, const lane::LaneOwner& lane,
                  profile::Profile* profile) {
  std::map<uint32_t, uint32_t> index;  // of a kernel by its id in the lane
  for (size_t i = 0; i < seen.slots.size(); ++i) {
    const SgprsSlot& slot = seen.slots[i];
    profile::Launch launch = {.identity = seen.identities[i], .kind = KindWord(slot.kind)};
    SgprsKernelName name;
    if (slot.kernel != 0 && lane.CopyKernelNameUntrusted(slot.kernel, &name)) {
      const auto [at, added] = index.try_emplace(slot.kernel, profile->kernels.size() + 1);
      if (added) profile->kernels.push_back(observe::OneLine(name.name));
      launch.kernel = at->second;
    }
    launch.stream = slot.stream;
    if (slot.kind == SGPRS_SLOT_KERNEL) {
      launch.grid = {slot.grid_x, slot.grid_y, slot.grid_z};
      launch.block = {slot.block_x, slot.block_y, slot.block_z};
      launch.shared_bytes = slot.shared_bytes;
    }
    launch.bytes = slot.bytes;
    profile->launches.push_back(std::move(launch));
  }
}

}  // namespace

Result<profile::Profile> Profiles::Load(const std::string& path, DevicePool* pool) {
  Result<profile::Profile> profile = profile::ReadProfile(path);
  if (!profile.ok()) return profile.status();
  if (pool != nullptr) {
    const std::string other = profile::CheckDevice(*profile, pool->device_name(), pool->sm_count());
    if (!other.empty()) return Status(ErrorCode::kRefused, "profile " + path + ": " + other);
    Status added = pool->scheduler()->AddProfile(profile->ForScheduler());
    if (!added.ok()) return added.WithContext(path);
  }
  std::erase_if(loaded_, [&](const Loaded& other) {
    return other.path == path || other.profile.signature() == profile->signature();
  });
  loaded_.push_back({path, *profile});
  spdlog::info("profile {}: {} launches in {} stages, of {}", observe::OneLine(path),
               profile->launches.size(), profile->stages.size(), observe::OneLine(profile->task));
  return profile;
}

void Profiles::Seed(DevicePool* pool) const {
  for (const Loaded& loaded : loaded_) {
    std::string wrong = profile::CheckDevice(loaded.profile, pool->device_name(), pool->sm_count());
    if (wrong.empty()) {
      const Status added = pool->scheduler()->AddProfile(loaded.profile.ForScheduler());
      if (!added.ok()) wrong = added.text();
    }
    if (!wrong.empty()) {
      spdlog::warn("profile {} is not used: {}", observe::OneLine(loaded.path),
                   observe::OneLine(wrong));
    }
  }
}

void Profiles::Judge(const Client& client, const DevicePool& pool) const {
  const sched::TaskView view = client.View();
  for (const Loaded& loaded : loaded_) {
    const std::string path = observe::OneLine(loaded.path);
    if (!profile::CheckDevice(loaded.profile, pool.device_name(), pool.sm_count()).empty()) {
      continue;
    }
    if (loaded.profile.signature() == view.signature) {
      spdlog::info("{} runs by profile {}", client.Describe(), path);
    } else if (loaded.profile.task == client.name()) {
      spdlog::warn(
          "profile {} is not used for {}: it is of another signature ({:016x}, {} launches), not "
          "{:016x}, {} launches",
          path, client.Describe(), loaded.profile.signature(), loaded.profile.launches.size(),
          view.signature, view.job_launches);
    }
  }
}

void Profiles::Write(Client* client, DevicePool* pool) const {
  const std::optional<sched::TaskProfile> learnt = pool->scheduler()->LearntProfile(client->task());
  const Client::Observed& seen = client->observed();
  if (!learnt || seen.slots.empty()) {
    spdlog::warn("no profile of {}: its stages are not learnt ({} jobs complete)",
                 client->Describe(), client->UpdateRow().counters.jobs_completed);
    return;
  }
  profile::Profile profile;
  const SgprsTaskRow& row = client->UpdateRow();
  profile.task = client->name();
  profile.program = row.program;
  profile.device = pool->device_name();
  profile.sm_count = pool->sm_count();
  profile.period_ns = row.period_ns;
  profile.period_seen_ns = Median(seen.intervals_ns);
  profile.jobs = row.counters.jobs_completed;
  profile.stages = learnt->stages;
  FillLaunches(seen, *client->lane(), &profile);
  const std::string path = directory_ + "/" + profile::FileName(client->name());
  const Status written = profile::WriteProfile(profile, path);
  if (written.ok()) {
    spdlog::info("profile of {}: {}", client->Describe(), observe::OneLine(path));
  } else {
    spdlog::warn("{}", observe::OneLine(written.text()));
  }
}

}  // namespace sgprs::runtime
