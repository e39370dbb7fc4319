#include "kernels/core/text/fold.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace railgauge {
namespace {

// As node sets bound them: longer numbers and further ones are text.
constexpr std::size_t kMaxDigits = 9;
constexpr std::size_t kMaxNumbers = 8;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A name as text and numbers in turn: text[0], number[0], text[1], ..., text[n].
struct Parts {
  std::vector<std::string> texts{std::string()};
  std::vector<std::string> digits{};
};

Parts parts_of(std::string_view name) {
  Parts parts;
  if (name.find_first_of("[],") != std::string_view::npos) {
    parts.texts.front() = name;
    return parts;
  }
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end == i) {
      parts.texts.back() += name[i++];
      continue;
    }
    const std::string_view number = name.substr(i, end - i);
    if (number.size() > kMaxDigits) {
      parts.texts.back() += number;
    } else {
      parts.digits.emplace_back(number);
      parts.texts.emplace_back();
    }
    i = end;
  }
  // The first numbers become text: the last ones count.
  while (parts.digits.size() > kMaxNumbers) {
    parts.texts[1] = parts.texts[0] + parts.digits[0] + parts.texts[1];
    parts.texts.erase(parts.texts.begin());
    parts.digits.erase(parts.digits.begin());
  }
  return parts;
}

using Numbers = std::vector<std::uint32_t>;
// For each number of a name the values that it takes, ascending.
using Box = std::vector<Numbers>;

std::uint32_t number_of(std::string_view digits) {
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// Joins boxes that differ in one number only, number after number.
std::vector<Box> joined(std::vector<Box> boxes, std::size_t dimensions) {
  for (std::size_t d = dimensions; d-- > 0;) {
    std::map<Box, std::set<std::uint32_t>> by_others;
    for (Box& box : boxes) {
      const Numbers values = std::exchange(box[d], {});
      by_others[std::move(box)].insert(values.begin(), values.end());
    }
    boxes.clear();
    for (const auto& [others, values] : by_others) {
      boxes.push_back(others);
      boxes.back()[d].assign(values.begin(), values.end());
    }
  }
  return boxes;
}

// "7", or "[001-004,007]" with as many digits as `width`; 0: as many as they need.
std::string range_text(const Numbers& values, std::size_t width) {
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t last = i;
    while (last + 1 < values.size() && values[last + 1] == values[last] + 1) ++last;
    text += fmt::format("{}{:0{}}", text.empty() ? "" : ",", values[i], width);
    if (last > i) text += fmt::format("-{:0{}}", values[last], width);
    i = last + 1;
  }
  return values.size() == 1 ? text : "[" + text + "]";
}

// Names of one shape: the same texts, and numbers of the same widths.
struct Shape {
  std::vector<std::string> texts;
  std::vector<std::size_t> widths;  // 0: without zeros in front
  bool operator<(const Shape& other) const {
    return std::tie(texts, widths) < std::tie(other.texts, other.widths);
  }
};

std::string text_of(const Shape& shape, const Box& box) {
  std::string text = shape.texts.front();
  for (std::size_t i = 0; i < box.size(); ++i)
    text += range_text(box[i], shape.widths[i]) + shape.texts[i + 1];
  return text;
}

// A key that sorts n2 before n10.
using Order = std::vector<std::pair<std::string, std::uint32_t>>;
Order order_of(const Shape& shape, const Box& box) {
  Order order;
  for (std::size_t i = 0; i < box.size(); ++i) order.emplace_back(shape.texts[i], box[i].front());
  order.emplace_back(shape.texts.back(), 0);
  return order;
}

// 099 and 100 are of one shape: a number counts as padded where another of its length is.
std::map<Shape, std::vector<Box>> shapes_of(const std::set<std::string_view>& names) {
  std::map<std::vector<std::string>, std::vector<std::vector<std::string>>> by_texts;
  for (const std::string_view name : names) {
    Parts parts = parts_of(name);
    by_texts[std::move(parts.texts)].push_back(std::move(parts.digits));
  }
  std::map<Shape, std::vector<Box>> shapes;
  for (const auto& [texts, all] : by_texts) {
    std::vector<std::set<std::size_t>> padded(texts.size());
    for (const auto& digits : all)
      for (std::size_t i = 0; i < digits.size(); ++i)
        if (digits[i].size() > 1 && digits[i].front() == '0') padded[i].insert(digits[i].size());
    for (const auto& digits : all) {
      Shape shape{.texts = texts, .widths = {}};
      Box box;
      for (std::size_t i = 0; i < digits.size(); ++i) {
        const std::size_t length = digits[i].size();
        shape.widths.push_back(padded[i].contains(length) ? length : 0);
        box.push_back({number_of(digits[i])});
      }
      shapes[std::move(shape)].push_back(std::move(box));
    }
  }
  return shapes;
}

}  // namespace

std::string fold_names(std::span<const std::string> names) {
  const std::set<std::string_view> once(names.begin(), names.end());
  std::vector<std::pair<Order, std::string>> items;
  for (auto& [shape, boxes] : shapes_of(once))
    for (const Box& box : joined(std::move(boxes), shape.widths.size()))
      items.emplace_back(order_of(shape, box), text_of(shape, box));
  std::ranges::sort(items);
  std::string text;
  for (const auto& [order, item] : items) text += (text.empty() ? "" : ",") + item;
  return text;
}

