#include "kernels/core/text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace railgauge {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxComparedWord);
  b = b.substr(0, kMaxComparedWord);
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kMinPrefix = 3;
  const std::string* nearest = nullptr;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;  // further is no typing error
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() >= kMinPrefix && candidate.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(word, candidate);
    if (distance >= best || distance >= candidate.size()) continue;
    best = distance;
    nearest = &candidate;
  }
  return nearest == nullptr ? std::string() : fmt::format("; did you mean \"{}\"?", *nearest);
}

std::string in_quotes(std::string_view word) {
  std::string out = "\"";
  for (const char c : word.substr(0, kMaxQuoted)) {
    const bool control = static_cast<unsigned char>(c) < 0x20U || c == 0x7f;
    out.push_back(control ? '?' : c);
  }
  return out + (word.size() > kMaxQuoted ? "...\"" : "\"");
}

std::string one_of(std::span<const std::string> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace railgauge
