// SPDX-License-Identifier: Apache-2.0
#include "shim/interpose/driver_search.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shim/interpose/driver.h"
#include "shim/interpose/real_dl.h"

namespace sgprs::shim {
namespace {

constexpr char kLoaderCache[] = "/etc/ld.so.cache";

// Places of the driver that a loader is not always told of (WSL, container runtimes).
constexpr const char* kUsualPlaces[] = {
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu",
#endif
    "/usr/lib64",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
};

// glibc's dl-cache.h, the format of 2.2 and later ("glibc-ld.so.cache1.1").
struct CacheHeader {
  char magic[20];
  uint32_t entry_count;
  uint32_t string_bytes;
  uint32_t unused[5];
};
struct CacheEntry {
  uint32_t flags;
  uint32_t key;  // offsets of strings from the header
  uint32_t value;
  uint32_t os_version;
  uint64_t hwcap;
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);
constexpr char kCacheMagic[] = "glibc-ld.so.cache1.1";
#if defined(__x86_64__)
constexpr uint32_t kCacheFlags = 0x0303;  // FLAG_X8664_LIB64 | FLAG_ELF_LIBC6
#else
constexpr uint32_t kCacheFlags = 0x0a03;  // FLAG_AARCH64_LIB64 | FLAG_ELF_LIBC6
#endif

bool TryFile(const char* path, TryPath try_path, void* context) {
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  return try_path(path, context);
}

bool TryDirectory(const char* directory, TryPath try_path, void* context) {
  char path[PATH_MAX];
  const int length = std::snprintf(path, sizeof(path), "%s/%s", directory, kDriverSoname);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path)) return false;
  return TryFile(path, try_path, context);
}

// The directories that the loader would search for `map`.
bool SearchLoaderPath(link_map* map, TryPath try_path, void* context) {
  Dl_serinfo head;
  if (map == nullptr || dlinfo(map, RTLD_DI_SERINFOSIZE, &head) != 0) return false;
  auto* info = static_cast<Dl_serinfo*>(std::malloc(head.dls_size));
  if (info == nullptr) return false;
  bool taken = false;
  if (dlinfo(map, RTLD_DI_SERINFOSIZE, info) == 0 && dlinfo(map, RTLD_DI_SERINFO, info) == 0) {
    for (unsigned i = 0; i < info->dls_cnt && !taken; ++i) {
      taken = TryDirectory(info->dls_serpath[i].dls_name, try_path, context);
    }
  }
  std::free(info);
  return taken;
}

// True if a NUL-terminated string starts at `offset` of the `size` bytes.
bool IsString(const char* base, size_t size, uint32_t offset) {
  return offset < size && std::memchr(base + offset, '\0', size - offset) != nullptr;
}

bool SearchCacheImage(const char* image, size_t size, TryPath try_path, void* context) {
  const void* magic = memmem(image, size, kCacheMagic, sizeof(kCacheMagic) - 1);
  if (magic == nullptr) return false;
  const char* base = static_cast<const char*>(magic);
  size -= static_cast<size_t>(base - image);
  CacheHeader header;
  if (size <= sizeof(header)) return false;
  std::memcpy(&header, base, sizeof(header));
  if (header.entry_count > (size - sizeof(header)) / sizeof(CacheEntry)) return false;
  for (uint32_t i = 0; i < header.entry_count; ++i) {
    CacheEntry entry;
    std::memcpy(&entry, base + sizeof(header) + i * sizeof(entry), sizeof(entry));
    if (entry.flags != kCacheFlags || !IsString(base, size, entry.key)) continue;
    if (std::strcmp(base + entry.key, kDriverSoname) != 0) continue;
    if (!IsString(base, size, entry.value)) continue;
    if (TryFile(base + entry.value, try_path, context)) return true;
  }
  return false;
}

}  // namespace

bool SearchLoaderCache(const char* cache_path, TryPath try_path, void* context) {
  const int fd = open(cache_path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool taken = false;
  struct stat status;
  if (fstat(fd, &status) == 0 && status.st_size > 0) {
    const size_t size = static_cast<size_t>(status.st_size);
    void* image = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (image != MAP_FAILED) {
      taken = SearchCacheImage(static_cast<const char*>(image), size, try_path, context);
      munmap(image, size);
    }
  }
  close(fd);
  return taken;
}

bool SearchDriver(const void* caller, TryPath try_path, void* context) {
  link_map* map = caller != nullptr ? MapOf(caller) : nullptr;
  if (map == nullptr) {
    map = OwnMap();
    while (map->l_prev != nullptr) map = map->l_prev;  // the main program is the first
  }
  if (SearchLoaderPath(map, try_path, context)) return true;
  if (SearchLoaderCache(kLoaderCache, try_path, context)) return true;
  for (const char* directory : kUsualPlaces) {
    if (TryDirectory(directory, try_path, context)) return true;
  }
  return false;
}

}  // namespace sgprs::shim
