// SPDX-License-Identifier: Apache-2.0
#include "runtime/model/scenario.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "runtime/model/scenario_keys.h"
#include "runtime/policy/policy_options.h"

namespace sgprs::model {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

// One line whatever the file holds: "FILE:LINE: what".
Status Invalid(std::string_view file, const toml::source_region& source, std::string what) {
  for (char& c : what) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return Status(ErrorCode::kInvalid,
                std::string(file) + ':' + std::to_string(source.begin.line) + ": " + what);
}

// A value as text: what a policy option takes, and what messages show.
std::string ValueText(const toml::node& value) {
  std::ostringstream text;
  value.visit([&text](const auto& typed) {
    if constexpr (toml::is_value<decltype(typed)>) {
      text << std::boolalpha << typed.get();
    } else {
      text << (toml::is_array<decltype(typed)> ? "[...]" : "{...}");
    }
  });
  return text.str().substr(0, 60);
}

bool IsSection(std::string_view name) {
  const auto keys = ScenarioKeys();
  return name == kOptionsSection ||
         (!name.empty() && std::any_of(keys.begin(), keys.end(), [name](const ScenarioKey& key) {
           return key.section == name;
         }));
}

class Parser {
 public:
  explicit Parser(std::string_view name) : name_(name) { out_.scenario.name = name; }

  Status Read(const toml::table& table) {
    for (const auto& [key, value] : table) {
      Status status = ReadTop(key, value);
      if (!status.ok()) return status;
    }
    if (out_.scenario.groups.empty()) {
      return Invalid(name_, table.source(), "no tasks: write at least one [[tasks]]");
    }
    return Status::Ok();
  }
  ScenarioFile Take() { return std::move(out_); }

 private:
  Status ReadTop(const toml::key& key, const toml::node& value) {
    if (!IsSection(key.str())) return ReadKey("", key, value, {&out_, nullptr});
    if (key.str() == kTasksSection) return ReadTasks(key, value);
    const toml::table* section = value.as_table();
    if (section == nullptr) {
      const std::string title(key.str());
      return Invalid(name_, key.source(), title + " is a section: write [" + title + "]");
    }
    for (const auto& [inner, inner_value] : *section) {
      Status status = key.str() == kOptionsSection
                          ? ReadOption(inner, inner_value)
                          : ReadKey(key.str(), inner, inner_value, {&out_, nullptr});
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  Status ReadTasks(const toml::key& key, const toml::node& value) {
    const toml::array* list = value.as_array();
    if (list == nullptr) return Invalid(name_, key.source(), "tasks is a list: write [[tasks]]");
    for (const toml::node& item : *list) {
      const toml::table* task = item.as_table();
      if (task == nullptr) return Invalid(name_, item.source(), "a task is a table: [[tasks]]");
      TaskGroup& group = out_.scenario.groups.emplace_back();
      for (const auto& [inner, inner_value] : *task) {
        Status status = ReadKey(kTasksSection, inner, inner_value, {&out_, &group});
        if (!status.ok()) return status;
      }
      if (group.task.deadline_ns > 2 * group.task.period_ns) {
        return Invalid(name_, item.source(), "tasks.deadline is over twice tasks.period");
      }
    }
    return Status::Ok();
  }

  Status ReadOption(const toml::key& key, const toml::node& value) {
    policy::PolicyOptions scratch;
    const std::string text = ValueText(value);
    Status status = policy::SetPolicyOption(key.str(), text, &scratch);
    if (!status.ok()) return Invalid(name_, key.source(), status.text());
    out_.scenario.policy_options.emplace_back(key.str(), text);
    return Status::Ok();
  }

  Status ReadKey(std::string_view section, const toml::key& name, const toml::node& value,
                 const ScenarioTarget& target) {
    std::string full(section);
    if (!section.empty()) full += '.';
    full += name.str();
    for (const ScenarioKey& key : ScenarioKeys()) {
      if (key.section != section || key.name != name.str()) continue;
      Status status = key.set(value, target);
      if (status.ok()) return status;
      return Invalid(name_, name.source(), full + " = " + ValueText(value) + ": " + status.text());
    }
    return Invalid(name_, name.source(), "unknown key \"" + full + "\"");
  }

  const std::string_view name_;
  ScenarioFile out_;
};

// Runs `each` for every value of `values`, or once as it is if there is none.
template <typename T, typename Each>
void ForEach(const std::vector<T>& values, T* member, const Each& each) {
  if (values.empty()) return each();
  for (const T& value : values) {
    *member = value;
    each();
  }
}

}  // namespace

std::vector<TaskSpec> Scenario::Tasks() const {
  std::vector<TaskSpec> tasks;
  for (const TaskGroup& group : groups) {
    const uint32_t count = group.count_is_n ? n : group.count;
    for (uint32_t i = 0; i < count; ++i) {
      tasks.push_back(group.task);
      if (count > 1 || group.count_is_n) tasks.back().name += "-" + std::to_string(i);
    }
  }
  return tasks;
}

std::vector<Scenario> ScenarioFile::Expand() const {
  std::vector<Scenario> all;
  Scenario s = scenario;
  ForEach(sweep.policies, &s.policy, [&] {
    ForEach(sweep.partitions, &s.partitions, [&] {
      ForEach(sweep.oversubscription, &s.oversubscription, [&] {
        ForEach(sweep.overload, &s.overload, [&] {
          ForEach(sweep.n, &s.n, [&] { ForEach(sweep.seeds, &s.seed, [&] { all.push_back(s); }); });
        });
      });
    });
  });
  return all;
}

Result<ScenarioFile> ParseScenario(std::string_view text, std::string_view name) {
  try {
    const toml::table table = toml::parse(text, name);
    Parser parser(name);
    Status status = parser.Read(table);
    if (!status.ok()) return status;
    return parser.Take();
  } catch (const toml::parse_error& error) {
    return Invalid(name, error.source(), std::string(error.description()));
  } catch (const std::exception& error) {
    return Status(ErrorCode::kInvalid, std::string(name) + ": " + error.what());
  }
}

Result<ScenarioFile> LoadScenario(const std::string& path) {
  const auto failed = [&path](int error) {
    return Status(error == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                  path + ": " + std::strerror(error));
  };
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return failed(errno);
  std::string text;
  char block[4096];
  size_t got = 0;
  while (text.size() <= kMaxBytes && (got = std::fread(block, 1, sizeof block, file)) > 0) {
    text.append(block, got);
  }
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  if (error != 0) return failed(error);
  if (text.size() > kMaxBytes) return failed(EFBIG);
  return ParseScenario(text, path);
}

std::string ScenarioHelp() {
  std::string help;
  std::string_view section;
  for (const ScenarioKey& key : ScenarioKeys()) {
    if (key.section == "tasks" && section != "tasks") {
      help += "\n[options]  # of the policy; `sgprs policy NAME` lists them\n";
    }
    if (key.section != section) {
      section = key.section;
      const bool list = section == kTasksSection;
      help += "\n" + std::string(list ? "[[" : "[") + std::string(section) +
              std::string(list ? "]]\n" : "]\n");
    }
    // A sweep that is named is a sweep: shown, but off.
    std::string line = section == "sweep" ? "# " : "";
    line += std::string(key.name) + " = " + std::string(key.example);
    if (line.size() < 28) line.resize(28, ' ');
    help += line + "  # " + std::string(key.help) + "\n";
  }
  return help;
}

}  // namespace sgprs::model
