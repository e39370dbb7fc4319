// The parser by getopt_long, and functions for options of several tools.
#include "kernels/peers/nccl_tests/tool_options.h"

#include <getopt.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// getopt_long returns this plus the row's number for a long option: above every letter.
constexpr int kWords = 1000;

// The row of a result of getopt_long, and the option as text for messages.
std::pair<std::size_t, std::string> row_of(const std::vector<OptionSpelling>& options, int found) {
  if (found >= kWords) {
    const auto row = static_cast<std::size_t>(found - kWords);
    return {row, fmt::format("--{}", options[row].word)};
  }
  const auto row = std::ranges::find(options, static_cast<char>(found), &OptionSpelling::letter);
  return {static_cast<std::size_t>(row - options.begin()),
          fmt::format("-{}", static_cast<char>(found))};
}

// Names the nearest known word if a word was typed.
tl::unexpected<Error> unknown(std::string_view program, const std::string& typed,
                              const std::vector<OptionSpelling>& options) {
  std::vector<std::string> words;
  for (const OptionSpelling& option : options)
    if (!option.word.empty()) words.push_back(fmt::format("--{}", option.word));
  const bool is_word = typed.starts_with("--");
  const std::string name = is_word ? typed.substr(0, typed.find('=')) : typed;
  return wrong_option(program, "option {} is not known here; --help names what is{}",
                      in_quotes(name), is_word ? did_you_mean(name, words) : "");
}

}  // namespace

// getopt_long prints nothing: our message names the option as it was typed.
Result<std::vector<std::string>> read_spelled_options(std::string_view program,
                                                      const std::vector<OptionSpelling>& options,
                                                      const std::vector<std::string>& arguments,
                                                      const TakeOption& take) {
  std::string letters = ":";
  std::vector<option> longs;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const OptionSpelling& row = options[i];
    if (row.letter != 0) letters += row.letter;
    if (row.letter != 0 && row.takes_value) letters += ':';
    if (!row.word.empty())
      longs.push_back({row.word.c_str(), row.takes_value ? required_argument : no_argument, nullptr,
                       kWords + static_cast<int>(i)});
  }
  longs.push_back({});
  std::vector<std::string> words{std::string(program)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());
  opterr = 0;
  optind = 0;  // glibc: the scan starts anew
  for (;;) {
    const int at = std::max(optind, 1);
    const int found = getopt_long(argc, argv.data(), letters.c_str(), longs.data(), nullptr);
    if (found == -1) break;
    if (found == '?') {
      const bool is_letter = optopt > 0 && optopt <= UINT8_MAX;
      const int place = std::clamp(optind - 1, at, argc - 1);
      return unknown(program,
                     is_letter ? fmt::format("-{}", static_cast<char>(optopt))
                               : std::string(argv[static_cast<std::size_t>(place)]),
                     options);
    }
    if (found == ':')
      return wrong_option(program, "{} needs a value", row_of(options, optopt).second);
    const auto [row, option] = row_of(options, found);
    RG_TRY_OK(take(row, option, optarg == nullptr ? "" : optarg));
  }
  return std::vector<std::string>(argv.begin() + optind, argv.end() - 1);
}

// The setting is checked against the kernel once all options are read.
Status take_setting(const std::string& option, const std::string& value,
                    std::map<std::string, std::string>& set) {
  const std::size_t equals = value.find('=');
  if (equals == std::string::npos || equals == 0)
    return wrong_option(option, "{} is not KEY=VALUE", in_quotes(value));
  set[value.substr(0, equals)] = value.substr(equals + 1);
  return {};
}

Result<double> option_seconds(const std::string& option, const std::string& value) {
  const double ns = RG_TRY(parse_duration_ns(value));
  if (ns <= 0) return wrong_option(option, "must be above 0");
  return ns / 1e9;
}

const ParameterInfo* find_declared(const KernelInfo& kernel, std::string_view name) {
  const auto found = std::ranges::find(kernel.parameters(), name, &ParameterInfo::name);
  return found == kernel.parameters().end() ? nullptr : &*found;
}

}  // namespace railgauge
