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

std::string KeyName(std::string_view section, std::string_view name) {
  return section.empty() ? std::string(name) : std::string(section) + "." + std::string(name);
}

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

// The value as it was written, on one line and not too long.
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
  std::string line = text.str().substr(0, 60);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return line;
}

std::string Place(std::string_view file, const toml::source_region& source) {
  return std::string(file) + ":" + std::to_string(source.begin.line);
}

Status ReadTable(const toml::table& table, std::string_view section, std::string_view file,
                 Config* config) {
  for (const auto& [name, value] : table) {
    const std::string place = Place(file, name.source());
    if (section.empty() && IsSection(name.str())) {
      const toml::table* inner = value.as_table();
      if (inner == nullptr) {
        return Status(ErrorCode::kInvalid, place + ": " + std::string(name.str()) +
                                               " is a section: write [" + std::string(name.str()) +
                                               "]");
      }
      Status status = ReadTable(*inner, name.str(), file, config);
      if (!status.ok()) return status;
      continue;
    }
    const std::string full = KeyName(section, name.str());
    const ConfigKey* key = FindKey(section, name.str());
    if (key == nullptr) {
      return Status(ErrorCode::kInvalid, place + ": unknown key \"" + full +
                                             "\"; `sgprsd --help-config` lists all keys");
    }
    Status status = key->set(value, config);
    if (!status.ok()) {
      return Status(status.code(),
                    place + ": " + full + " = " + ValueText(value) + ": " + status.text());
    }
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
    return Status(ErrorCode::kInvalid,
                  Place(name, error.source()) + ": " + std::string(error.description()));
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
