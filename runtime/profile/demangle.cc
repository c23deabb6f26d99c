// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace sgprs::profile {

std::string Demangle(const std::string& name) {
  // Not every C name is a symbol: "i" would become "int".
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

std::string ShortName(const std::string& name) {
  std::string text = Demangle(name);
  // Only a C++ function has arguments: "graph of 3 kernels, 5493aeed5e1798ed" is a name as it is.
  if (text.find('(') == std::string::npos) return text;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at = text.find(kAnonymous); at != std::string::npos; at = text.find(kAnonymous)) {
    text.erase(at, kAnonymous.size());
  }
  std::string out;
  int depth = 0;
  for (const char c : text) {
    if (c == '(' && depth == 0) break;
    if (c == '<') ++depth;
    if (depth == 0) out += c;
    if (c == '>') --depth;
  }
  const size_t type = out.rfind(' ');  // "void at::native::fill"
  return type == std::string::npos ? out : out.substr(type + 1);
}

}  // namespace sgprs::profile
