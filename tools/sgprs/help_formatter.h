// SPDX-License-Identifier: Apache-2.0
// How help looks: CLI11's layout with wrapped descriptions and `run`'s own usage line.
#ifndef SGPRS_TOOLS_SGPRS_HELP_FORMATTER_H_
#define SGPRS_TOOLS_SGPRS_HELP_FORMATTER_H_

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace sgprs::cli {

// `text` with line breaks at blanks, so that no line is longer than `width` where that is possible.
std::string Wrap(std::string_view text, size_t width);

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_footer(const CLI::App* app) const override;
  // A group of options that exclude each other.
  std::string make_expanded(const CLI::App* group) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

// "sgprs trace show": a command with those that it belongs to.
std::string FullName(const CLI::App* about);

// Help of the whole program or of one of its commands.
std::string HelpText(const CLI::App* about);

}  // namespace sgprs::cli

#endif  // SGPRS_TOOLS_SGPRS_HELP_FORMATTER_H_
