// SPDX-License-Identifier: Apache-2.0
// Whether sgprsd understands what `sgprs demo` is going to ask of it, before anything is measured.
#ifndef SGPRS_TOOLS_SGPRS_DEMO_CHECK_H_
#define SGPRS_TOOLS_SGPRS_DEMO_CHECK_H_

#include "runtime/base/result.h"
#include "tools/sgprs/demo_session.h"
#include "tools/sgprs/installation.h"

namespace sgprs::cli {

// Asks `sgprsd --check` once a policy; blocks for some ms each. Errors: kInvalid (sgprsd's own
// reason: no such policy or device, impossible pool; or a policy twice); others if it can not be
// asked, kRefused after a signal, which `*interrupted` then names.
Status CheckDemoOptions(const DemoOptions& options, const Installation& installation,
                        int* interrupted);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_DEMO_CHECK_H_
