#include "controller/cli/input/unit_environment.h"

#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

constexpr std::string_view kOurs = "RAILGAUGE_";
constexpr std::string_view kBlank = " \t\r";

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string_view without_quotes(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && text.front() == text.back() &&
                         (text.front() == '"' || text.front() == '\'');
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

// Adds the setting of one whole line, in place of an earlier one of this name.
void add_line(std::string_view line, std::vector<std::string>& environment) {
  line = without_blanks(line);
  const std::size_t equals = line.find('=');
  if (line.empty() || line.front() == '#' || line.front() == ';' || equals == line.npos) return;
  const std::string name = std::string(without_blanks(line.substr(0, equals))) + "=";
  std::erase_if(environment, [&](const std::string& one) { return one.starts_with(name); });
  environment.push_back(name +
                        std::string(without_quotes(without_blanks(line.substr(equals + 1)))));
}

}  // namespace

std::vector<std::string> unit_environment(const std::vector<std::string>& own,
                                          std::string_view file) {
  std::vector<std::string> environment;
  for (const std::string& one : own)
    if (!one.starts_with(kOurs)) environment.push_back(one);
  std::string joined;
  for (const std::string_view line : split_lines(file)) {
    joined += line;
    if (joined.ends_with('\\')) {
      joined.pop_back();
      continue;
    }
    add_line(joined, environment);
    joined.clear();
  }
  add_line(joined, environment);
  return environment;
}

}  // namespace railgauge::cli