std::string fold_briefly(std::span<const std::string> names, std::size_t most_bytes) {
  std::string folded = fold_names(names);
  if (folded.size() <= most_bytes) return folded;
  const std::set<std::string_view> once(names.begin(), names.end());
  const auto [first, last] = std::ranges::minmax_element(
      once, {}, [](std::string_view value) { return std::pair(value.size(), value); });
  return fmt::format("{}..{} ({})", *first, *last, once.size());
}

namespace {

// The place of a parameter in the fixed part of a text.
constexpr char kMark = '\x01';

bool separates(char c) {
  return c == kMark || std::string_view(" \t\n,;()[]{}\"'=<>").find(c) != std::string_view::npos;
}

// A text as its fixed part, with a mark for each parameter, and the parameters.
struct Pattern {
  std::string fixed{};
  std::vector<std::string> parameters{};
};

Pattern pattern_of(std::string_view text, const std::unordered_set<std::string_view>& names) {
  Pattern pattern;
  for (std::size_t i = 0; i < text.size();) {
    if (separates(text[i])) {
      pattern.fixed += text[i] == kMark ? ' ' : text[i];
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && !separates(text[end])) ++end;
    std::string_view word = text.substr(i, end - i);
    i = end;
    // The full stop or colon of a sentence is none of the word.
    const std::size_t kept = word.find_last_not_of(".:") + 1;
    const std::string_view tail = word.substr(kept);
    word = word.substr(0, kept);
    const bool varies = std::ranges::any_of(word, is_digit) || names.contains(word) ||
                        names.contains(word.substr(0, word.find('/')));
    if (varies) {
      pattern.fixed += kMark;
      pattern.parameters.emplace_back(word);
    } else {
      pattern.fixed += word;
    }
    pattern.fixed += tail;
  }
  return pattern;
}

// The values by size, where all are numbers and one of them has a point; else none.
std::map<double, std::string_view> decimals_of(const std::set<std::string>& values) {
  std::map<double, std::string_view> decimals;
  bool has_point = false;
  for (const std::string& value : values) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) return {};
    has_point = has_point || value.find('.') != std::string::npos;
    decimals.emplace(number, value);
  }
  return has_point ? decimals : std::map<double, std::string_view>{};
}

std::string values_text(const std::set<std::string>& values) {
  if (values.size() == 1) return *values.begin();
  if (const auto decimals = decimals_of(values); decimals.size() > 1)
    return fmt::format("{}..{}", decimals.begin()->second, decimals.rbegin()->second);
  return fold_briefly(std::vector<std::string>(values.begin(), values.end()));
}

}  // namespace

namespace {

// The pattern of a text whose sentences, between semicolons, count once each: those that differ in
// parameters only are one, with the values of all.
struct FoldedPattern {
  std::string fixed{};
  std::vector<std::vector<std::string>> values{};  // by parameter
};

FoldedPattern folded_pattern(std::string_view text,
                             const std::unordered_set<std::string_view>& names) {
  constexpr std::string_view kBetween = "; ";
  FoldedPattern folded;
  std::map<std::string, std::size_t> first_value;  // by the fixed part of a sentence
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(kBetween, begin), text.size());
    Pattern pattern = pattern_of(text.substr(begin, end - begin), names);
    const auto [at, is_new] = first_value.emplace(pattern.fixed, folded.values.size());
    if (is_new) {
      folded.fixed += fmt::format("{}{}", begin == 0 ? "" : kBetween, pattern.fixed);
      folded.values.resize(folded.values.size() + pattern.parameters.size());
    }
    for (std::size_t k = 0; k < pattern.parameters.size(); ++k)
      folded.values[at->second + k].push_back(std::move(pattern.parameters[k]));
    begin = end + kBetween.size();
  }
  return folded;
}

}  // namespace

std::vector<TextGroup> group_texts(std::span<const std::string> texts,
                                   std::span<const std::string> names) {
  const std::unordered_set<std::string_view> known(names.begin(), names.end());
  std::vector<TextGroup> groups;
  std::vector<std::vector<std::set<std::string>>> values;  // by group and parameter
  std::unordered_map<std::string, std::size_t> found;      // by the fixed part
  for (std::size_t i = 0; i < texts.size(); ++i) {
    FoldedPattern pattern = folded_pattern(texts[i], known);
    const auto [at, is_new] = found.emplace(std::move(pattern.fixed), groups.size());
    if (is_new) {
      groups.emplace_back();
      values.emplace_back(pattern.values.size());
    }
    groups[at->second].members.push_back(i);
    for (std::size_t k = 0; k < pattern.values.size(); ++k)
      values[at->second][k].insert(pattern.values[k].begin(), pattern.values[k].end());
  }
  for (const auto& [fixed, group] : found) {
    std::size_t next = 0;
    for (const char c : fixed)
      if (c == kMark)
        groups[group].text += values_text(values[group][next++]);
      else
        groups[group].text += c;
  }
  return groups;
}

}  // namespace railgauge
