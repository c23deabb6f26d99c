// SPDX-License-Identifier: Apache-2.0
// Makers of the policies, one a file; only policy_table.cc calls them.
#ifndef SGPRS_RUNTIME_POLICY_POLICIES_H_
#define SGPRS_RUNTIME_POLICY_POLICIES_H_

#include <memory>

#include "runtime/policy/policy.h"

namespace sgprs::policy {

std::unique_ptr<Policy> MakeSgprs();
std::unique_ptr<Policy> MakeNaive();
std::unique_ptr<Policy> MakeFifo();
std::unique_ptr<Policy> MakeEdf();
std::unique_ptr<Policy> MakeStatic();

}  // namespace sgprs::policy

#endif  // SGPRS_RUNTIME_POLICY_POLICIES_H_
