/* SPDX-License-Identifier: Apache-2.0 */
/* One way per name into the driver; all launch with the same arguments. Knows nothing of any shim.
 * Exit code 0: what the way promises without a shim was kept. Differences are printed. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int Launch(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   void*, void**, void**);
typedef int GetProc(const char*, void**, int, uint64_t);
typedef int GetProcV2(const char*, void**, int, uint64_t, int*);
typedef int Simple(void);

#if defined(__x86_64__) && defined(OLD_DLSYM)
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#endif

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      const char* error_ = dlerror();                                                    \
      printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, error_ ? error_ : "-"); \
      return 1;                                                                          \
    }                                                                                    \
  } while (0)

static int LaunchBy(void* function) {
  CHECK(function != NULL);
  return ((Launch*)function)((void*)1, 2, 3, 4, 5, 6, 7, 8, (void*)9, (void**)10, (void**)11);
}

static int Open(const char* name, int mode) {
  void* handle = dlopen(name, mode);
  CHECK(handle != NULL);
  CHECK(dlerror() == NULL);
  int result = LaunchBy(dlsym(handle, "cuLaunchKernel"));
  CHECK(dlclose(handle) == 0);
  return result;
}

static int Versioned(const char* soname) {
  void* handle = dlopen(soname, RTLD_NOW);
  CHECK(handle != NULL);
  void* old = dlvsym(handle, "cuInit", "NO_SUCH_VERSION");
  CHECK(old == NULL && dlerror() != NULL);
  return 0;
}

static int Next(const char* soname) {
  CHECK(dlopen(soname, RTLD_NOW | RTLD_GLOBAL) != NULL);
  return LaunchBy(dlsym(RTLD_NEXT, "cuLaunchKernel"));
}

static int Default(const char* soname) {
  CHECK(dlopen(soname, RTLD_NOW | RTLD_GLOBAL) != NULL);
  return LaunchBy(dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
}

static int NoLoad(const char* soname) {
  CHECK(dlopen(soname, RTLD_NOW | RTLD_NOLOAD) == NULL);
  CHECK(dlerror() == NULL);
  CHECK(dlopen(soname, RTLD_NOW) != NULL);
  CHECK(dlopen(soname, RTLD_NOW | RTLD_NOLOAD) != NULL);
  return 0;
}

static int OldGetProc(const char* soname) {
  void *handle = dlopen(soname, RTLD_NOW), *pfn = NULL;
  GetProc* get = handle != NULL ? (GetProc*)dlsym(handle, "cuGetProcAddress") : NULL;
  CHECK(get != NULL && get("cuLaunchKernel", &pfn, 11030, 0) == 0);
  return LaunchBy(pfn);
}

static int NewGetProc(const char* soname) {
  void *handle = dlopen(soname, RTLD_NOW), *pfn = NULL;
  int status = -1;
  GetProcV2* get = handle != NULL ? (GetProcV2*)dlsym(handle, "cuGetProcAddress_v2") : NULL;
  CHECK(get != NULL);
  CHECK(get("cuGetProcAddress", &pfn, 12000, 0, &status) == 0 && status == 0);
  get = (GetProcV2*)pfn;
  CHECK(get("cuNoSuchThing", &pfn, 12000, 0, &status) == 500 && status == 1 && pfn == NULL);
  CHECK(get("cuLaunchKernel", &pfn, 12000, 0, &status) == 0 && status == 0);
  return LaunchBy(pfn);
}

/* Symbols newer than any cuda.h of the shim's, by both ways. */
static int Unknown(const char* soname) {
  typedef int New(long, long, long, long, long, long, long);
  void *handle = dlopen(soname, RTLD_NOW), *by_name, *by_get = NULL;
  CHECK(handle != NULL);
  by_name = dlsym(handle, "cuNewThingAsync");
  CHECK(by_name != NULL && ((New*)by_name)(1, 2, 3, 4, 5, 6, 7) == 7);
  GetProcV2* get = (GetProcV2*)dlsym(handle, "cuGetProcAddress_v2");
  CHECK(get("cuNewThingAsync", &by_get, 13000, 0, NULL) == 0 && by_get == by_name);
  Simple* quiet = (Simple*)dlsym(handle, "cuNewQuiet");
  CHECK(quiet != NULL && quiet() == 77);
  CHECK(dlsym(handle, "cuNoSuchThingAsync") == NULL && dlerror() != NULL);
  return 0;
}

