// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/top/top_app.h"

#include <algorithm>
#include <iterator>

#include "runtime/base/clock.h"
#include "tools/sgprs/exit_code.h"

namespace sgprs::cli {
namespace {

constexpr uint64_t kMessageNs = 5 * kNsPerSecond;
constexpr int kSignalExit = 128;

}  // namespace

TopApp::TopApp(TopSession* session, TopTerminal* terminal, uint64_t interval_ns, TopSort sort)
    : session_(session), terminal_(terminal), interval_ns_(interval_ns) {
  picture_.sort = sort;
}

int TopApp::Run() {
  uint64_t next_ns = NowNs();
  for (;;) {
    const uint64_t now_ns = NowNs();
    if (now_ns >= next_ns) {
      if (!picture_.paused) session_->Refresh(now_ns);
      // A daemon that took its time to answer is not asked again at once.
      next_ns = std::max(next_ns + interval_ns_, NowNs());
    }
    Draw();
    const int key = terminal_->WaitKey(next_ns);
    if (key == kTopEnded) {
      const int signal = terminal_->signal_number();
      return signal == 0 ? kExitOk : kSignalExit + signal;
    }
    if (!OnKey(key)) return kExitOk;
  }
}

void TopApp::Draw() {
  if (!picture_.paused) session_->Describe(&picture_);
  if (NowNs() >= message_until_ns_) picture_.message.clear();
  const size_t width = terminal_->width();
  const size_t height = terminal_->height();
  if (mode_ == Mode::kHelp) {
    terminal_->Draw(DrawTopHelp(width, height));
  } else if (mode_ == Mode::kPolicies) {
    const std::string now = picture_.sample.has_value() ? picture_.sample->header.policy : "";
    terminal_->Draw(DrawTopMenu("Policy from now on", policies_, now, width, height));
  } else {
    terminal_->Draw(DrawTop(picture_, width, height));
  }
}

bool TopApp::OnKey(int key) {
  if (key == kTopNoKey || key == kTopResized) return true;
  if (mode_ == Mode::kTasks) return OnTaskKey(key);
  if (mode_ == Mode::kPolicies) OnPolicyKey(key);
  mode_ = Mode::kTasks;
  return true;
}

bool TopApp::OnTaskKey(int key) {
  switch (key) {
    case 'q':
    case 'Q':
      return false;
    case '?':
    case 'h':
      mode_ = Mode::kHelp;
      break;
    case 'p':
      OpenPolicies();
      break;
    case 'o':
      ToggleOverload();
      break;
    case 's': {
      const auto* at = std::find(std::begin(kTopSorts), std::end(kTopSorts), picture_.sort);
      picture_.sort = std::next(at) == std::end(kTopSorts) ? kTopSorts[0] : *std::next(at);
      break;
    }
    case 'r':
      picture_.reversed = !picture_.reversed;
      break;
    case 'g':
      picture_.show_gone = !picture_.show_gone;
      break;
    case ' ':
      picture_.paused = !picture_.paused;
      if (!picture_.paused) session_->ForgetWindow();
      break;
    default:
      Scroll(key);
  }
  return true;
}

void TopApp::Scroll(int key) {
  const size_t page = terminal_->height() / 2;
  const size_t last = std::max<size_t>(SortedTasks(picture_).size(), 1) - 1;
  size_t& first = picture_.first_task;
  if (key == kTopUp) first -= std::min<size_t>(first, 1);
  if (key == kTopPageUp) first -= std::min(first, page);
  if (key == kTopDown) first += 1;
  if (key == kTopPageDown) first += page;
  if (key == kTopHome) first = 0;
  first = std::min(first, last);
}

void TopApp::Say(const Result<Json>& reply, const std::string& done) {
  picture_.message = reply.ok() ? done : reply.status().text();
  const std::string note = reply.ok() ? reply->value("note", "") : "";
  if (!note.empty()) picture_.message += ": " + note;
  message_until_ns_ = NowNs() + kMessageNs;
}

void TopApp::OpenPolicies() {
  const Result<Json> reply = session_->Ask("policy");
  if (!reply.ok()) {
    Say(reply, "");
    return;
  }
  policies_.clear();
  for (const Json& row : reply->value("policies", Json::array())) {
    policies_.push_back({row.value("name", ""), row.value("help", "")});
  }
  mode_ = Mode::kPolicies;
}

void TopApp::OnPolicyKey(int key) {
  const int index = key - '1';
  if (index < 0 || index > 8 || static_cast<size_t>(index) >= policies_.size()) return;
  const std::string& name = policies_[static_cast<size_t>(index)].name;
  Say(session_->Ask("policy " + name), "policy " + name);
}

void TopApp::ToggleOverload() {
  if (!picture_.sample.has_value()) return;
  const bool holds = std::string_view(picture_.sample->header.overload) == "hold";
  const std::string mode = holds ? "late" : "hold";
  Say(session_->Ask("overload " + mode), "overload " + mode);
}

}  // namespace sgprs::cli
