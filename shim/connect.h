// SPDX-License-Identifier: Apache-2.0
// The control socket, from the shim's side (include/sgprs/abi/control.h). Every wait has a bound.
#ifndef SGPRS_SHIM_CONNECT_H_
#define SGPRS_SHIM_CONNECT_H_

#include <cstdint>

#include "sgprs/abi/control.h"
#include "sgprs/abi/lane.h"
#include "shim/partition/backend.h"

namespace sgprs::shim {

// What a registration gave. Owns nothing: the session takes fd and mapping over.
struct Registration {
  int control_fd = -1;
  SgprsLaneHeader* lane = nullptr;
  uint64_t lane_bytes = 0;
  SgprsWelcome welcome = {};
};

// The class that the environment asks for.
SgprsTaskClass ClassFromEnv();

// HELLO, WELCOME, map, check. Blocks 3 s at most. False: `reason` holds one line.
bool Register(const DeviceFacts& facts, uint32_t backends, Registration* registration, char* reason,
              uint32_t reason_bytes);
// Tells what was built. False: the runtime is gone.
bool SendReady(int control_fd, SgprsBackend backend, const uint32_t* sm_counts, uint32_t count);
// Gives a lane and its connection up.
void UnmapLane(SgprsLaneHeader* lane, uint64_t bytes, int control_fd);
// True if the runtime closed the connection or died. Never blocks.
bool HungUp(int control_fd);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_CONNECT_H_
