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

// "policy is now naive (was sgprs)"
std::string Change(const std::string& what, const Json& before, const Json& after) {
  const std::string old = Printable(before.value(what, ""));
  const std::string now = Printable(after.value(what, ""));
  return old == now ? fmt::format("{} is {} already", what, now)
                    : fmt::format("{} is now {} (was {})", what, now, old);
}

// One line: what was asked to change, and what else the daemon has to say of it.
std::string ChangeText(const PolicyOptions& options, const Json& before, const Json& after) {
  std::string text;
  if (!options.name.empty()) text = Change("policy", before, after);
  if (!options.overload.empty()) {
    text += (text.empty() ? "" : ", ") + Change("overload", before, after);
  }
  const std::string note = Printable(after.value("note", ""));
  return text + (note.empty() ? "" : "; " + note) + "\n";
}

// Makes the changes that `options` wants. What the daemon says then; with its note of the policy.
Result<Json> MakeChanges(ControlClient* control, const PolicyOptions& options, Json json) {
  std::string note;
  if (!options.name.empty()) {
    Result<Json> swapped = Ask(control, "policy", options.name);
    if (!swapped.ok()) return swapped.status();
    json = std::move(swapped).value();
    note = json.value("note", "");
  }
  if (!options.overload.empty()) {
    Result<Json> swapped = Ask(control, "overload", options.overload);
    if (!swapped.ok()) return swapped.status();
    json = std::move(swapped).value();
    json["note"] = note;
  }
  return json;
}

int Policy(const PolicyOptions& options) {
  Result<ControlClient> control = ControlClient::Connect(SocketOrDefault(options.socket));
  if (!control.ok()) return Fail("policy", control.status(), kExitFailure);
  const Result<Json> before = Ask(&*control, "policy", "");
  if (!before.ok()) return Fail("policy", before.status(), kExitFailure);
  const Result<Json> json = MakeChanges(&*control, options, *before);
  if (!json.ok()) {
    const bool wrong_name = json.status().code() == ErrorCode::kInvalid;
    return Fail("policy", json.status(), wrong_name ? kExitUsage : kExitFailure);
  }
  if (options.json) {
    Json out = {{"version", kJsonVersion}};
    out.update(*json);
    return Print(JsonText(out)) ? kExitOk : kExitFailure;
  }
  const bool change = !options.name.empty() || !options.overload.empty();
  const std::string text = change ? ChangeText(options, *before, *json) : PolicyText(*json);
  return Print(text) ? kExitOk : kExitFailure;
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
      "pool stays as long as there are tasks; one line says what changed, and whether the policy\n"
      "wants another layout of the pool, which the next task after the last has ended then gets.\n"
      "With --overload: what becomes of jobs when there are more than fit.\n\n"
      "Exit status: 0; 1 if there is no daemon, or it is not yours to tell; 2 if there is no such\n"
      "policy.");
  command->callback([=] { invocation->action = [=] { return Policy(*options); }; });
}

}  // namespace sgprs::cli
