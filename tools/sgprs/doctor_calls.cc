// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/doctor_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/sgprs/text_table.h"

namespace sgprs::cli {
namespace {

constexpr uint32_t kMostRows = 1u << 16;

Result<ProcessCalls> ReadFile(const std::string& path) {
  const auto bad = [&](const char* what) {
    return Status(ErrorCode::kInvalid, fmt::format("{}: {}", path, what));
  };
  std::ifstream file(path, std::ios::binary);
  ProcessCalls process;
  if (!file.read(reinterpret_cast<char*>(&process.head), sizeof(process.head))) {
    return bad("is cut off");
  }
  SgprsCallCounts& head = process.head;
  if (head.magic != SGPRS_CALLS_MAGIC || head.major != SGPRS_ABI_MAJOR ||
      head.row_count > kMostRows) {
    return bad("is not of this version's shim");
  }
  head.program[sizeof(head.program) - 1] = '\0';
  head.said[sizeof(head.said) - 1] = '\0';
  head.graph_fixed[sizeof(head.graph_fixed) - 1] = '\0';
  for (uint32_t i = 0; i < head.row_count; ++i) {
    SgprsCallRow row;
    if (!file.read(reinterpret_cast<char*>(&row), sizeof(row))) return bad("is cut off");
    row.name[sizeof(row.name) - 1] = '\0';
    if (row.calls != 0) process.rows.push_back(row);
  }
  std::sort(
      process.rows.begin(), process.rows.end(),
      [](const SgprsCallRow& a, const SgprsCallRow& b) { return std::strcmp(a.name, b.name) < 0; });
  return process;
}

std::string Count(uint64_t count) { return count == 0 ? "" : std::to_string(count); }

std::string FormatProcess(const ProcessCalls& process) {
  const SgprsCallCounts& head = process.head;
  std::string out = fmt::format("{} (pid {}): {}; {} calls recorded, {} launches escaped\n",
                                Printable(head.program), head.pid,
                                head.registered != 0 ? "scheduled" : "not scheduled",
                                process.Recorded(), process.Escaped());
  if (head.said[0] != '\0') out += fmt::format("  it said: {}\n", Printable(head.said));
  for (uint32_t reason = 1; reason < SGPRS_ESCAPE_COUNT; ++reason) {
    if (head.escapes[reason] == 0) continue;
    out += fmt::format("  escaped: {} launches: {}\n", head.escapes[reason], EscapeText(reason));
  }
  if (head.graph_launches != 0 || head.graphs_fixed != 0) {
    out += fmt::format("  graphs: {} launches recorded, {} copies for partitions\n",
                       head.graph_launches, head.graph_copies);
  }
  if (head.graphs_fixed != 0) {
    out += fmt::format("  graphs: {} run only in the partition that they were made in ({})\n",
                       head.graphs_fixed, Printable(head.graph_fixed));
  }
  TextTable table;
  table.AddColumn("CALL", TextTable::Align::kLeft);
  table.AddColumn("TREATMENT", TextTable::Align::kLeft);
  for (const char* title : {"CALLS", "RECORDED", "DRAINED", "ESCAPED"}) table.AddColumn(title);
  for (const SgprsCallRow& row : process.rows) {
    table.AddRow({Printable(row.name), TreatmentWord(row.treatment), Count(row.calls),
                  Count(row.recorded), Count(row.drained), Count(row.escaped)});
  }
  return out + table.Format();
}

}  // namespace

uint64_t ProcessCalls::Escaped() const {
  uint64_t sum = 0;
  for (uint32_t reason = 1; reason < SGPRS_ESCAPE_COUNT; ++reason) sum += head.escapes[reason];
  return sum;
}

uint64_t ProcessCalls::Recorded() const {
  uint64_t sum = 0;
  for (const SgprsCallRow& row : rows) sum += row.recorded;
  return sum;
}

Result<std::vector<ProcessCalls>> ReadCalls(const std::string& directory) {
  std::vector<ProcessCalls> processes;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() != ".calls") continue;
    Result<ProcessCalls> process = ReadFile(entry.path().string());
    if (!process.ok()) return process.status();
    // A process that looked a symbol up and called none has nothing to tell.
    if (!process->rows.empty()) processes.push_back(std::move(*process));
  }
  if (error) return Status(ErrorCode::kUnavailable, directory + ": " + error.message());
  std::sort(processes.begin(), processes.end(),
            [](const ProcessCalls& a, const ProcessCalls& b) { return a.head.pid < b.head.pid; });
  return processes;
}

const char* TreatmentWord(uint32_t treatment) {
  static constexpr const char* kWords[] = {"forward", "record", "answer", "drain", "unknown"};
  return treatment < std::size(kWords) ? kWords[treatment] : "?";
}

const char* EscapeText(uint32_t reason) {
  static constexpr const char* kTexts[] = {
      "none",
      "the process is not scheduled",
      "another context or device than the scheduled one",
      "a stream that the partition back-end can not stand in for",
      "the driver does not tell the kernel's parameters (before CUDA 12.4)",
      "arguments that only the driver can judge",
      "a launch attribute that can not be held",
      "a graph that was made where the shim did not see it",
      "cuLaunch, cuLaunchGrid, a launch on several devices, or one newer than the shim",
  };
  return reason < std::size(kTexts) ? kTexts[reason] : "?";
}

std::string FormatCalls(const std::vector<ProcessCalls>& processes) {
  if (processes.empty()) return "No process of the program called the CUDA driver.\n";
  std::string out;
  for (const ProcessCalls& process : processes) {
    out += (out.empty() ? "" : "\n") + FormatProcess(process);
  }
  return out;
}

nlohmann::ordered_json CallsJson(const std::vector<ProcessCalls>& processes) {
  auto list = nlohmann::ordered_json::array();
  for (const ProcessCalls& process : processes) {
    const SgprsCallCounts& head = process.head;
    auto calls = nlohmann::ordered_json::array();
    for (const SgprsCallRow& row : process.rows) {
      calls.push_back({{"name", row.name},
                       {"treatment", TreatmentWord(row.treatment)},
                       {"calls", row.calls},
                       {"recorded", row.recorded},
                       {"drained", row.drained},
                       {"escaped", row.escaped}});
    }
    auto escapes = nlohmann::ordered_json::array();
    for (uint32_t reason = 1; reason < SGPRS_ESCAPE_COUNT; ++reason) {
      if (head.escapes[reason] == 0) continue;
      escapes.push_back({{"launches", head.escapes[reason]}, {"why", EscapeText(reason)}});
    }
    list.push_back({{"pid", head.pid},
                    {"program", head.program},
                    {"scheduled", head.registered != 0},
                    {"said", head.said},
                    {"recorded", process.Recorded()},
                    {"escaped", process.Escaped()},
                    {"escapes", std::move(escapes)},
                    {"graphs",
                     {{"launches", head.graph_launches},
                      {"copies", head.graph_copies},
                      {"fixed", head.graphs_fixed},
                      {"why", head.graph_fixed}}},
                    {"calls", std::move(calls)}});
  }
  return list;
}

}  // namespace sgprs::cli
