// SPDX-License-Identifier: Apache-2.0
#include "shim/session.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/base/prompt_thread.h"
#include "runtime/lane/doorbell.h"
#include "shim/connect.h"
#include "shim/graph/graph_table.h"
#include "shim/hooks.h"
#include "shim/interpose/call_counts.h"
#include "shim/interpose/interpose.h"
#include "shim/issue/issuer.h"
#include "shim/issue/marker.h"
#include "shim/issue/streams.h"
#include "shim/issue/value_waits.h"
#include "shim/record/recorder.h"

namespace sgprs::shim {
namespace {

void* IssuerThread(void*) {
  EnterShimThread();
  RunPromptly();
  Issuer(TheSession()).Run();
  return nullptr;
}

void* CompleterThread(void*) {
  EnterShimThread();
  RunPromptly();
  RunCompleter();
  return nullptr;
}

// The child has one thread and no business with the parent's lane: it starts over, and registers by
// itself if it ever launches something.
void AfterForkInChild() {
  Session* s = TheSession();
  if (s->lane != nullptr) UnmapLane(s->lane, s->lane_bytes, s->control_fd);
  TheEventTable()->ResetAfterFork();
  TheGraphTable()->ResetAfterFork();
  TheValueWaits()->ResetAfterFork();
  TheMarkerPool()->ResetAfterFork();
  if (TheMarkerQueue() != nullptr) TheMarkerQueue()->ResetAfterFork();
  Session* fresh = new (static_cast<void*>(s)) Session;
  (void)fresh;
}

void WaitIssuerStopped(Session* s) {
  const timespec moment = ToTimespec(1 * kNsPerMs);
  for (int i = 0; i < 50 && s->issuer_running.load(std::memory_order_acquire); ++i) {
    nanosleep(&moment, nullptr);
  }
}

// exit() runs while our threads live: they stop touching the driver before it is torn down.
void AtExit() {
  Session* s = TheSession();
  if (s->pid != getpid() || s->lane == nullptr) return;
  if (s->mode.load() == Mode::kBypass) {
    // The context is gone or dead: only our threads have to stop.
    TheGraphTable()->Stop(50 * kNsPerMs);
    s->mode.store(Mode::kExiting);
    lane::Ring(&s->lane->issuer_doorbell);
    WaitIssuerStopped(s);
    return;
  }
  if (s->mode.load() != Mode::kRecording) return;
  s->record_lock.lock();
  s->mode.store(Mode::kFlushing);  // nothing more is recorded; the issuer goes on without grants
  lane::Ring(&s->lane->issuer_doorbell);
  s->record_lock.unlock();
  TheGraphTable()->Stop(50 * kNsPerMs);
  WaitIssuedAtMost(s, 1 * kNsPerSecond);
  if (s->issued.load() == s->recorded.load()) DrainAll(s);
  s->record_lock.lock();
  s->mode.store(Mode::kExiting);
  lane::Ring(&s->lane->issuer_doorbell);
  s->record_lock.unlock();
  WaitIssuerStopped(s);
  // So that the runtime's counts are whole; work that goes on for long is not waited for.
  WaitCompleted(s, 200 * kNsPerMs);
}

pthread_key_t g_thread_key;
bool g_has_thread_key = false;

void AtThreadEnd(void*) {
  CloseDirect();
  if (TheSession()->pid == getpid()) ForgetThread(TheSession());
}

uint32_t ProbeBackends(Session* s) {
  uint32_t bits = 0;
  const char* wanted = env::Get(env::kBackend);
  static constexpr const char* kNames[SGPRS_BACKEND_COUNT] = {"green", "mps", "priority", "none"};
  for (int kind = 0; kind < SGPRS_BACKEND_COUNT; ++kind) {
    if (wanted != nullptr && strcmp(wanted, kNames[kind]) != 0) continue;
    if (BackendOf(static_cast<SgprsBackend>(kind))->Probe(s->facts)) bits |= 1u << kind;
  }
  return bits;
}

// Builds the partitions with the first back-end that works, the wanted one first.
bool BuildPartitions(Session* s, uint32_t backends, uint32_t wanted) {
  for (uint32_t i = 0; i <= SGPRS_BACKEND_COUNT; ++i) {
    const uint32_t kind = i == 0 ? wanted : i - 1;
    if (kind >= SGPRS_BACKEND_COUNT || (backends & (1u << kind)) == 0) continue;
    Backend* backend = BackendOf(static_cast<SgprsBackend>(kind));
    if (!backend->Build(s->facts, s->plan, s->partition_count, s->sm_counts)) continue;
    s->backend = backend;
    return true;
  }
  return false;
}

bool Allocate(Session* s) {
  const size_t entry_bytes = sizeof(Entry) * kEntries;
  void* entries =
      mmap(nullptr, entry_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* arena =
      mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (entries == MAP_FAILED || arena == MAP_FAILED || TheMarkerQueue() == nullptr) return false;
  s->entries = static_cast<Entry*>(entries);
  s->arena = static_cast<unsigned char*>(arena);
  return true;
}

// Everything between the first recordable call and recording. `reason`: why not.
bool Attach(Session* s, CUcontext context, char* reason, uint32_t reason_bytes) {
  if (!ReadDeviceFacts(context, &s->facts)) {
    snprintf(reason, reason_bytes, "the current CUDA context can not be scheduled");
    return false;
  }
  const uint32_t backends = ProbeBackends(s);
  if (backends == 0) {
    snprintf(reason, reason_bytes, "no partition back-end works here");
    return false;
  }
  if (!Allocate(s)) {
    snprintf(reason, reason_bytes, "out of memory");
    return false;
  }
  Registration registration;
  if (!Register(s->facts, backends, &registration, reason, reason_bytes)) return false;
  memcpy(s->plan, registration.welcome.partitions, sizeof(s->plan));
  s->partition_count = registration.welcome.partition_count;
  s->best_effort = ClassFromEnv() == SGPRS_CLASS_BEST_EFFORT;
  s->lane = registration.lane;
  s->lane_bytes = registration.lane_bytes;
  s->lane_generation = 1;
  s->pool_generation = 1;
  s->direct_epoch.fetch_add(1, std::memory_order_relaxed);  // earlier work is to be followed
  s->control_fd = registration.control_fd;
  s->counting = CallCounts() != nullptr;
  s->online_cpus = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  s->lane->counters.bypassed = s->bypassed.load(std::memory_order_relaxed);
  s->last_call_ns.store(NowNs(), std::memory_order_relaxed);
  bool good = BuildPartitions(s, backends, registration.welcome.backend_wanted) &&
              SendReady(s->control_fd, s->backend->kind(), s->sm_counts, s->partition_count);
  if (!good) snprintf(reason, reason_bytes, "no partition back-end could be built");
  if (good && !(StartShimThread(CompleterThread, "sgprs-complete") &&
                StartShimThread(IssuerThread, "sgprs-issue"))) {
    snprintf(reason, reason_bytes, "no thread could be started");
    good = false;
  }
  if (!good) {
    UnmapLane(s->lane, s->lane_bytes, s->control_fd);
    s->lane = nullptr;
  }
  return good;
}

void OncePerProcess(Session* s) {
  s->pid = getpid();
  static bool hooked = false;  // under attach_lock; inherited by forked children, as the hooks are
  if (hooked) return;
  hooked = true;
  pthread_atfork(nullptr, nullptr, AfterForkInChild);
  g_has_thread_key = pthread_key_create(&g_thread_key, AtThreadEnd) == 0;
  atexit(AtExit);
}

}  // namespace

constinit Session g_session;

void EnterShimThread() {
  SGPRS_REAL(cuCtxSetCurrent)(TheSession()->facts.context);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (SGPRS_HAS(cuThreadExchangeStreamCaptureMode)) {
    SGPRS_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
  }
}

// All signals stay with the application's own threads.
bool StartShimThread(void* (*body)(void*), const char* name) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 1u << 20);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, nullptr) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return false;
  pthread_setname_np(thread, name);
  return true;
}

