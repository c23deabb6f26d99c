// SPDX-License-Identifier: Apache-2.0
#include "runtime/pool/config.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "runtime/pool/config_keys.h"

namespace sgprs::pool {
namespace {

constexpr size_t kMaxBytes = 1 << 20;  // of a configuration file; /dev/zero is none

const ConfigKey* FindKey(std::string_view section, std::string_view name) {
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.section == section && key.name == name) return &key;
  }
  return nullptr;
}

bool IsSection(std::string_view name) {
  for (const ConfigKey& key : ConfigKeys()) {
    if (!name.empty() && key.section == name) return true;
  }
  return false;
}

// Without control characters.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

// The value as it was written, not too long.
std::string ValueText(const toml::node& value) {
  std::ostringstream text;
  value.visit([&text](const auto& typed) {
    if constexpr (toml::is_value<decltype(typed)>) {
      text << std::boolalpha;
      if constexpr (toml::is_string<decltype(typed)>) {
        text << '"' << typed.get() << '"';
      } else {
        text << typed.get();
      }
    } else if constexpr (toml::is_array<decltype(typed)>) {
      text << "[...]";
    } else {
      text << "{...}";
    }
  });
  return text.str().substr(0, 60);
}

// One line whatever the file holds: "FILE:LINE: what".
Status Invalid(std::string_view file, const toml::source_region& source, std::string what) {
  std::string text(file);
  text += ':';
  text += std::to_string(source.begin.line);
  text += ": ";
  text += OneLine(std::move(what));
  return Status(ErrorCode::kInvalid, std::move(text));
}

Status ReadKey(std::string_view section, const toml::key& name, const toml::node& value,
               std::string_view file, Config* config) {
  std::string full(section);
  if (!section.empty()) full += '.';
  full += name.str();
  const ConfigKey* key = FindKey(section, name.str());
  if (key == nullptr) {
    return Invalid(file, name.source(),
                   "unknown key \"" + full + "\"; `sgprsd --help-config` lists all keys");
  }
  Status status = key->set(value, config);
  if (status.ok()) return status;
  full += " = ";
  full += ValueText(value);
  full += ": ";
  full += status.text();
  return Invalid(file, name.source(), std::move(full));
}

Status ReadTable(const toml::table& table, std::string_view section, std::string_view file,
                 Config* config) {
  // A preset stands before what it would undo.
  if (const toml::node* preset = section.empty() ? nullptr : table.get("preset")) {
    Status status = ReadKey(section, toml::key("preset", preset->source()), *preset, file, config);
    if (!status.ok()) return status;
  }
  for (const auto& [name, value] : table) {
    if (!section.empty() && name == "preset") continue;
    Status status;
    if (!section.empty() || !IsSection(name.str())) {
      status = ReadKey(section, name, value, file, config);
    } else if (const toml::table* inner = value.as_table()) {
      status = ReadTable(*inner, name.str(), file, config);
    } else {
      const std::string title(name.str());
      status = Invalid(file, name.source(), title + " is a section: write [" + title + "]");
    }
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace

Result<Config> ParseConfig(std::string_view text, std::string_view name) {
  try {
    const toml::table table = toml::parse(text, name);
    Config config;
    Status status = ReadTable(table, "", name, &config);
    if (!status.ok()) return status;
    return config;
  } catch (const toml::parse_error& error) {
    return Invalid(name, error.source(), std::string(error.description()));
  } catch (const std::exception& error) {
    return Status(ErrorCode::kInvalid, std::string(name) + ": " + error.what());
  }
}

Result<Config> LoadConfig(const std::string& path) {
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
  return ParseConfig(text, path);
}

std::string ConfigHelp() {
  const Config defaults;
  std::string help;
  std::string_view section;
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.section != section) {
      section = key.section;
      help += "\n[" + std::string(section) + "]\n";
    }
    std::string line = std::string(key.name) + " = " + key.show(defaults);
    if (line.size() < 28) line.resize(28, ' ');
    help += line + "  # " + std::string(key.help) + "\n";
  }
  return help;
}

}  // namespace sgprs::pool
