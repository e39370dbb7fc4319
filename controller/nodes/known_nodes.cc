#include "controller/nodes/known_nodes.h"

#include <utility>

#include "controller/store/nodes/node_words.h"

namespace railgauge {

// A set of plain names needs no label, so the store is not asked.
Result<std::vector<std::string>> choose_nodes(const store::Store& store,
                                              const std::string& node_set,
                                              std::vector<std::string> names) {
  if (node_set.find_first_of("@=&") == std::string::npos)
    return plan::select_nodes(node_set, names);
  store::NodeWords words = RG_TRY(store.read(store::read_node_words));
  const plan::KnownNodes known{.names = std::move(names),
                               .labels = std::move(words.labels),
                               .groups = std::move(words.groups)};
  return plan::select_nodes(node_set, known);
}

Result<std::vector<std::string>> choose_nodes(const store::Store& store,
                                              const std::string& node_set) {
  return choose_nodes(store, node_set, RG_TRY(store.node_names()));
}

}  // namespace railgauge
