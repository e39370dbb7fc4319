#include "kernels/nccl/communicator/split.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "kernels/core/text/text.h"

namespace railgauge::nccl {
namespace {

struct SplitRow {
  std::string_view word;
  std::string_view sign;
  Split::By by;
};
constexpr std::array kSplits{
    SplitRow{"and", "&", Split::By::kAnd}, SplitRow{"or", "|", Split::By::kOr},
    SplitRow{"mod", "%", Split::By::kModulo}, SplitRow{"div", "/", Split::By::kQuotient}};

// Decimal, or with 0x or 0b in front.
std::optional<std::uint32_t> number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0b")) {
    base = text[1] == 'x' ? 16 : 2;
    text.remove_prefix(2);
  }
  std::uint32_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (text.empty() || wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::uint32_t Split::color(std::uint32_t rank) const {
  switch (by) {
    case By::kAnd:
      return rank & value;
    case By::kOr:
      return rank | value;
    case By::kModulo:
      return rank % value;
    case By::kQuotient:
      return rank / value;
    case By::kNothing:
      break;
  }
  return 0;
}

Result<Split> parse_split(std::string_view text) {
  if (text.empty()) return Split{};
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const SplitRow& row : kSplits)
    for (const std::string_view begin : {row.word, row.sign})
      if (lower.starts_with(begin)) {
        const auto value = number_in(std::string_view(lower).substr(begin.size()));
        const bool divides = row.by == Split::By::kModulo || row.by == Split::By::kQuotient;
        // A color above INT_MAX would be none of NCCL's.
        if (value && *value <= INT32_MAX && !(divides && *value == 0))
          return Split{.by = row.by, .value = *value};
      }
  return invalid("split: {} is not as mod 2, div 8, and 0x7 or or 0x7", in_quotes(text));
}

Result<GroupPlace> place_of(const Split& split, std::uint32_t ranks, std::uint32_t rank) {
  std::map<std::uint32_t, std::uint32_t> sizes;
  GroupPlace place;
  for (std::uint32_t other = 0; other < ranks; ++other) {
    const std::uint32_t color = split.color(other);
    ++sizes[color];
    if (other < rank && color == split.color(rank)) ++place.rank;
  }
  for (const auto& [color, size] : sizes)
    if (size != sizes.begin()->second)
      return invalid("split: {} ranks make groups of {} and of {}; all must be equally large",
                     ranks, sizes.begin()->second, size);
  place.groups = static_cast<std::uint32_t>(sizes.size());
  place.ranks = sizes.begin()->second;
  return place;
}

}  // namespace railgauge::nccl
