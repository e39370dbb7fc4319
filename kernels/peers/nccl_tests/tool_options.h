// Parses another tool's command line by a table of its options. Each row has a word, a letter (0:
// none), whether a value follows, and the function `take` that reads it. Not thread safe:
// getopt_long keeps its state in globals. Errors are kInvalidArgument of one line.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"

namespace railgauge {

// The spelling of one option. The word is "" if the tool has a letter only.
struct OptionSpelling {
  std::string word;
  char letter = 0;
  bool takes_value = false;
};

// Reads one option: the index of its row, the option as typed, and its value or "".
using TakeOption =
    std::function<Status(std::size_t row, const std::string& option, const std::string& value)>;

// Calls `take` for each option in order. Returns the arguments that are no options.
Result<std::vector<std::string>> read_spelled_options(std::string_view program,
                                                      const std::vector<OptionSpelling>& options,
                                                      const std::vector<std::string>& arguments,
                                                      const TakeOption& take);

// Does the same for a table whose rows read into `reading`.
template <class Row, class Reading>
Result<std::vector<std::string>> read_options(std::string_view program, std::span<const Row> rows,
                                              const std::vector<std::string>& arguments,
                                              Reading& reading) {
  std::vector<OptionSpelling> options;
  for (const Row& row : rows)
    options.push_back({std::string(row.word), row.letter, row.takes_value});
  return read_spelled_options(
      program, options, arguments,
      [&](std::size_t row, const std::string& option, const std::string& value) {
        return rows[row].take(reading, rows[row], option, value);
      });
}

// Returns kInvalidArgument "OPTION: TEXT", with fmt::format() of `what` as the text.
template <class... Args>
tl::unexpected<Error> wrong_option(std::string_view option, fmt::format_string<Args...> what,
                                   Args&&... args) {
  return invalid("{}: {}", option, fmt::format(what, std::forward<Args>(args)...));
}
// Adds "KEY=VALUE" of --set to `set`.
Status take_setting(const std::string& option, const std::string& value,
                    std::map<std::string, std::string>& set);
// Parses a duration above 0 with its unit; returns seconds.
Result<double> option_seconds(const std::string& option, const std::string& value);
// Returns the kernel's declaration of the parameter, or nullptr.
const ParameterInfo* find_declared(const KernelInfo& kernel, std::string_view name);

// --- what rows of several tools do -------------------------------------------------------------
//
// A `Reading` has `set`, and `call` with help, deadline_seconds and infos; a `Row` has `why`.

template <class Reading, class Row>
Status take_help(Reading& reading, const Row&, const std::string&, const std::string&) {
  reading.call.help = true;
  return {};
}
template <class Reading, class Row>
Status take_set(Reading& reading, const Row&, const std::string& option, const std::string& value) {
  return take_setting(option, value, reading.set);
}
template <class Reading, class Row>
Status take_deadline(Reading& reading, const Row&, const std::string& option,
                     const std::string& value) {
  reading.call.deadline_seconds = RG_TRY(option_seconds(option, value));
  return {};
}
// Accepts an option without effect, with a line that explains why, or silently without a reason.
template <class Reading, class Row>
Status take_nothing(Reading& reading, const Row& row, const std::string& option,
                    const std::string&) {
  if (!row.why.empty())
    reading.call.infos.push_back(fmt::format("{} changes nothing here: {}", option, row.why));
  return {};
}
// Refuses an option that would change the measurement in a way that our kernels cannot.
template <class Reading, class Row>
Status refuse(Reading&, const Row& row, const std::string& option, const std::string&) {
  return wrong_option(option, "{}", row.why);
}

// Returns the start of an option's line of --help, " -t, --tx-depth VALUE".
template <class Row>
std::string option_help(const Row& row) {
  const std::string letter = row.letter == 0 ? "    " : fmt::format("-{}, ", row.letter);
  return fmt::format("  {}--{}{}", letter, row.word, row.takes_value ? " VALUE" : "");
}

}  // namespace railgauge
