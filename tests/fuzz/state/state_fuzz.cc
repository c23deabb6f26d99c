// SPDX-License-Identifier: Apache-2.0
// Any bytes as a state segment: what `sgprs status`, `tasks` and `partitions` do with it. It is
// refused, or shown; a name in it never reaches the terminal with control characters.
//
// Input: the segment.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "runtime/base/unique_fd.h"
#include "tools/sgprs/state_reader.h"
#include "tools/sgprs/state_view.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using namespace sgprs;

void Require(bool promise) {
  if (!promise) std::abort();
}

// Text for people: no control characters but line ends. JSON may have DEL.
void CheckPrintable(const std::string& text) {
  for (const char c : text) Require(c == '\n' || (static_cast<uint8_t>(c) >= 0x20 && c != 0x7f));
}
void CheckJson(const cli::Json& json) {
  for (const char c : cli::JsonText(json)) Require(c == '\n' || static_cast<uint8_t>(c) >= 0x20);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kNowNs = 1'000'000'000'000;
  UniqueFd fd(memfd_create("state_fuzz", MFD_CLOEXEC));
  Require(fd.valid() && write(fd.get(), data, size) == static_cast<ssize_t>(size));
  const auto reader = cli::StateReader::Open(std::move(fd));
  if (!reader.ok()) return 0;
  Result<cli::StateSnapshot> first = (*reader)->Read(kNowNs);
  if (!first.ok()) return 0;
  cli::StateView view;
  view.now = std::move(*first);
  for (int windows = 0; windows < 2; ++windows) {
    CheckPrintable(cli::StatusText(view));
    CheckPrintable(cli::TasksText(view));
    CheckPrintable(cli::PartitionsText(view));
    CheckJson(cli::StatusJson(view));
    CheckJson(cli::TasksJson(view));
    CheckJson(cli::PartitionsJson(view));
    view.before = view.now.tasks;
    view.before_ns = kNowNs;
  }
  return 0;
}
