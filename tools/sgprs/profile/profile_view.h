// SPDX-License-Identifier: Apache-2.0
// A profile as people read it. Pure.
#ifndef SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_VIEW_H_
#define SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_VIEW_H_

#include <string>

#include "runtime/profile/profile.h"

namespace sgprs::cli {

// Head, stages with their cost by SMs; with `launches` every launch, names demangled.
std::string ProfileText(const profile::Profile& profile, bool launches);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_PROFILE_PROFILE_VIEW_H_
