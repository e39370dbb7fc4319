#include "controller/plan/topology/node_set.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::plan {
namespace {

constexpr std::size_t kMaxDigits = 9;
// Longest node name: the limit of a host name (RFC 1035).
constexpr std::size_t kMaxNameBytes = 253;
constexpr std::size_t kMaxNamesInMessage = 5;
// Largest number of brackets in one item.
constexpr std::size_t kMaxGroups = 8;

// All faults of a text name the item they are in.
tl::unexpected<Error> refuse(std::string_view item, std::string_view why) {
  return fail(Code::kInvalidArgument, fmt::format("node set: {}: {}", in_quotes(item), why));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

bool name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-' || c == ':';
}

// At least one character, digits only.
bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// At commas outside brackets.
std::vector<std::string_view> split_items(std::string_view text) {
  std::vector<std::string_view> items;
  bool inside = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      if (text[i] == '[') inside = true;
      if (text[i] == ']') inside = false;
      if (text[i] != ',' || inside) continue;
    }
    items.push_back(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return items;
}

// "001-064" or "7" to its numbers as text, zeros in front kept.
Status expand_range(std::string_view item, std::string_view range, std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
  if (!all_digits(low) || !all_digits(high))
    return refuse(item, "brackets take numbers and ranges, as in [001-064,070]");
  if (low.size() > kMaxDigits || high.size() > kMaxDigits)
    return refuse(item, fmt::format("a number in brackets has at most {} digits", kMaxDigits));
  const bool padded = low.size() > 1 && low.front() == '0';
  if (low.size() != high.size() && (padded || (high.size() > 1 && high.front() == '0')))
    return refuse(item, "both ends of a range with leading zeros need the same number of digits");
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::from_chars(low.data(), low.data() + low.size(), first);
  std::from_chars(high.data(), high.data() + high.size(), last);
  if (first > last) return refuse(item, "a range must rise");
  if (last - first >= kMaxNodeSetNames - std::min(out.size(), kMaxNodeSetNames))
    return refuse(item, fmt::format("names more than {} nodes", kMaxNodeSetNames));
  const std::size_t width = low.size();
  for (std::uint32_t i = first; i <= last; ++i)
    out.push_back(low.size() == high.size() ? fmt::format("{:0{}}", i, width)
                                            : fmt::format("{}", i));
  return {};
}

// Every name so far, followed by every number of the group.
Status append_group(std::string_view item, std::string_view group, std::size_t budget,
                    std::vector<std::string>& names) {
  std::vector<std::string> numbers;
  for (std::size_t begin = 0; begin <= group.size();) {
    const std::size_t end = std::min(group.find(',', begin), group.size());
    RG_TRY_OK(expand_range(item, trim(group.substr(begin, end - begin)), numbers));
    begin = end + 1;
  }
  if (numbers.size() > budget / std::max<std::size_t>(names.size(), 1))
    return refuse(item, fmt::format("names more than {} nodes", kMaxNodeSetNames));
  std::vector<std::string> longer;
  longer.reserve(names.size() * numbers.size());
  for (const std::string& name : names)
    for (const std::string& number : numbers) longer.push_back(name + number);
  names = std::move(longer);
  return {};
}

// All names of one item. `budget` is the number of names that the whole set may still take.
Result<std::vector<std::string>> expand(std::string_view item, std::size_t budget) {
  if (item.front() == '@')
    return refuse(item, "labels are not supported yet; name the nodes, as in gpu[001-064]");
  if (item.find('=') != std::string_view::npos)
    return refuse(item, "labels (key=value) are not supported yet; name the nodes");
  std::vector<std::string> names{""};
  std::size_t longest = 0;  // of the names so far
  std::size_t groups = 0;
  for (std::size_t i = 0; i < item.size(); ++i) {
    if (item[i] == '[') {
      const std::size_t close = item.find(']', i);
      if (close == std::string_view::npos) return refuse(item, "a bracket is not closed");
      if (++groups > kMaxGroups)
        return refuse(item, fmt::format("more than {} brackets in one name", kMaxGroups));
      RG_TRY_OK(append_group(item, item.substr(i + 1, close - i - 1), budget, names));
      for (const std::string& name : names) longest = std::max(longest, name.size());
      i = close;
    } else if (name_character(item[i])) {
      for (std::string& name : names) name.push_back(item[i]);
      ++longest;
    } else {
      return refuse(item, fmt::format("a node name cannot have the byte 0x{:02x}; letters, digits, "
                                      "and . _ - : are allowed",
                                      static_cast<unsigned>(static_cast<unsigned char>(item[i]))));
    }
    if (longest > kMaxNameBytes)
      return refuse(item, fmt::format("a node name has at most {} characters", kMaxNameBytes));
  }
  return names;
}

// The first few unknown names and how many more there are.
Error unknown(const NodeSet::Item& item, const std::vector<std::string>& missing,
              std::span<const std::string> known) {
  const std::string list = some_of(missing, kMaxNamesInMessage);
  const std::string hint =
      known.empty() ? "; no node is known here" : did_you_mean(missing.front(), known);
  const bool itself = missing.size() == 1 && missing.front() == item.text;
  return Error{Code::kInvalidArgument, fmt::format("node set: {}{}: unknown node{}",
                                                   itself ? "" : in_quotes(item.text) + ": ", list,
                                                   (missing.size() == 1 ? "" : "s") + hint)};
}

}  // namespace

