// SPDX-License-Identifier: Apache-2.0
// The columns of the tasks in `sgprs top`: THE list, and which of them fit. Pure.
#ifndef SGPRS_TOOLS_SGPRS_TOP_TOP_COLUMNS_H_
#define SGPRS_TOOLS_SGPRS_TOP_TOP_COLUMNS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/sgprs/top/top_view.h"

namespace sgprs::cli {

struct TopColumn {
  const char* title;
  size_t width;
  // Columns of a smaller rank are shown first as the screen gets wider.
  int rank;
  bool left;
  std::string (*cell)(const TopTask& task);
  const char* help;
};

// In the order in which they are shown; the name, which takes what is left, is none of them.
const std::vector<TopColumn>& TopColumns();

// Those that fit beside a name of `name_width` in `width` columns. Without a job log there is no
// jitter, and the response takes its place.
std::vector<const TopColumn*> ColumnsThatFit(size_t width, size_t name_width, bool with_jitter);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TOP_TOP_COLUMNS_H_
