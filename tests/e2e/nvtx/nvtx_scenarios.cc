// SPDX-License-Identifier: Apache-2.0
// Frames inside NVTX ranges, without a synchronisation that would tell them apart.
#include <nvtx3/nvToolsExt.h>

#include <cstring>
#include <string>

#include "tests/e2e/faults/probe.h"

namespace probe {
namespace {

nvtxEventAttributes_t Attributes(nvtxStringHandle_t registered) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = registered;
  return attributes;
}

// A range of the name "frame" or "part", opened and closed in each of the ways that there are.
class Range {
 public:
  Range(const std::string& way, bool frame) : way_(way) {
    const char* name = frame ? "frame" : "part";
    if (way == "push") {
      nvtxRangePushA(name);
    } else if (way == "wide") {
      nvtxRangePushW(frame ? L"frame" : L"part");
    } else if (way == "start") {
      id_ = nvtxRangeStartA(name);
    } else {
      static const nvtxDomainHandle_t domain = nvtxDomainCreateA("tests");
      static const nvtxStringHandle_t names[] = {nvtxDomainRegisterStringA(domain, "part"),
                                                 nvtxDomainRegisterStringA(domain, "frame")};
      const nvtxEventAttributes_t attributes = Attributes(names[frame ? 1 : 0]);
      domain_ = domain;
      nvtxDomainRangePushEx(domain, &attributes);
    }
  }
  ~Range() {
    if (way_ == "start") {
      nvtxRangeEnd(id_);
    } else if (way_ == "domain") {
      nvtxDomainRangePop(domain_);
    } else {
      nvtxRangePop();
    }
  }

 private:
  std::string way_;
  nvtxRangeId_t id_ = 0;
  nvtxDomainHandle_t domain_ = nullptr;
};

void Frames(const Arguments& arguments) {
  const std::string way = arguments.empty() ? "push" : arguments[0];
  const int frames = Number(arguments, 1, 20);
  const Device device = Open();
  CUstream stream;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr buffer = Buffer(0);
  uint32_t launches = 0;
  const auto step = [&] {
    CHECK_CU(Step(device, stream, buffer, buffer, 0, 1));
    ++launches;
  };
  for (int i = 0; i < frames; ++i) {
    const Range frame(way, true);
    for (int k = 0; k <= i % 3; ++k) step();
    {
      const Range part(way, false);
      step();
    }
    if (way == "push") {
      const Range inner(way, true);  // a part of the frame around it
      step();
    }
    step();
  }
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT(Value(buffer) == launches);
}

const Scenarios registered{{"nvtx", Frames}};

}  // namespace
}  // namespace probe
