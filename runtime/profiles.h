// SPDX-License-Identifier: Apache-2.0
// The profiles that sgprsd knows, and those that it writes (runtime/profile). Thread: the loop's;
// reading and writing files blocks it for as long as that takes (a profile is some 100 bytes a
// launch).
#ifndef SGPRS_RUNTIME_PROFILES_H_
#define SGPRS_RUNTIME_PROFILES_H_

#include <string>
#include <vector>

#include "runtime/base/result.h"
#include "runtime/client.h"
#include "runtime/device_pool.h"
#include "runtime/profile/profile.h"

namespace sgprs::runtime {

class Profiles {
 public:
  // `directory`: where one a task is written when it ends; empty = nowhere.
  explicit Profiles(std::string directory) : directory_(std::move(directory)) {}

  bool writing() const { return !directory_.empty(); }

  // Reads a profile and keeps it for tasks that turn out to have its signature. `pool` may be null:
  // then its device is judged when there is one. Errors: as profile::ReadProfile; kRefused: it is
  // of another device.
  Result<profile::Profile> Load(const std::string& path, DevicePool* pool);
  // What is loaded, for a new pool.
  void Seed(DevicePool* pool) const;

  // Says in the log whether a loaded profile fits a task that has just been learnt.
  void Judge(const Client& client, const DevicePool& pool) const;
  // At the client's end, before its task is removed. Says in the log what was written, or why
  // nothing was.
  void Write(Client* client, DevicePool* pool) const;

 private:
  struct Loaded {
    std::string path;
    profile::Profile profile;
  };
  const std::string directory_;
  std::vector<Loaded> loaded_;
};

}  // namespace sgprs::runtime

#endif  // SGPRS_RUNTIME_PROFILES_H_
