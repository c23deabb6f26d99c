// SPDX-License-Identifier: Apache-2.0
// `sgprs run --job nvtx:NAME`: an NVTX range of that name is a job. NVTX, which is compiled into
// the program, loads the library that $NVTX_INJECTION64_PATH names at its first call: us, loaded
// already. We take the calls that open and close ranges; all others stay the no-ops that they are
// without a tool. Any thread; nothing blocks or allocates.
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <string.h>

#include <atomic>

#include "runtime/base/environment.h"
#include "runtime/base/job_rule.h"
#include "shim/job_marks.h"

namespace sgprs::shim {
namespace {

// What a registered string's handle says; NVTX asks only that it is not null.
constexpr uintptr_t kOtherName = 1;
constexpr uintptr_t kJobName = 2;

// Pushed ranges of this thread, of all domains together, and which of them is the job: 0 = none,
// else its depth counted from one. A job's range inside one is a part of it.
constinit thread_local int t_depth = 0;
constinit thread_local int t_job_depth = 0;

// Bit 0 of a started range's id says that it is a job.
std::atomic<uint64_t> next_range{1};

const char* JobName() {
  static const char* const name = NvtxJobName(env::Get(env::kJob));
  return name;
}

bool IsJob(const char* message) { return message != nullptr && strcmp(message, JobName()) == 0; }

bool IsJob(const wchar_t* message) {
  if (message == nullptr) return false;
  const char* name = JobName();
  while (*name != '\0' && static_cast<wchar_t>(static_cast<unsigned char>(*name)) == *message) {
    ++name;
    ++message;
  }
  return *name == '\0' && *message == L'\0';
}

bool IsJob(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return false;
  const nvtxMessageValue_t message = attributes->message;
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return IsJob(message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return IsJob(message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      return reinterpret_cast<uintptr_t>(message.registered) == kJobName;
    default:
      return false;
  }
}

int Push(bool job) {
  if (job && t_job_depth == 0) {
    t_job_depth = t_depth + 1;
    JobBegins();
  }
  return t_depth++;
}

int Pop() {
  if (t_depth == 0) return -1;  // as NVTX says it: nothing was pushed
  if (t_depth == t_job_depth) {
    t_job_depth = 0;
    JobEnds();
  }
  return --t_depth;
}

nvtxRangeId_t Start(bool job) {
  if (job) JobBegins();
  // Relaxed: a number that nobody else has.
  return next_range.fetch_add(1, std::memory_order_relaxed) << 1 | (job ? 1 : 0);
}

void End(nvtxRangeId_t id) {
  if ((id & 1) != 0) JobEnds();
}

template <typename Text>
nvtxStringHandle_t Register(const Text* text) {
  return reinterpret_cast<nvtxStringHandle_t>(IsJob(text) ? kJobName : kOtherName);
}

int OnPushEx(const nvtxEventAttributes_t* attributes) { return Push(IsJob(attributes)); }
int OnPushA(const char* message) { return Push(IsJob(message)); }
int OnPushW(const wchar_t* message) { return Push(IsJob(message)); }
int OnPop() { return Pop(); }
nvtxRangeId_t OnStartEx(const nvtxEventAttributes_t* attributes) {
  return Start(IsJob(attributes));
}
nvtxRangeId_t OnStartA(const char* message) { return Start(IsJob(message)); }
nvtxRangeId_t OnStartW(const wchar_t* message) { return Start(IsJob(message)); }
void OnEnd(nvtxRangeId_t id) { End(id); }

int OnDomainPush(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  return Push(IsJob(attributes));
}
int OnDomainPop(nvtxDomainHandle_t) { return Pop(); }
nvtxRangeId_t OnDomainStart(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  return Start(IsJob(attributes));
}
void OnDomainEnd(nvtxDomainHandle_t, nvtxRangeId_t id) { End(id); }
nvtxStringHandle_t OnRegisterA(nvtxDomainHandle_t, const char* text) { return Register(text); }
nvtxStringHandle_t OnRegisterW(nvtxDomainHandle_t, const wchar_t* text) { return Register(text); }

struct Row {
  uint32_t id;  // of its module's table
  NvtxFunctionPointer function;
};

template <typename Function>
NvtxFunctionPointer Plain(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

bool Attach(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module, const Row* rows,
            size_t count) {
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;  // entries of the table; an older NVTX has fewer
  if (callbacks.GetModuleFunctionTable(module, &table, &size) == 0 || table == nullptr)
    return false;
  for (size_t i = 0; i < count; ++i) {
    if (rows[i].id < size && table[rows[i].id] != nullptr) *table[rows[i].id] = rows[i].function;
  }
  return true;
}

}  // namespace
}  // namespace sgprs::shim

// Called by each copy of NVTX in the process (every library that was built with it has one), at its
// first call. 0: no tool, its calls do nothing.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  using namespace sgprs::shim;  // NOLINT(google-build-using-namespace): a C entry point of this
                                // file
  if (get_table == nullptr || JobName() == nullptr) return 0;
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(*callbacks)) return 0;
  const Row core[] = {
      {NVTX_CBID_CORE_RangePushEx, Plain(OnPushEx)},
      {NVTX_CBID_CORE_RangePushA, Plain(OnPushA)},
      {NVTX_CBID_CORE_RangePushW, Plain(OnPushW)},
      {NVTX_CBID_CORE_RangePop, Plain(OnPop)},
      {NVTX_CBID_CORE_RangeStartEx, Plain(OnStartEx)},
      {NVTX_CBID_CORE_RangeStartA, Plain(OnStartA)},
      {NVTX_CBID_CORE_RangeStartW, Plain(OnStartW)},
      {NVTX_CBID_CORE_RangeEnd, Plain(OnEnd)},
  };
  const Row domain[] = {
      {NVTX_CBID_CORE2_DomainRangePushEx, Plain(OnDomainPush)},
      {NVTX_CBID_CORE2_DomainRangePop, Plain(OnDomainPop)},
      {NVTX_CBID_CORE2_DomainRangeStartEx, Plain(OnDomainStart)},
      {NVTX_CBID_CORE2_DomainRangeEnd, Plain(OnDomainEnd)},
      {NVTX_CBID_CORE2_DomainRegisterStringA, Plain(OnRegisterA)},
      {NVTX_CBID_CORE2_DomainRegisterStringW, Plain(OnRegisterW)},
  };
  const bool has_core = Attach(*callbacks, NVTX_CB_MODULE_CORE, core, std::size(core));
  const bool has_domains = Attach(*callbacks, NVTX_CB_MODULE_CORE2, domain, std::size(domain));
  return has_core || has_domains ? 1 : 0;
}
