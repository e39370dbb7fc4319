// Node sets as text: `gpu[001-064,070]`, `a,b`, `rack[1-2]n[01-04]`, `!excluded`. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::plan {

inline constexpr std::size_t kMaxNodeSetBytes = 64U << 10U;
// Bound of names after expansion, exclusions included.
inline constexpr std::size_t kMaxNodeSetNames = 16'384;

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

// Parses a node set. kInvalidArgument: a word that cannot be a node name, an open bracket, an empty
// or falling range, `@label` and `key=value` (labels are not supported yet), or a text beyond the
// bounds above.
Result<NodeSet> parse_node_set(std::string_view text);

// Returns the nodes of `known` that `text` selects, without duplicates: in the order of the text,
// or of `known` when the text includes no name ("" and "!a"). An exclusion wins in any position.
// kInvalidArgument: an unknown name (with "did you mean"), an exclusion that matches no known node
// (after a typing error, the run would measure a node that a person excluded), or no node left.
Result<std::vector<std::string>> select_nodes(std::string_view text,
                                              std::span<const std::string> known);

}  // namespace railgauge::plan
