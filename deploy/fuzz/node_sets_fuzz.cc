// Node sets and lists of pairs, as users and files write them. The first byte chooses the reader.
// Properties: what is accepted is within the bounds and reads the same after it was written out;
// a selection is a part of the known nodes, excludes what `!` names, and selects itself.
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/rounds/pair_rounds.h"
#include "controller/plan/topology/node_set.h"
#include "deploy/fuzz/properties.h"

namespace railgauge::fuzz {
namespace {

const std::vector<std::string>& known_nodes() {
  static const auto* const nodes = [] {
    auto* names =
        new std::vector<std::string>{"head", "a", "b", "rack1n01", "rack2n04", "x.y-z_0:1"};
    for (int i = 1; i <= 70; ++i) names->push_back(fmt::format("gpu{:03}", i));
    return names;
  }();
  return *nodes;
}

std::vector<std::string> names_of(const std::vector<plan::NodeSet::Item>& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.insert(names.end(), item.names.begin(), item.names.end());
  return names;
}

void check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    FUZZ_CHECK(!name.empty() && name.size() <= 253, name);
    FUZZ_CHECK(made_of(name, "._-:"), name);
  }
}

void check_node_set(std::string_view text) {
  const auto set = plan::parse_node_set(text);
  check_error(set);
  if (!set) return;
  const auto included = names_of(set->included);
  const auto excluded = names_of(set->excluded);
  FUZZ_CHECK(included.size() + excluded.size() <= plan::kMaxNodeSetNames, text);
  check_names(included);
  check_names(excluded);
  std::vector<std::string> words = included;
  for (const std::string& name : excluded) words.push_back("!" + name);
  const std::string written = fmt::format("{}", fmt::join(words, ","));
  if (words.empty() || written.size() > plan::kMaxNodeSetBytes) return;
  const auto again = plan::parse_node_set(written);
  FUZZ_CHECK(again, error_of(again));
  FUZZ_CHECK(names_of(again->included) == included, written);
  FUZZ_CHECK(names_of(again->excluded) == excluded, written);
}

void check_selection(std::string_view text) {
  const auto& known = known_nodes();
  const auto selected = plan::select_nodes(text, known);
  check_error(selected);
  if (!selected) return;
  const auto set = plan::parse_node_set(text);
  FUZZ_CHECK(set, text);
  FUZZ_CHECK(!selected->empty(), text);
  const std::set<std::string> once(selected->begin(), selected->end());
  FUZZ_CHECK(once.size() == selected->size(), text);
  for (const std::string& name : *selected)
    FUZZ_CHECK(std::ranges::find(known, name) != known.end(), name);
  for (const std::string& name : names_of(set->excluded)) FUZZ_CHECK(!once.contains(name), name);
  const auto again = plan::select_nodes(fmt::format("{}", fmt::join(*selected, ",")), known);
  FUZZ_CHECK(again && *again == *selected, text);
}

// The labels of every third node, and a group.
const plan::KnownNodes& labelled_nodes() {
  static const auto* const nodes = [] {
    auto* known =
        new plan::KnownNodes{.names = known_nodes(), .groups = {{"gold", "gpu[001-009]"}}};
    for (std::size_t i = 0; i < known->names.size(); i += 3)
      known->labels[known->names[i]] = {{"rack", fmt::format("r{}", i % 4)}, {"pod", "p1"}};
    return known;
  }();
  return *nodes;
}

void check_labelled_selection(std::string_view text) {
  const plan::KnownNodes& known = labelled_nodes();
  const auto selected = plan::select_nodes(text, known);
  check_error(selected);
  if (!selected) return;
  FUZZ_CHECK(!selected->empty(), text);
  const std::set<std::string> once(selected->begin(), selected->end());
  FUZZ_CHECK(once.size() == selected->size(), text);
  for (const std::string& name : *selected)
    FUZZ_CHECK(std::ranges::find(known.names, name) != known.names.end(), name);
  const auto again = plan::select_nodes(fmt::format("{}", fmt::join(*selected, ",")), known);
  FUZZ_CHECK(again && *again == *selected, text);
  // Labels that follow leave only nodes that have them.
  if (text.find('&') != std::string_view::npos) return;
  const auto part = plan::select_nodes(plan::with_labels(text, "pod=p1"), known);
  if (!part) return;
  for (const std::string& name : *part)
    FUZZ_CHECK(once.contains(name) && known.labels.contains(name), name);
}

void check_pair_list(std::string_view text) {
  const auto& known = known_nodes();
  const auto listed = plan::parse_pair_list(text, known);
  check_error(listed);
  if (!listed) return;
  std::set<plan::NodePair> all;
  for (const auto& round : listed->rounds) {
    FUZZ_CHECK(!round.empty(), text);
    std::set<std::uint32_t> busy;
    for (const plan::NodePair& pair : round) {
      FUZZ_CHECK(pair.first < pair.second && pair.second < known.size(), text);
      FUZZ_CHECK(busy.insert(pair.first).second && busy.insert(pair.second).second, text);
      FUZZ_CHECK(all.insert(pair).second, text);
    }
  }
}

}  // namespace
}  // namespace railgauge::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::fuzz;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'P') {
    check_pair_list(text);
  } else {
    check_node_set(text);
    check_selection(text);
    check_labelled_selection(text);
  }
  return 0;
}