bool Recording() {
  Session* s = TheSession();
  // Acquire pairs with AttachOnce(): all that recording needs is there.
  return s->mode.load(std::memory_order_acquire) == Mode::kRecording;
}

bool AttachOnce() {
  Session* s = TheSession();
  const Mode mode = s->mode.load(std::memory_order_acquire);
  static thread_local bool attaching = false;
  if (attaching || (mode != Mode::kUnattached && mode != Mode::kAttaching)) return Recording();
  CUcontext context = nullptr;
  // Nothing to be scheduled yet.
  if (SGPRS_REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == nullptr) return false;
  const RelaxedCapture relaxed;
  // A thread that launches while another registers waits for it: some ms, 3 s at most. Its launch
  // would escape.
  FutexLock lock(&s->attach_lock);
  if (s->mode.load(std::memory_order_acquire) != Mode::kUnattached) return Recording();
  struct Attaching {
    Attaching() { attaching = true; }
    ~Attaching() { attaching = false; }
  } const scope;
  s->mode.store(Mode::kAttaching, std::memory_order_relaxed);
  OncePerProcess(s);
  char reason[256] = "";
  if (Attach(s, context, reason, sizeof(reason))) {
    ShimLog("registered; back-end %d, %u partitions", s->backend->kind(), s->partition_count);
    if (SgprsCallCounts* counts = CallCounts()) counts->registered = 1;
    s->mode.store(Mode::kRecording, std::memory_order_release);
    return true;
  }
  const char* require = env::Get(env::kRequire);
  const bool refuse = require != nullptr && strcmp(require, "1") == 0;
  char line[384];
  snprintf(line, sizeof(line), "%s; this process %s", reason,
           refuse ? "may not launch (SGPRS_REQUIRE=1)" : "runs unscheduled");
  SayOnce(line);
  s->mode.store(refuse ? Mode::kRefused : Mode::kBypass, std::memory_order_release);
  return false;
}