// The budget counts names of all items, so that brackets cannot exhaust memory.
Result<NodeSet> parse_node_set(std::string_view text) {
  NodeSet set;
  if (trim(text).empty()) return set;
  if (text.size() > kMaxNodeSetBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("node set: {} bytes of text; at most {} are allowed", text.size(),
                            kMaxNodeSetBytes));
  std::size_t budget = kMaxNodeSetNames;
  for (std::string_view word : split_items(text)) {
    const bool exclude = word.starts_with('!');
    if (exclude) word = trim(word.substr(1));
    if (word.empty()) return refuse(text, "an empty name; take one comma or `!` away");
    std::vector<std::string> names = RG_TRY(expand(word, budget));
    if (names.size() > budget)
      return refuse(text, fmt::format("names more than {} nodes", kMaxNodeSetNames));
    budget -= names.size();
    auto& items = exclude ? set.excluded : set.included;
    items.push_back({.text = std::string(word), .names = std::move(names)});
  }
  return set;
}

// Exclusions first, since they win over any inclusion.
Result<std::vector<std::string>> select_nodes(std::string_view text,
                                              std::span<const std::string> known) {
  const NodeSet set = RG_TRY(parse_node_set(text));
  const std::unordered_set<std::string_view> exists(known.begin(), known.end());
  // Or excluded: not to be selected (again).
  std::unordered_set<std::string_view> taken;
  for (const auto& item : set.excluded) {
    for (const std::string& name : item.names) taken.insert(name);
    if (std::ranges::none_of(item.names, [&](const auto& name) { return exists.contains(name); }))
      return tl::unexpected(unknown(item, item.names, known));
  }
  std::vector<std::string> selected;
  if (set.included.empty())
    for (const std::string& name : known)
      if (taken.insert(name).second) selected.push_back(name);
  for (const auto& item : set.included) {
    std::vector<std::string> missing;
    for (const std::string& name : item.names) {
      if (!exists.contains(name)) missing.push_back(name);
      if (taken.insert(name).second) selected.push_back(name);
    }
    if (!missing.empty()) return tl::unexpected(unknown(item, missing, known));
  }
  if (selected.empty())
    return fail(Code::kInvalidArgument,
                known.empty()
                    ? "node set: no node is known here; is an agent attached"
                    : fmt::format("node set: {}: nothing is left", in_quotes(trim(text))));
  return selected;
}

}  // namespace railgauge::plan
