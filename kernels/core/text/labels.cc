#include "kernels/core/text/labels.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

constexpr std::string_view kKeyMarks = "._-/";
constexpr std::string_view kValueMarks = "._-:";

tl::unexpected<Error> no_label(std::string_view word, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("label {}: {}", in_quotes(word), why));
}

// The word without blanks around it.
std::string_view bare(std::string_view text) {
  constexpr std::string_view kAround = " \t\r";
  const std::size_t begin = text.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kAround) - begin + 1);
}

// ASCII lower case, independent of the locale.
std::string lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

// Adds one label. Errors: a key twice, or too many labels.
Status add_label(std::string_view word, Labels& labels) {
  auto label = RG_TRY(parse_label(word));
  if (labels.size() == kMaxLabels)
    return fail(Code::kInvalidArgument,
                fmt::format("labels: more than {} for one node", kMaxLabels));
  if (!labels.insert(std::move(label)).second) return no_label(word, "the key is given twice");
  return {};
}

}  // namespace

bool is_label_value(std::string_view text) {
  return !text.empty() && text.size() <= kMaxLabelBytes && made_of(text, kValueMarks);
}

Result<std::pair<std::string, std::string>> parse_label(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) return no_label(word, "must be KEY=VALUE, as rack=rack7");
  const std::string_view key = bare(word.substr(0, equals));
  const std::string_view value = bare(word.substr(equals + 1));
  if (key.empty() || key.size() > kMaxLabelBytes || !made_of(key, kKeyMarks))
    return no_label(word,
                    fmt::format("a key is 1 to {} letters, digits and . _ - /", kMaxLabelBytes));
  if (!is_label_value(value))
    return no_label(word,
                    fmt::format("a value is 1 to {} letters, digits and . _ - :", kMaxLabelBytes));
  return std::pair(lower_case(key), std::string(value));
}

// No label is no error: most nodes have none.
Result<Labels> parse_labels(std::string_view text) {
  Labels labels;
  if (bare(text).empty()) return labels;
  for (const std::string_view word : split(text, ',')) RG_TRY_OK(add_label(bare(word), labels));
  return labels;
}

// The downward file of Kubernetes quotes values and has labels without one, which say nothing here.
Result<Labels> parse_label_lines(std::string_view text) {
  Labels labels;
  for (const std::string_view line : split(text, '\n')) {
    std::string word(bare(line.substr(0, line.find('#'))));
    std::erase(word, '"');
    if (word.empty() || word.ends_with('=')) continue;
    RG_TRY_OK(add_label(word, labels));
  }
  return labels;
}

// Reads back with parse_labels(); sorted by key, so that equal labels have one text.
std::string label_text(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value);
  return text;
}

}  // namespace railgauge
