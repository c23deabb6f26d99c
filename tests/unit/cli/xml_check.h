// SPDX-License-Identifier: Apache-2.0
// A checker for the XML that our own writer makes: elements nest and close, attributes are quoted
// and stand once, text holds no bare '<' or '&'. The e2e tests ask a real parser.
#ifndef SGPRS_TESTS_UNIT_CLI_XML_CHECK_H_
#define SGPRS_TESTS_UNIT_CLI_XML_CHECK_H_

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace sgprs::cli {

struct XmlCheck {
  std::string error;                    // empty = well-formed
  std::map<std::string, int> elements;  // how many of each
  std::vector<std::string> texts;       // of <text> elements, escaped
};

inline std::string TagError(const std::string& tag, std::string* name) {
  static const std::regex kName("^([a-zA-Z]+)");
  static const std::regex kAttribute(R"rx(^ ([a-zA-Z0-9:-]+)="([^"<]*)")rx");
  std::smatch match;
  if (!std::regex_search(tag, match, kName)) return "no name in <" + tag + ">";
  *name = match[1];
  std::string rest = match.suffix();
  std::set<std::string> seen;
  while (std::regex_search(rest, match, kAttribute)) {
    if (!seen.insert(match[1]).second) return "twice: " + match[1].str();
    rest = match.suffix();
  }
  return rest.empty() ? "" : "not an attribute in <" + tag + ">: " + rest;
}

inline XmlCheck CheckXml(const std::string& text) {
  static const std::regex kEntity("&(amp|lt|gt|quot);");
  XmlCheck check;
  std::vector<std::string> open;
  const std::string entities_gone = std::regex_replace(text, kEntity, "");
  if (entities_gone.find('&') != std::string::npos) check.error = "a bare &";
  for (size_t at = 0; at < text.size() && check.error.empty();) {
    const size_t begin = text.find('<', at);
    if (!open.empty() && open.back() == "text") check.texts.push_back(text.substr(at, begin - at));
    if (begin == std::string::npos) break;
    const size_t end = text.find('>', begin);
    if (end == std::string::npos) {
      check.error = "a tag without end";
      break;
    }
    std::string tag = text.substr(begin + 1, end - begin - 1);
    at = end + 1;
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) check.error = "closed out of order: " + tag;
      if (!open.empty()) open.pop_back();
      continue;
    }
    const bool empty = tag.back() == '/';
    if (empty) tag.pop_back();
    std::string name;
    check.error = TagError(tag, &name);
    ++check.elements[name];
    if (!empty) open.push_back(name);
  }
  if (check.error.empty() && !open.empty()) check.error = "not closed: " + open.back();
  return check;
}

}  // namespace sgprs::cli

#endif  // SGPRS_TESTS_UNIT_CLI_XML_CHECK_H_
