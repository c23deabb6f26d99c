// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/recording_info.h"

#include <fmt/format.h>

#include <utility>

#include "tools/sgprs/exit_code.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

// A number that is none, or is not there, is 0: counts are for people.
uint64_t Count(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_number_unsigned() ? at->get<uint64_t>() : 0;
}

std::string Text(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

}  // namespace

bool HasStamps(std::string_view level) {
  return level == "root" || level == "capabilities" || level == "plain";
}

Result<RecordingInfo> ParseRecording(std::string_view reply) {
  const Json json = Json::parse(reply, nullptr, false);
  if (!json.is_object() || !json.contains("probes") || !json["probes"].is_object() ||
      Text(json["probes"], "level").empty()) {
    return Status(ErrorCode::kInternal, "sgprsd answers what this sgprs does not know: " +
                                            Printable(std::string(reply.substr(0, 200))));
  }
  const Json& probes = json["probes"];
  RecordingInfo info = {.level = Text(probes, "level"),
                        .why = Text(probes, "why"),
                        .records = Count(probes, "records"),
                        .lost = Count(probes, "lost"),
                        .complete = Count(probes, "complete"),
                        .incomplete = Count(probes, "incomplete"),
                        .missing = Count(probes, "missing"),
                        .unreleased = Count(probes, "unreleased"),
                        .missed = Count(probes, "missed"),
                        .metrics = Text(json, "metrics")};
  const auto log = json.find("job_log");
  if (log != json.end() && log->is_object()) {
    info.job_log = Text(*log, "directory");
    info.log_written = Count(*log, "written");
    info.log_dropped = Count(*log, "dropped");
    info.log_trouble = Text(*log, "trouble");
  }
  return info;
}

Result<RecordingInfo> AskRecording(ControlClient* control) {
  Result<ControlClient::Reply> reply = control->Command("recording");
  if (!reply.ok()) return reply.status();
  if (reply->status == kExitUsage) {
    return Status(ErrorCode::kUnavailable, "this sgprsd is older and does not say what it records");
  }
  if (reply->status != 0) return Status(ErrorCode::kRefused, reply->text);
  return ParseRecording(reply->text);
}

Result<std::string> FindJobLog(const std::string& socket_path) {
  Result<ControlClient> control = ControlClient::Connect(socket_path);
  if (!control.ok()) return control.status();
  Result<RecordingInfo> info = AskRecording(&*control);
  if (!info.ok()) return info.status();
  if (!info->job_log.empty()) return std::move(info->job_log);
  return Status(ErrorCode::kNotFound,
                "sgprsd writes no job log: start it with --job-log DIR (or name a log with --log "
                "DIR)");
}

std::string ProbesInWords(const RecordingInfo& info) {
  std::string out = info.why.empty() ? info.level : info.level + ": " + info.why;
  if (!HasStamps(info.level)) out += "; releases are first launches";
  return Printable(out);
}

std::string ProbeCountsInWords(const RecordingInfo& info) {
  std::string out = fmt::format("{} waits told of, {} complete, {} incomplete, {} lost",
                                info.records, info.complete, info.incomplete, info.lost);
  if (info.missing != 0) out += fmt::format(", {} missing", info.missing);
  if (info.missed != 0) out += fmt::format(", {} events missed", info.missed);
  return out;
}

std::string JobLogInWords(const RecordingInfo& info) {
  if (info.job_log.empty()) return "none (sgprsd --job-log DIR)";
  return fmt::format("{}, {} records, {} dropped", Printable(info.job_log), info.log_written,
                     info.log_dropped);
}

Json ProbesJson(const RecordingInfo& info) {
  return {{"level", info.level},           {"why", info.why},
          {"records", info.records},       {"complete", info.complete},
          {"incomplete", info.incomplete}, {"lost", info.lost},
          {"missing", info.missing},       {"unreleased", info.unreleased},
          {"events_missed", info.missed}};
}

Json JobLogJson(const RecordingInfo& info) {
  if (info.job_log.empty()) return nullptr;
  return {{"directory", info.job_log},
          {"written", info.log_written},
          {"dropped", info.log_dropped},
          {"trouble", info.log_trouble.empty() ? Json() : Json(info.log_trouble)}};
}

}  // namespace sgprs::cli
