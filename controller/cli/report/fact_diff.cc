#include "controller/cli/report/fact_diff.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "kernels/core/stack_hash.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr const char* kNone = "";  // no node says an empty word

// Numbers of nodes of a set by value.
struct Said {
  std::map<std::string, std::uint32_t> values;
  std::uint32_t unknown = 0;
  std::uint32_t nodes = 0;
};
using Key = std::tuple<std::string, std::string>;  // part, name
using Table = std::map<Key, Said>;

// Adds one node's words of a part to the table.
template <class Map>
void add(Table& table, const char* part, const Map& words) {
  for (const auto& [name, value] : words) {
    Said& said = table[{part, name}];
    ++said.nodes;
    if (value == kUnknownPart)
      ++said.unknown;
    else
      ++said.values[value];
  }
}

// Counts, for each fact and stack part, which values the nodes have.
Table table_of(const NodeList& list) {
  Table table;
  for (const NodeInfo& node : list.nodes()) {
    add(table, "version", node.stack_versions());
    add(table, "setting", node.stack_settings());
    add(table, "fact", node.facts());
  }
  return table;
}

// With those that do not say anything as kNone.
Said said_of(const Table& table, const Key& key, int nodes) {
  const auto found = table.find(key);
  Said said = found == table.end() ? Said{} : found->second;
  const auto silent = static_cast<std::uint32_t>(nodes) - said.nodes;
  if (silent > 0) said.values[kNone] += silent;
  return said;
}

// How many nodes have a known value, none included.
double total_of(const Said& said) {
  double total = 0;
  for (const auto& [value, count] : said.values) total += count;
  return total;
}

// Share of pairs of one node each that say the same.
double same_across(const Said& a, const Said& b) {
  double same = 0;
  for (const auto& [value, count] : a.values)
    if (const auto found = b.values.find(value); found != b.values.end())
      same += static_cast<double>(count) * found->second;
  return same / (total_of(a) * total_of(b));
}

// The share of pairs of one set that have the same value; 1 for a set of one.
double same_within(const Said& said) {
  const double total = total_of(said);
  if (total < 2) return 1;
  double same = 0;
  for (const auto& [value, count] : said.values) same += count * (count - 1.0);
  return same / (total * (total - 1));
}

// 1: the fact splits the sets perfectly. 0 or less: it differs within the sets as much as between
// them.
double separation(const Said& a, const Said& b) {
  return (same_within(a) + same_within(b)) / 2 - same_across(a, b);
}

// Compares values without counts.
bool has_same_values(const Said& a, const Said& b) {
  return std::ranges::equal(
      a.values, b.values, {}, [](const auto& one) { return one.first; },
      [](const auto& one) { return one.first; });
}

// Values with the most frequent first.
template <class Values>
void fill(const Said& said, Values& values) {
  std::vector<std::pair<std::string, std::uint32_t>> sorted(said.values.begin(), said.values.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const auto& one) { return one.second; });
  for (const auto& [value, count] : sorted) {
    ValueCount& added = *values.Add();
    if (value != kNone) added.set_value(value);
    added.set_nodes(count);
  }
}

}  // namespace

// Sorted by separation, and by part and name where it is equal.
NodesDiff diff_nodes(const NodeList& a, const NodeList& b) {
  NodesDiff diff;
  diff.set_schema_version(1);
  for (const NodeInfo& node : a.nodes()) diff.add_a(node.name());
  for (const NodeInfo& node : b.nodes()) diff.add_b(node.name());
  const Table left = table_of(a);
  const Table right = table_of(b);
  // Every fact that either set has.
  Table names = left;
  names.insert(right.begin(), right.end());
  for (const auto& [key, unused] : names) {
    const Said one = said_of(left, key, a.nodes_size());
    const Said other = said_of(right, key, b.nodes_size());
    if (one.values.empty() || other.values.empty() || has_same_values(one, other)) continue;
    const double separates = separation(one, other);
    if (separates <= 0) continue;
    FactDifference& row = *diff.add_differences();
    row.set_part(std::get<0>(key));
    row.set_name(std::get<1>(key));
    fill(one, *row.mutable_a_values());
    fill(other, *row.mutable_b_values());
    row.set_a_unknown(one.unknown);
    row.set_b_unknown(other.unknown);
    row.set_separation(separates);
  }
  std::stable_sort(diff.mutable_differences()->begin(), diff.mutable_differences()->end(),
                   [](const FactDifference& x, const FactDifference& y) {
                     return x.separation() > y.separation();
                   });
  return diff;
}

}  // namespace railgauge::cli
