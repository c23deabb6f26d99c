// SPDX-License-Identifier: Apache-2.0
// Driver symbols that our cuda.h does not know (a newer driver's), met at run time.
#ifndef SGPRS_SHIM_INTERPOSE_UNKNOWN_H_
#define SGPRS_SHIM_INTERPOSE_UNKNOWN_H_

namespace sgprs::shim {

// What to hand out for `name` in place of the driver's `real`: a trampoline that drains first if
// such a call may be ordered in streams (always the same one for the same `real`), else `real`
// itself. Also `real` once all trampolines are taken. Counts every symbol once per trampoline.
// Any thread; lock-free; allocates a copy of the name.
void* UnknownSymbol(const char* name, void* real);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_UNKNOWN_H_