void NoteThreadState() {
  if (g_has_thread_key) pthread_setspecific(g_thread_key, TheSession());
}

CUresult RefusedError() {
  return TheSession()->mode.load(std::memory_order_relaxed) == Mode::kRefused
             ? CUDA_ERROR_NOT_PERMITTED
             : CUDA_SUCCESS;
}

void CountBypassed(SgprsEscape why) {
  Session* s = TheSession();
  CountEscape(why);
  s->bypassed.fetch_add(1, std::memory_order_relaxed);
  if (s->mode.load(std::memory_order_relaxed) != Mode::kRecording) return;
  FutexLock lock(&s->record_lock);  // the issuer may swap the lane
  if (s->lane == nullptr) return;
  std::atomic_ref<uint64_t> count(s->lane->counters.bypassed);
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void SayOnce(const char* reason) {
  if (SgprsCallCounts* counts = CallCounts()) CountText(counts->said, reason);
  static std::atomic<uint32_t> said{0};
  if (said.fetch_add(1, std::memory_order_relaxed) >= 4) return;
  char line[512];
  const int length = snprintf(line, sizeof(line), "sgprs: %s\n", reason);
  if (length > 0) {
    const ssize_t written =
        write(STDERR_FILENO, line, length < 511 ? static_cast<size_t>(length) : 511);
    (void)written;
  }
}

void ShimLog(const char* format, ...) {
  const char* path = env::Get(env::kShimLog);
  if (path == nullptr) return;
  FILE* file = fopen(path, "ae");
  if (file == nullptr) return;
  fprintf(file, "%llu pid %d: ", static_cast<unsigned long long>(NowNs()), getpid());
  va_list arguments;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fputc('\n', file);
  fclose(file);
}

}  // namespace sgprs::shim
