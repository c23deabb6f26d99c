// SPDX-License-Identifier: Apache-2.0
// Where a libcuda.so.1 may lie, in the loader's own order.
#ifndef SGPRS_SHIM_INTERPOSE_DRIVER_SEARCH_H_
#define SGPRS_SHIM_INTERPOSE_DRIVER_SEARCH_H_

namespace sgprs::shim {

// Called with one path of an existing file; true ends the search.
using TryPath = bool (*)(const char* path, void* context);

// Offers every candidate until one is taken; true if one was. `caller`: see EnsureDriver.
// Blocks on the file system. No locks.
bool SearchDriver(const void* caller, TryPath try_path, void* context);

// Offers the entries of the loader's cache at `cache_path` that are for this architecture and named
// libcuda.so.1. A damaged or foreign file offers nothing.
bool SearchLoaderCache(const char* cache_path, TryPath try_path, void* context);

}  // namespace sgprs::shim

#endif  // SGPRS_SHIM_INTERPOSE_DRIVER_SEARCH_H_
