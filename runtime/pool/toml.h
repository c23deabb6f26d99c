// SPDX-License-Identifier: Apache-2.0
// toml++, header-only, in one configuration for every file of this directory.
#ifndef SGPRS_RUNTIME_POOL_TOML_H_
#define SGPRS_RUNTIME_POOL_TOML_H_

#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#endif  // SGPRS_RUNTIME_POOL_TOML_H_
