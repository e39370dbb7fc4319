// Node sets as text: `gpu[001-064,070]`, `a,b`, `rack[1-2]n[01-04]`, `!excluded`. Among nodes with
// labels also `@GROUP` (a named group, or any label's value) and `rack=rack7`; after a `&` follow
// labels that each node must have: `gpu[001-064]&rack=rack7,pod=p1`. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/text/labels.h"

namespace railgauge::plan {

inline constexpr std::size_t kMaxNodeSetBytes = 64U << 10U;
// Bound of names after expansion, exclusions included.
inline constexpr std::size_t kMaxNodeSetNames = 16'384;
// Bound of items that are labels or groups.
inline constexpr std::size_t kMaxLookups = 256;

// A parsed node set, not yet compared with known nodes.
struct NodeSet {
  struct Item {
    // Text of the item without `!`, for messages.
    std::string text{};
    // The names that the item expands to, in order.
    std::vector<std::string> names{};
  };
  // Empty: all nodes are included.
  std::vector<Item> included;
  std::vector<Item> excluded;
};

// Parses a node set that is names alone. kInvalidArgument: a word that cannot be a node name, an
// open bracket, an empty or falling range, labels and groups (they choose among known nodes), or a
// text beyond the bounds above.
Result<NodeSet> parse_node_set(std::string_view text);

// The nodes that a set chooses among, and what is said of them.
struct KnownNodes {
  std::vector<std::string> names{};
  // By node; a node that is missing has no label.
  std::map<std::string, Labels, std::less<>> labels{};
  // By name: a node set without groups.
  std::map<std::string, std::string, std::less<>> groups{};
};

// Joins a node set and the value of -l: labels that each node must have. Either may be "".
std::string with_labels(std::string_view node_set, std::string_view labels);

// Returns the nodes of `known` that `text` selects, without duplicates: in the order of the text,
// or of `known` when the text includes no name ("" and "!a"). An exclusion wins in any position.
// kInvalidArgument: an unknown name (with "did you mean"), an exclusion that matches no known node
// (after a typing error, the run would measure a node that a person excluded), or no node left.
Result<std::vector<std::string>> select_nodes(std::string_view text,
                                              std::span<const std::string> known);
// The same with labels and groups. kInvalidArgument too: a group, key or value that no node has
// (with "did you mean").
Result<std::vector<std::string>> select_nodes(std::string_view text, const KnownNodes& known);

}  // namespace railgauge::plan
