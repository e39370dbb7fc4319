#include "controller/plan/topology/node_set.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/fold.h"
#include "kernels/core/text/text.h"

namespace railgauge::plan {
namespace {

constexpr std::size_t kMaxDigits = 9;
// Longest node name: the limit of a host name (RFC 1035).
constexpr std::size_t kMaxNameBytes = 253;
constexpr std::size_t kMaxNamesInMessage = 5;
constexpr std::size_t kMaxGroupsNamed = 200;
// Largest number of brackets in one item.
constexpr std::size_t kMaxGroups = 8;
// Ends the names; the labels that each node must have follow it.
constexpr char kLabelsFollow = '&';

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
  if (item.front() == '@' || item.find('=') != std::string_view::npos ||
      item.find(kLabelsFollow) != std::string_view::npos)
    return refuse(item, "labels choose among nodes that a controller knows; name the nodes here");
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
  std::string hint =
      known.empty() ? "; no node is known here" : did_you_mean(missing.front(), known);
  if (hint.empty()) hint = "; known: " + fold_briefly(known);
  const bool itself = missing.size() == 1 && missing.front() == item.text;
  return Error{Code::kInvalidArgument, fmt::format("node set: {}{}: unknown node{}",
                                                   itself ? "" : in_quotes(item.text) + ": ", list,
                                                   (missing.size() == 1 ? "" : "s") + hint)};
}

// The known nodes, with their labels and groups.
class Choice {
 public:
  Choice(std::span<const std::string> known, const KnownNodes* said) : known_(known), said_(said) {}

  // The nodes of an item with a label or a group; never empty.
  [[nodiscard]] Result<std::vector<std::string>> nodes_of(std::string_view item) const {
    if (item.starts_with('@')) return of_group(item);
    const auto [key, value] = RG_TRY(parse_label(item));
    return of_label(item, key, value);
  }

  [[nodiscard]] const std::string* value_of(const std::string& node, const std::string& key) const {
    const auto labels = said_->labels.find(node);
    if (labels == said_->labels.end()) return nullptr;
    const auto label = labels->second.find(key);
    return label == labels->second.end() ? nullptr : &label->second;
  }

  [[nodiscard]] std::span<const std::string> known() const { return known_; }
  [[nodiscard]] bool has_labels() const { return said_ != nullptr; }

 private:
  template <class Test>
  [[nodiscard]] std::vector<std::string> that(const Test& test) const {
    std::vector<std::string> out;
    for (const std::string& name : known_)
      if (test(name)) out.push_back(name);
    return out;
  }

  [[nodiscard]] Result<std::vector<std::string>> of_label(std::string_view item,
                                                          const std::string& key,
                                                          const std::string& value) const {
    auto nodes = that([&](const std::string& node) {
      const std::string* found = value_of(node, key);
      return found != nullptr && *found == value;
    });
    if (!nodes.empty()) return nodes;
    std::set<std::string> keys;
    std::set<std::string> values;
    for (const auto& [node, labels] : said_->labels)
      for (const auto& [one, text] : labels) {
        keys.insert(one);
        if (one == key) values.insert(text);
      }
    if (values.empty())
      return refuse(item, keys.empty() ? std::string("no node has a label; see railgauge nodes")
                                       : fmt::format("no node has a label {}{}", in_quotes(key),
                                                     nearest(key, keys)));
    return refuse(item, fmt::format("no node has this value of {}{}", in_quotes(key),
                                    nearest(value, values)));
  }

  [[nodiscard]] Result<std::vector<std::string>> of_group(std::string_view item) const {
    const std::string_view name = item.substr(1);
    if (const auto group = said_->groups.find(name); group != said_->groups.end()) {
      const KnownNodes members{.names = {known_.begin(), known_.end()}, .labels = said_->labels};
      auto nodes = select_nodes(group->second, members);
      if (nodes) return nodes;
      return refuse(item, fmt::format("the group's nodes: {}", nodes.error().message));
    }
    auto nodes = that([&](const std::string& node) {
      const auto labels = said_->labels.find(node);
      return labels != said_->labels.end() &&
             std::ranges::any_of(labels->second,
                                 [&](const auto& label) { return label.second == name; });
    });
    if (!nodes.empty()) return nodes;
    std::set<std::string> names;
    for (const auto& [one, members] : said_->groups) names.insert(one);
    if (name.empty()) return refuse(item, groups_to_name(names));
    for (const auto& [node, labels] : said_->labels)
      for (const auto& [key, value] : labels) names.insert(value);
    if (names.empty())
      return refuse(item, "no group, and no node has a label; the site profile names groups");
    return refuse(item, "no group, and no label's value" + nearest(name, names));
  }

