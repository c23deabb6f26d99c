// SPDX-License-Identifier: Apache-2.0
// Where profiles lie, and how one gets to sgprsd.
#ifndef SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_PICK_H_
#define SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_PICK_H_

#include <string>

#include "runtime/base/result.h"

namespace sgprs::cli {

// $XDG_DATA_HOME/sgprs/profiles, else ~/.local/share/sgprs/profiles, else empty.
std::string ProfileDirectory();

// Of a task in that directory; empty without a directory.
std::string ProfilePath(const std::string& task);

// Tells the daemon at `socket` to use the profile `path` (absolute). Blocks for some seconds at
// most. Errors: no daemon (kUnavailable), or what the daemon has against it (kRefused).
Status LoadProfile(const std::string& socket, const std::string& path);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_PICK_H_
