// SPDX-License-Identifier: Apache-2.0
// How a snapshot of the state segment is shown: words, tables for people, JSON for programs. Pure.
#ifndef SGPRS_TOOLS_SGPRS_STATE_VIEW_H_
#define SGPRS_TOOLS_SGPRS_STATE_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sgprs/json.h"
#include "tools/sgprs/recording_info.h"
#include "tools/sgprs/state_reader.h"

namespace sgprs::cli {

// Words of the ABI's enums; "unknown" for a value of a newer daemon.
std::string_view TaskStateWord(uint32_t state);
std::string_view TaskClassWord(uint32_t task_class);
std::string_view LevelWord(uint32_t level);
std::string_view BackendWord(uint32_t backend);

// A snapshot and, if rates are wanted over a window instead of a task's life, the one before it.
struct StateView {
  StateSnapshot now;
  std::vector<SgprsTaskRow> before;  // empty: rates over each task's life
  uint64_t before_ns = 0;
  // What the daemon records, for `status`; nullopt: not asked, or it did not say.
  std::optional<RecordingInfo> recording;
  std::string recording_error;  // why it did not say; empty: not asked
};

std::string StatusText(const StateView& view);
std::string TasksText(const StateView& view);
std::string PartitionsText(const StateView& view);

Json StatusJson(const StateView& view);
Json TasksJson(const StateView& view);
Json PartitionsJson(const StateView& view);

// What is not as it should be, one sentence each: stalled partitions, bypassed tasks, refused or
// cut clients, a daemon that does not turn its loop, rows that can not be read; if `recording` is
// known, job records that were dropped.
std::vector<std::string> Degradations(const StateSnapshot& snapshot,
                                      const std::optional<RecordingInfo>& recording = {});

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_STATE_VIEW_H_
