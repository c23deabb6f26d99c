// SPDX-License-Identifier: Apache-2.0
// The dynamic loader's own dlopen, dlmopen, dlsym and dlvsym, which our exports of the same names
// hide from everybody, ourselves included.
//
// They are found without asking any of them: libc's dlsym by reading libc's dynamic symbol table,
// then the others, and the dlsym of another preloaded library if there is one behind us, with
// dlsym(RTLD_NEXT). Any thread; no locks of ours; first use reads a symbol table (microseconds).
#ifndef SGPRS_SHIM_INTERPOSE_REAL_DL_H_
#define SGPRS_SHIM_INTERPOSE_REAL_DL_H_

#include <dlfcn.h>
#include <link.h>

namespace sgprs::shim {

using DlopenFunction = void*(const char* file, int mode);
using DlmopenFunction = void*(Lmid_t ns, const char* file, int mode);
using DlsymFunction = void*(void* handle, const char* name);
using DlvsymFunction = void*(void* handle, const char* name, const char* version);

// What a call of the application is passed on to: the next object's, usually libc's. Null only if
// this libc has no such function. Results of RTLD_NEXT and RTLD_DEFAULT depend on the address of
// the caller: jump to them (trampolines.S) where that matters.
DlopenFunction* RealDlopen();
DlmopenFunction* RealDlmopen();
DlsymFunction* RealDlsym();
DlvsymFunction* RealDlvsym();

// The loader's record of the object that holds `address`, or null. Valid while that object stays
// loaded. A handle of dlopen is the same pointer.
link_map* MapOf(const void* address);
// Our own; never null once we are mapped.
link_map* OwnMap();

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_REAL_DL_H_