  // An "@" alone asks which groups there are: completion and people do so.
  static std::string groups_to_name(const std::set<std::string>& groups) {
    std::vector<std::string> words;
    for (const std::string& group : groups) words.push_back("@" + group);
    if (words.empty()) return "a label's value follows; the site profile names no group";
    return fmt::format("a label's value follows, or a group: {}", some_of(words, kMaxGroupsNamed));
  }

  // The closest word, or the first ones where none is near.
  static std::string nearest(std::string_view word, const std::set<std::string>& words) {
    const std::vector<std::string> all(words.begin(), words.end());
    const std::string hint = did_you_mean(word, all);
    return hint.empty() ? "; known: " + some_of(all, kMaxNamesInMessage) : hint;
  }

  const std::span<const std::string> known_;
  // Null: nothing is said of the nodes.
  const KnownNodes* const said_;
};

bool is_names(std::string_view item) {
  return !item.starts_with('@') && item.find('=') == std::string_view::npos;
}

// The items of a set. Those of labels and groups have the names of the nodes that have them, where
// `choice` is given.
Result<NodeSet> parse(std::string_view text, const Choice* choice) {
  NodeSet set;
  if (trim(text).empty()) return set;
  if (text.size() > kMaxNodeSetBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("node set: {} bytes of text; at most {} are allowed", text.size(),
                            kMaxNodeSetBytes));
  // The budget counts names of all items, so that brackets and groups cannot exhaust memory. Each
  // label or group is looked up among all nodes.
  std::size_t budget = kMaxNodeSetNames;
  std::size_t lookups = 0;
  for (std::string_view word : split_items(text)) {
    const bool exclude = word.starts_with('!');
    if (exclude) word = trim(word.substr(1));
    if (word.empty()) return refuse(text, "an empty name; take one comma or `!` away");
    const bool is_chosen = choice != nullptr && !is_names(word);
    if (is_chosen && ++lookups > kMaxLookups)
      return refuse(text, fmt::format("has more than {} labels and groups", kMaxLookups));
    std::vector<std::string> names =
        RG_TRY(is_chosen ? choice->nodes_of(word) : expand(word, budget));
    if (names.size() > budget)
      return refuse(text, fmt::format("names more than {} nodes", kMaxNodeSetNames));
    budget -= names.size();
    auto& items = exclude ? set.excluded : set.included;
    items.push_back({.text = std::string(word), .names = std::move(names)});
  }
  return set;
}

// Exclusions first, since they win over any inclusion.
Result<std::vector<std::string>> select(std::string_view text, const Choice& choice) {
  const std::span<const std::string> known = choice.known();
  const std::size_t follow =
      choice.has_labels() ? text.find(kLabelsFollow) : std::string_view::npos;
  Labels wanted;
  if (follow != std::string_view::npos) {
    wanted = RG_TRY(parse_labels(text.substr(follow + 1)));
    if (wanted.empty()) return refuse(text, "no label follows the &");
    for (const auto& [key, value] : wanted)
      RG_TRY_OK(choice.nodes_of(fmt::format("{}={}", key, value)));
  }
  const NodeSet set =
      RG_TRY(parse(text.substr(0, follow), choice.has_labels() ? &choice : nullptr));
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
  std::erase_if(selected, [&](const std::string& name) {
    return std::ranges::any_of(wanted, [&](const auto& label) {
      const std::string* value = choice.value_of(name, label.first);
      return value == nullptr || *value != label.second;
    });
  });
  if (selected.empty())
    return fail(Code::kInvalidArgument,
                known.empty()
                    ? "node set: no node is known here; is an agent attached"
                    : fmt::format("node set: {}: nothing is left", in_quotes(trim(text))));
  return selected;
}

}  // namespace

Result<NodeSet> parse_node_set(std::string_view text) { return parse(text, nullptr); }

std::string with_labels(std::string_view node_set, std::string_view labels) {
  if (labels.empty()) return std::string(node_set);
  const bool has_some = node_set.find(kLabelsFollow) != std::string_view::npos;
  return fmt::format("{}{}{}", node_set, has_some ? ',' : kLabelsFollow, labels);
}

Result<std::vector<std::string>> select_nodes(std::string_view text,
                                              std::span<const std::string> known) {
  return select(text, Choice(known, nullptr));
}

Result<std::vector<std::string>> select_nodes(std::string_view text, const KnownNodes& known) {
  return select(text, Choice(known.names, &known));
}

}  // namespace railgauge::plan
