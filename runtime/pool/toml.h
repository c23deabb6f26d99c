// SPDX-License-Identifier: Apache-2.0
// toml++, header-only, in one configuration for every file of this directory.
//
// Its assertions are switched off by hand: one of them is wrong ("[\n" breaks it, which is merely
// bad input), and with NDEBUG and clang it becomes an assumption that the optimiser may use.
// Without it the parser reports the error as it should.
#ifndef SGPRS_RUNTIME_POOL_TOML_H_
#define SGPRS_RUNTIME_POOL_TOML_H_

#define TOML_ENABLE_FORMATTERS 0
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(expression) static_cast<void>(0)

#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#endif  // SGPRS_RUNTIME_POOL_TOML_H_