/* What an old driver lacks is not there, by any way. */
static int Missing(const char* soname) {
  void* handle = dlopen(soname, RTLD_NOW | RTLD_GLOBAL);
  CHECK(handle != NULL && dlsym(handle, "cuInit") != NULL);
  CHECK(dlsym(handle, "cuGreenCtxCreate") == NULL && dlerror() != NULL);
  CHECK(dlsym(RTLD_DEFAULT, "cuGreenCtxCreate") == NULL && dlerror() != NULL);
  CHECK(dlsym(RTLD_DEFAULT, "cuInit") != NULL);
  return 0;
}

/* Every argument of drained calls: registers, stack, floating point. */
static int Drained(const char* soname) {
  void* handle = dlopen(soname, RTLD_NOW);
  CHECK(handle != NULL);
  typedef int Cooperative(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void*, void**);
  typedef int SetFloat(void*, int, float);
  Cooperative* launch = (Cooperative*)dlsym(handle, "cuLaunchCooperativeKernel");
  CHECK(launch((void*)1, 2, 3, 4, 5, 6, 7, 8, (void*)9, (void**)10) == 5);
  SetFloat* set = (SetFloat*)dlsym(handle, "cuParamSetf");
  CHECK(set((void*)1, 2, 2.5f) == 0);
  return ((Simple*)dlsym(handle, "cuMemGetInfo_v2"))();
}

/* The shim may stand for cuLaunchKernel at one address only: function pointers are compared. */
static int Same(const char* soname) {
  void *handle = dlopen(soname, RTLD_NOW), *pfn = NULL;
  GetProcV2* get = handle != NULL ? (GetProcV2*)dlsym(handle, "cuGetProcAddress_v2") : NULL;
  CHECK(get != NULL && get("cuLaunchKernel", &pfn, 13000, 0, NULL) == 0);
  CHECK(pfn == dlsym(handle, "cuLaunchKernel"));
  return 0;
}

static int NoDriver(const char* soname) {
  void* handle = dlopen(soname, RTLD_NOW);
  const char* error = dlerror();
  printf("%s: %s\n", handle != NULL ? "opened" : "failed", error != NULL ? error : "-");
  printf("default: %s\n", dlsym(RTLD_DEFAULT, "cuInit") != NULL ? "found" : "none");
  return 0;
}

/* What CUDA has nothing to do with has to stay as it is, words of dlerror included. */
static int Plain(const char* library) {
  errno = 33;
  void* handle = dlopen(library, RTLD_NOW);
  printf("%d %s\n", handle != NULL, errno == 33 ? "errno kept" : "errno changed");
  printf("%s\n", dlsym(handle, "nothing_of_that_name") == NULL ? dlerror() : "found");
  printf("%s\n", dlsym(RTLD_DEFAULT, "cuNothing") == NULL ? dlerror() : "found");
  printf("%s\n", dlopen("libnothing-of-that-name.so.7", RTLD_NOW) == NULL ? dlerror() : "opened");
  printf("%s\n", dlerror() == NULL ? "no error left" : "an error left");
  int (*puts_)(const char*) = (int (*)(const char*))dlsym(RTLD_DEFAULT, "puts");
  int (*again)(const char*) = (int (*)(const char*))dlvsym(RTLD_DEFAULT, "puts", PUTS_VERSION);
  return puts_ != NULL && puts_ == again && puts_("by dlsym") >= 0 ? 0 : 1;
}

static int Neighbours(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  CHECK(handle != NULL);
  printf("next %d\n", ((Simple*)dlsym(RTLD_DEFAULT, "ProbeNext"))());
  int (*open)(const char*) = (int (*)(const char*))dlsym(handle, "OpenByRunpath");
  printf("runpath %d\n", open("libonly-by-runpath.so"));
  return 0;
}

static int Plugin(const char* library, int mode) {
  void* handle = dlopen(library, RTLD_NOW | mode);
  CHECK(handle != NULL);
  return ((Simple*)dlsym(handle, "PluginRun"))();
}

