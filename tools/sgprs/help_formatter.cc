// SPDX-License-Identifier: Apache-2.0
#include "tools/sgprs/help_formatter.h"

namespace sgprs::cli {
namespace {

constexpr size_t kNameColumns = 28;
constexpr size_t kHelpColumns = 70;

}  // namespace

std::string Wrap(std::string_view text, size_t width) {
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

HelpFormatter::HelpFormatter() { column_width(kNameColumns); }

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  if (app->get_name() == "run") {
    return "Usage: " + name + " [OPTIONS] -- PROGRAM [ARGUMENT...]\n";
  }
  return CLI::Formatter::make_usage(app, name);
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const std::string footer = CLI::Formatter::make_footer(app);
  return footer.empty() ? footer : footer + "\n";
}

std::string HelpFormatter::make_expanded(const CLI::App* group) const {
  const bool exclusive = group->get_require_option_max() == 1;
  return make_group(group->get_group() + (exclusive ? " (one of them)" : ""), false,
                    group->get_options([group](const CLI::Option* option) {
                      return option->nonpositional() && option != group->get_help_ptr();
                    }));
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_type_size() == 0 ? "" : " " + option->get_type_name();
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = CLI::Formatter::make_option_desc(option);
  if (!option->get_default_str().empty()) {
    text += " (default: " + option->get_default_str() + ")";
  }
  return Wrap(text, kHelpColumns);
}

std::string FullName(const CLI::App* about) {
  const CLI::App* parent = about->get_parent();
  return parent == nullptr ? about->get_name() : FullName(parent) + " " + about->get_name();
}

std::string HelpText(const CLI::App* about) {
  return about->get_formatter()->make_help(about, FullName(about), CLI::AppFormatMode::Normal);
}

}  // namespace sgprs::cli
