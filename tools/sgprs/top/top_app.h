// SPDX-License-Identifier: Apache-2.0
// `sgprs top` at a terminal: what each key does, and when the picture is drawn again.
#ifndef SGPRS_TOOLS_SGPRS_TOP_TOP_APP_H_
#define SGPRS_TOOLS_SGPRS_TOP_TOP_APP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/sgprs/top/top_session.h"
#include "tools/sgprs/top/top_terminal.h"
#include "tools/sgprs/top/top_view.h"

namespace sgprs::cli {

// One thread. `session` and `terminal` outlive it.
class TopApp {
 public:
  TopApp(TopSession* session, TopTerminal* terminal, uint64_t interval_ns, TopSort sort);
  // Until q or a signal; the exit code.
  int Run();

 private:
  enum class Mode { kTasks, kHelp, kPolicies };

  void Draw();
  // False: the user wants to leave.
  bool OnKey(int key);
  bool OnTaskKey(int key);
  void OnPolicyKey(int key);
  void Scroll(int key);
  void OpenPolicies();
  void ToggleOverload();
  // The daemon's reply, or its error, as a message for a while.
  void Say(const Result<Json>& reply, const std::string& done);

  TopSession* const session_;
  TopTerminal* const terminal_;
  const uint64_t interval_ns_;
  TopPicture picture_;
  Mode mode_ = Mode::kTasks;
  std::vector<TopChoice> policies_;
  uint64_t message_until_ns_ = 0;
};

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_TOP_TOP_APP_H_
