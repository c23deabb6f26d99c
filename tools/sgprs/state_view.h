// SPDX-License-Identifier: Apache-2.0
// How a snapshot of the state segment is shown: words, tables for people, JSON for programs. Pure.
#ifndef SGPRS_TOOLS_SGPRS_STATE_VIEW_H_
#define SGPRS_TOOLS_SGPRS_STATE_VIEW_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tools/sgprs/state_reader.h"

namespace sgprs::cli {

inline constexpr int kJsonVersion = 1;

// Key order is kept as written, so that people can read JSON too.
using Json = nlohmann::ordered_json;

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
};

std::string StatusText(const StateView& view);
std::string TasksText(const StateView& view);
std::string PartitionsText(const StateView& view);

Json StatusJson(const StateView& view);
Json TasksJson(const StateView& view);
Json PartitionsJson(const StateView& view);

// What is not as it should be, one sentence each: stalled partitions, bypassed tasks, refused or
// cut clients, a daemon that does not turn its loop, rows that can not be read.
std::vector<std::string> Degradations(const StateSnapshot& snapshot);

// Text of `json` for stdout: indented, bytes that are no UTF-8 replaced, ends in '\n'.
std::string JsonText(const Json& json);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_STATE_VIEW_H_