/* In a child, with the driver first opened there or in the parent. */
static int Fork(const char* soname, int before) {
  if (before && Open(soname, RTLD_NOW) != 0) return 1;
  pid_t child = fork();
  if (child == 0) _exit(Open(soname, RTLD_NOW));
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void* OpenOften(void* soname) {
  for (int i = 0; i < 50; ++i) {
    void* handle = dlopen(soname, RTLD_NOW);
    Simple* function = handle != NULL ? (Simple*)dlsym(handle, "cuMemGetInfo_v2") : NULL;
    if (function == NULL || function() != 0 || dlclose(handle) != 0) return soname;
  }
  return NULL;
}
static int Threads(const char* soname) {
  pthread_t threads[16];
  void* failed = NULL;
  int any = 0;
  for (int i = 0; i < 16; ++i)
    CHECK(pthread_create(&threads[i], NULL, OpenOften, (void*)soname) == 0);
  for (int i = 0; i < 16; ++i) {
    CHECK(pthread_join(threads[i], &failed) == 0);
    any |= failed != NULL;
  }
  return any;
}

/* Prints "base version flags name" for every question whose answer is not the driver's choice.
 * `driver_path` is the fake driver, whose FakeChoice knows. */
static int Variants(const char* driver_path) {
  static const char* const kBases[] = {
#define FAKE_VARIANT(base, per_thread, version, name) #base,
#include "fake_driver.gen.inc"
#undef FAKE_VARIANT
  };
  static const int kVersions[] = {11040, 11050, 11060, 11070, 11080, 12000, 12010, 12020, 12030,
                                  12040, 12050, 12060, 12080, 12090, 13000, 13010, 14000};
  typedef const char* Choice(const char*, int, uint64_t);
  void* handle = dlopen(driver_path, RTLD_NOW);
  CHECK(handle != NULL);
  Choice* choice = (Choice*)dlsym(handle, "FakeChoice");
  CHECK(choice != NULL);
  GetProcV2* get = (GetProcV2*)dlsym(handle, "cuGetProcAddress_v2");
  int wrong = 0, asked = 0;
  for (size_t b = 0; b < sizeof(kBases) / sizeof(kBases[0]); ++b) {
    for (size_t v = 0; v < sizeof(kVersions) / sizeof(kVersions[0]); ++v) {
      for (uint64_t flags = 0; flags <= 2; ++flags, ++asked) {
        void* pfn = NULL;
        const char* expected = choice(kBases[b], kVersions[v], flags);
        int result = get(kBases[b], &pfn, kVersions[v], flags, NULL);
        Dl_info info = {0};
        if (pfn != NULL) dladdr(pfn, &info);
        const char* got = info.dli_sname;
        if ((result == 0) != (expected != NULL) ||
            (expected != NULL && (got == NULL || strcmp(got, expected) != 0))) {
          printf("%s %d %d: %s\n", kBases[b], kVersions[v], (int)flags, got ? got : "-");
          ++wrong;
        }
      }
    }
  }
  printf("%d asked\n", asked);
  return wrong != 0;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const char *way = argv[1], *what = argv[2];
  if (strcmp(way, "open") == 0) return Open(what, RTLD_NOW);
  if (strcmp(way, "deepbind") == 0) return Open(what, RTLD_NOW | RTLD_DEEPBIND);
  if (strcmp(way, "versioned") == 0) return Versioned(what);
  if (strcmp(way, "next") == 0) return Next(what);
  if (strcmp(way, "default") == 0) return Default(what);
  if (strcmp(way, "noload") == 0) return NoLoad(what);
  if (strcmp(way, "getproc") == 0) return OldGetProc(what);
  if (strcmp(way, "getproc2") == 0) return NewGetProc(what);
  if (strcmp(way, "unknown") == 0) return Unknown(what);
  if (strcmp(way, "missing") == 0) return Missing(what);
  if (strcmp(way, "drained") == 0) return Drained(what);
  if (strcmp(way, "same") == 0) return Same(what);
  if (strcmp(way, "nodriver") == 0) return NoDriver(what);
  if (strcmp(way, "plain") == 0) return Plain(what);
  if (strcmp(way, "neighbours") == 0) return Neighbours(what);
  if (strcmp(way, "plugin") == 0) return Plugin(what, 0);
  if (strcmp(way, "plugin-deepbind") == 0) return Plugin(what, RTLD_DEEPBIND);
  if (strcmp(way, "fork") == 0) return Fork(what, 0);
  if (strcmp(way, "fork-after") == 0) return Fork(what, 1);
  if (strcmp(way, "threads") == 0) return Threads(what);
  if (strcmp(way, "variants") == 0) return Variants(what);
  return 2;
}
