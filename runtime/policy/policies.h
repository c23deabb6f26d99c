// SPDX-License-Identifier: Apache-2.0
// Makers of the policies, one a file; only policy_table.cc calls them.
#ifndef SGPRS_RUNTIME_POLICY_POLICIES_H_
#define SGPRS_RUNTIME_POLICY_POLICIES_H_

#include <memory>

#include "runtime/policy/policy.h"

namespace sgprs::policy {

std::unique_ptr<Policy> MakeSgprs(const PolicyOptions& options);
std::unique_ptr<Policy> MakeNaive(const PolicyOptions& options);
std::unique_ptr<Policy> MakeFifo(const PolicyOptions& options);
std::unique_ptr<Policy> MakeEdf(const PolicyOptions& options);
std::unique_ptr<Policy> MakeRm(const PolicyOptions& options);
std::unique_ptr<Policy> MakeDaris(const PolicyOptions& options);
std::unique_ptr<Policy> MakeStatic(const PolicyOptions& options);

}  // namespace sgprs::policy

#endif  // SGPRS_RUNTIME_POLICY_POLICIES_H_
