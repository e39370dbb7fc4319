// Node sets in text: `gpu[001-064,070]`, `a,b`, `rack[1-2]n[01-04]`, `!excluded`. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::plan {

inline constexpr std::size_t kMaxNodeSetBytes = 64U << 10U;
inline constexpr std::size_t kMaxNodeSetNames = 16'384;  // after expansion, exclusions counted too

// What the text says, before it meets real nodes.
struct NodeSet {
  struct Item {
    std::string text{};                // as written, without `!`: for messages
    std::vector<std::string> names{};  // expanded, in order
  };
  std::vector<Item> included;  // empty: all nodes
  std::vector<Item> excluded;
};

// kInvalidArgument: a word that cannot be a node name, an open bracket, an empty or falling range,
// `@label` and `key=value` (labels are not known yet), or more than the bounds above.
Result<NodeSet> parse_node_set(std::string_view text);

// The nodes of `known` that `text` selects, without duplicates: in the order of the text, or of
// `known` when the text includes nothing by name ("" and "!a"). An exclusion wins wherever it
// stands. kInvalidArgument: a name that is not known (with "did you mean"), an exclusion that
// matches no known node (a typing error there would measure a node that was to be left alone), or
// nothing left.
Result<std::vector<std::string>> select_nodes(std::string_view text,
                                              std::span<const std::string> known);

}  // namespace railgauge::plan
