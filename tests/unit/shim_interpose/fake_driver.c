/* SPDX-License-Identifier: Apache-2.0 */
/* A libcuda.so.1 that exports every symbol of cuda.h, and two that are newer than it. Each logs
 * that it ran. It has its own cuGetProcAddress, made from the same facts as the shim's but by other
 * code. $FAKE_VERSION: driver version, default 13000. $FAKE_INTERNAL=1: cuGetProcAddress hands out
 * other pointers than dlsym. $FAKE_CTOR=1: the constructor asks the loader for libcuda.so.1, as a
 * driver may. */
#include "fake_driver.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#define FAKE_PLAIN(name)                                     \
  EXPORT int name(void) {                                    \
    LogLine("R %s", #name);                                  \
    return 0;                                                \
  }                                                          \
  __attribute__((unused)) static int Internal_##name(void) { \
    LogLine("R %s (internal)", #name);                       \
    return 0;                                                \
  }
#include "fake_driver.gen.inc"
#undef FAKE_PLAIN

EXPORT int cuNewThingAsync(long a, long b, long c, long d, long e, long f, long g) {
  LogLine("R cuNewThingAsync %ld %ld %ld %ld %ld %ld %ld", a, b, c, d, e, f, g);
  return (int)g;
}
EXPORT int cuNewQuiet(void) {
  LogLine("R cuNewQuiet");
  return 77;
}

EXPORT int cuInit(unsigned flags) {
  LogLine("R cuInit %u", flags);
  return 0;
}
EXPORT int cuDriverGetVersion(int* version) {
  const char* given = getenv("FAKE_VERSION");
  *version = given != NULL ? atoi(given) : 13000;
  return 0;
}
EXPORT int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void* stream, void** params, void** extra) {
  LogLine("R cuLaunchKernel %ld %u %u %u %u %u %u %u %ld %ld %ld", (long)f, gx, gy, gz, bx, by, bz,
          shared, (long)stream, (long)params, (long)extra);
  return 0;
}
EXPORT int cuLaunchCooperativeKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                     unsigned by, unsigned bz, unsigned shared, void* stream,
                                     void** params) {
  LogLine("R cuLaunchCooperativeKernel %ld %u %u %u %u %u %u %u %ld %ld", (long)f, gx, gy, gz, bx,
          by, bz, shared, (long)stream, (long)params);
  return 5;
}
EXPORT int cuParamSetf(void* f, int offset, float value) {
  LogLine("R cuParamSetf %ld %d %g", (long)f, offset, (double)value);
  return 0;
}

EXPORT int cuGetProcAddress(const char* symbol, void** pfn, int version, uint64_t flags);
EXPORT int cuGetProcAddress_v2(const char* symbol, void** pfn, int version, uint64_t flags,
                               int* status);
#define Internal_cuInit cuInit
#define Internal_cuDriverGetVersion cuDriverGetVersion
#define Internal_cuLaunchKernel cuLaunchKernel
#define Internal_cuLaunchCooperativeKernel cuLaunchCooperativeKernel
#define Internal_cuParamSetf cuParamSetf
#define Internal_cuGetProcAddress cuGetProcAddress
#define Internal_cuGetProcAddress_v2 cuGetProcAddress_v2

static const struct {
  const char* base;
  int per_thread;
  int version;
  const char* name;
  void* exported;
  void* internal;
} kVariants[] = {
#define FAKE_VARIANT(base, per_thread, version, name) \
  {#base, per_thread, version, #name, (void*)name, (void*)Internal_##name},
#include "fake_driver.gen.inc"
#undef FAKE_VARIANT
    {"cuNewThingAsync", 0, 13000, "cuNewThingAsync", (void*)cuNewThingAsync,
     (void*)cuNewThingAsync},
    {"cuNewQuiet", 0, 13000, "cuNewQuiet", (void*)cuNewQuiet, (void*)cuNewQuiet},
};

/* Index of the variant that these arguments mean, or -1. */
static int Choose(const char* symbol, int version, uint64_t flags) {
  int driver_version, found = -1;
  cuDriverGetVersion(&driver_version);
  if (getenv("FAKE_OWN_RULES") != NULL) driver_version = 11050;
  for (int per_thread = 0; per_thread <= ((flags & 2) != 0); ++per_thread) {
    int best = 0;
    for (int i = 0; i < (int)(sizeof(kVariants) / sizeof(kVariants[0])); ++i) {
      if (strcmp(kVariants[i].base, symbol) != 0 || kVariants[i].per_thread != per_thread) continue;
      if (kVariants[i].version > version || kVariants[i].version > driver_version) continue;
      if (kVariants[i].version >= best) {
        best = kVariants[i].version;
        found = i;
      }
    }
  }
  return found;
}
EXPORT const char* FakeChoice(const char* symbol, int version, uint64_t flags) {
  int found = Choose(symbol, version, flags);
  return found >= 0 ? kVariants[found].name : NULL;
}

static int Lookup(const char* symbol, void** pfn, int version, uint64_t flags, int* status) {
  int found = Choose(symbol, version, flags);
  const char* internal = getenv("FAKE_INTERNAL");
  *pfn = NULL;
  if (status != NULL) *status = found >= 0 ? 0 : 1;
  if (found < 0) return 500; /* CUDA_ERROR_NOT_FOUND */
  *pfn = internal != NULL ? kVariants[found].internal : kVariants[found].exported;
  return 0;
}
EXPORT int cuGetProcAddress(const char* symbol, void** pfn, int version, uint64_t flags) {
  return Lookup(symbol, pfn, version, flags, NULL);
}
EXPORT int cuGetProcAddress_v2(const char* symbol, void** pfn, int version, uint64_t flags,
                               int* status) {
  return Lookup(symbol, pfn, version, flags, status);
}

__attribute__((constructor)) static void Construct(void) {
  LogLine("R loaded");
  if (getenv("FAKE_CTOR") == NULL) return;
  void* self = dlopen("libcuda.so.1", RTLD_NOW);
  LogLine("R constructor %s", self != NULL && dlsym(self, "cuInit") != NULL ? "ok" : "failed");
}
