// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/jobs/job_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/release_rule.h"
#include "runtime/kernel/wait_calls.h"
#include "tools/sgprs/jobs/job_parts.h"
#include "tools/sgprs/jobs/job_source.h"
#include "tools/sgprs/state_view.h"
#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

const char* RuleName(uint32_t rule) {
  return rule < kReleaseRuleNames.size() ? kReleaseRuleNames[rule] : "unknown";
}

const char* HeldName(uint32_t held) {
  static constexpr const char* kNames[] = {"nothing",   "own_job", "gate",
                                           "partition", "issuer",  "runtime"};
  return held < std::size(kNames) ? kNames[held] : "unknown";
}

std::string WallTime(uint64_t ns, const SgprsLogHeader& header) {
  const uint64_t unix_ns = header.begun_unix_ns + ns - header.begun_ns;
  const auto seconds = static_cast<time_t>(unix_ns / kNsPerSecond);
  tm local = {};
  localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}:{:02}.{:06}", local.tm_hour, local.tm_min, local.tm_sec,
                     unix_ns % kNsPerSecond / kNsPerUs);
}

std::string Outcome(const HistoryJob& job) {
  const uint64_t complete_ns = job.job.complete_ns;
  const uint64_t deadline_ns = job.job.deadline_ns;
  if (!job.has_deadline()) return "no deadline";
  if (job.missed()) {
    return "missed by " + TimeWords(complete_ns > deadline_ns ? complete_ns - deadline_ns : 0);
  }
  return "met with " + TimeWords(deadline_ns > complete_ns ? deadline_ns - complete_ns : 0);
}

using Field = std::pair<const char*, Json>;

Json Moment(uint64_t ns) { return ns == 0 || ns == UINT64_MAX ? Json(nullptr) : Json(ns); }

void AddFlags(const SgprsLogJob& job, std::vector<Field>* fields) {
  const std::pair<const char*, uint16_t> flags[] = {{"missed", SGPRS_LOG_MISSED},
                                                    {"learning", SGPRS_LOG_LEARNING},
                                                    {"off_signature", SGPRS_LOG_OFF_SIGNATURE},
                                                    {"stamps", SGPRS_LOG_STAMPS},
                                                    {"no_sleep", SGPRS_LOG_NO_SLEEP}};
  for (const auto& [name, flag] : flags) fields->emplace_back(name, (job.flags & flag) != 0);
}

// THE list of fields: CSV and JSON both.
std::vector<Field> FieldsOf(const HistoryJob& row, const std::string& label) {
  const SgprsLogJob& job = row.job;
  const bool activity = (job.flags & SGPRS_LOG_ACTIVITY) != 0;
  auto known = [activity](uint64_t ns) { return activity ? Json(ns) : Json(nullptr); };
  std::vector<Field> fields = {{"task", label}, {"client_id", job.client_id}, {"job", job.job}};
  AddFlags(job, &fields);
  const std::vector<Field> rest = {
      {"release_rule", RuleName(job.release_rule)},
      {"wait", kernel::NameOfWait(job.wait)},
      {"release_ns", Moment(job.release_ns)},
      {"due_ns", Moment(job.due_ns)},
      {"expire_ns", Moment(job.expire_ns)},
      {"wakeup_ns", Moment(job.wakeup_ns)},
      {"on_cpu_ns", Moment(job.on_cpu_ns)},
      {"wait_exit_ns", Moment(job.wait_exit_ns)},
      {"first_launch_ns", Moment(job.first_launch_ns)},
      {"first_grant_ns", Moment(job.first_grant_ns)},
      {"first_issue_ns", Moment(job.first_issue_ns)},
      {"complete_ns", Moment(job.complete_ns)},
      {"deadline_ns", Moment(job.deadline_ns)},
      {"gpu_ns", Moment(job.gpu_ns)},
      {"held_by", HeldName(job.held_by)},
      {"held_ns", job.held_ns},
      {"held_client", Moment(job.held_client)},
      {"run_ns", known(job.run_ns)},
      {"queued_ns", known(job.queued_ns)},
      {"blocked_ns", known(job.blocked_ns)},
      {"stopped_ns", known(job.stopped_ns)},
      {"cpu", (job.flags & SGPRS_LOG_STAMPS) != 0 ? Json(job.cpu) : Json(nullptr)},
      {"culprit", job.culprit_tid != 0 ? Json(Printable(job.culprit_comm)) : Json(nullptr)},
      {"culprit_tid", Moment(job.culprit_tid)},
      {"culprit_ns", Moment(job.culprit_ns)},
      {"stages", job.stage_count}};
  fields.insert(fields.end(), rest.begin(), rest.end());
  return fields;
}

std::string CsvCell(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (!value.is_string()) return value.dump();
  const auto text = value.get<std::string>();
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

Json StagesJson(const HistoryJob& job) {
  Json stages = Json::array();
  for (const SgprsLogStage& stage : job.stages) {
    stages.push_back({{"partition", stage.partition},
                      {"level", LevelWord(stage.level)},
                      {"granted_ns", Moment(stage.granted_ns)},
                      {"issued_ns", Moment(stage.issued_ns)},
                      {"gpu_start_ns", Moment(stage.gpu_start_ns)},
                      {"gpu_end_ns", Moment(stage.gpu_end_ns)},
                      {"virtual_deadline_ns", Moment(stage.virtual_deadline_ns)},
                      {"virtual_met", (stage.flags & SGPRS_LOG_STAGE_VIRTUAL_MET) != 0},
                      {"switched", (stage.flags & SGPRS_LOG_STAGE_SWITCHED) != 0},
                      {"occupant", Moment(stage.occupant_id)}});
  }
  return stages;
}

}  // namespace

std::string JobLine(const HistoryJob& job, const std::string& label, const SgprsLogHeader& header) {
  std::string out = fmt::format("{} {} {} {}", WallTime(job.job.release_ns, header), label,
                                job.job.job, Outcome(job));
  if (job.learning()) out += " (learning)";
  const JobParts parts = PartsOf({.job = job.job, .stages = job.stages});
  const char* separator = ": ";
  for (const JobPartInfo& info : kJobParts) {
    if (parts.of(info.part) == 0) continue;
    out += fmt::format("{}{} {}", separator, info.name, TimeWords(parts.of(info.part)));
    separator = ", ";
  }
  return out + "\n";
}

std::string CsvHeader() {
  std::string out;
  for (const Field& field : FieldsOf({}, "")) {
    out += fmt::format("{}{}", out.empty() ? "" : ",", field.first);
  }
  return out + "\n";
}

std::string CsvRow(const HistoryJob& job, const std::string& label) {
  std::string out;
  bool first = true;
  for (const Field& field : FieldsOf(job, label)) {
    out += (first ? "" : ",") + CsvCell(field.second);
    first = false;
  }
  return out + "\n";
}

Json JobJson(const HistoryJob& job, const std::string& label) {
  Json json = Json::object();
  for (const Field& field : FieldsOf(job, label)) json[field.first] = field.second;
  json["stages"] = StagesJson(job);
  return json;
}

}  // namespace sgprs::cli
