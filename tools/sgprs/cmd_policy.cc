// SPDX-License-Identifier: Apache-2.0
// `sgprs policy [NAME]`: which policy decides, and swapping it.
#include <fmt/format.h>

#include <memory>

#include "runtime/base/clock.h"
#include "tools/sgprs/command.h"
#include "tools/sgprs/daemon.h"
#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

struct PolicyOptions {
  std::string name;      // empty = only look
  std::string overload;  // empty = as it is
  std::string socket;
  bool json = false;
};

// "policy [NAME]" or "overload MODE" to the daemon; its JSON. Error kInvalid: there is no such one.
Result<Json> Ask(ControlClient* control, const std::string& word, const std::string& name) {
  Result<ControlClient::Reply> reply = control->Command(name.empty() ? word : word + " " + name);
  if (!reply.ok()) return reply.status();
  if (reply->status != 0) {
    const bool usage = reply->status == kExitUsage;
    return Status(usage ? ErrorCode::kInvalid : ErrorCode::kRefused, reply->text);
  }
  Json json = Json::parse(reply->text, nullptr, false);
  if (!json.is_object() || !json.contains("policy")) {
    return Status(ErrorCode::kInternal,
                  "sgprsd answers what this sgprs does not know: " + reply->text);
  }
  return json;
}

std::string PolicyText(const Json& json) {
  const std::string current = json.value("policy", "");
  TextTable table;
  table.AddColumn("", TextTable::Align::kLeft);
  table.AddColumn("POLICY", TextTable::Align::kLeft);
  table.AddColumn("", TextTable::Align::kLeft);
  for (const Json& row : json.value("policies", Json::array())) {
    const std::string name = row.value("name", "");
    table.AddRow({name == current ? "*" : "", name, row.value("help", "")});
  }
  std::string text = table.empty() ? Printable(current) + "\n" : table.Format();
  if (json.contains("overload")) {
    text += fmt::format("\noverload {}, admission {}\n", Printable(json.value("overload", "")),
                        Printable(json.value("admission", "")));
  }
  return text;
}

int Policy(const PolicyOptions& options) {
  Result<ControlClient> control = ControlClient::Connect(SocketOrDefault(options.socket));
  if (!control.ok()) return Fail("policy", control.status(), kExitFailure);
  Result<Json> json = Ask(&*control, "policy", options.name);
  if (json.ok() && !options.overload.empty()) {
    const std::string note = json->value("note", "");
    json = Ask(&*control, "overload", options.overload);
    if (json.ok()) (*json)["note"] = note;
  }
  if (!json.ok()) {
    const bool wrong_name = json.status().code() == ErrorCode::kInvalid;
    return Fail("policy", json.status(), wrong_name ? kExitUsage : kExitFailure);
  }
  if (options.json) {
    Json out = {{"version", kJsonVersion}};
    out.update(*json);
    return Print(JsonText(out)) ? kExitOk : kExitFailure;
  }
  const std::string note = Printable(json->value("note", ""));
  if (!note.empty()) fmt::print(stderr, "sgprs policy: {}\n", note);
  if (!options.name.empty()) {
    return Print(Printable(json->value("policy", "")) + "\n") ? kExitOk : kExitFailure;
  }
  return Print(PolicyText(*json)) ? kExitOk : kExitFailure;
}

}  // namespace

void AddPolicy(CLI::App* app, Invocation* invocation) {
  CLI::App* command =
      app->add_subcommand("policy", "Show the policies, or swap the one that decides");
  auto options = std::make_shared<PolicyOptions>();
  command->add_option("name", options->name, "Policy to use from now on");
  command->add_option("--overload", options->overload,
                      "late: jobs end late; hold: jobs wait for their next release");
  AddJson(command, &options->json);
  AddSocket(command, &options->socket);
  command->footer(
      "Without NAME: the policies the daemon knows, the present one marked with *.\n"
      "With NAME: stages that are queued are placed anew, running ones end where they are. The\n"
      "pool stays as its clients built it; if the new policy is meant for another layout, a line\n"
      "says so. With --overload: what becomes of jobs when there are more than fit.\n\n"
      "Exit status: 0; 1 if there is no daemon, or it is not yours to tell; 2 if there is no such\n"
      "policy.");
  command->callback([=] { invocation->action = [=] { return Policy(*options); }; });
}

}  // namespace sgprs::cli
