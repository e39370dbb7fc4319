// The nodes that a node set chooses among, with the labels and groups that the store has of them.
// Called on worker threads.
#pragma once

#include <string>
#include <vector>

#include "controller/plan/topology/node_set.h"
#include "controller/store/store.h"

namespace railgauge {

// Selects nodes of `names` as plan::select_nodes() does. The store is asked where the set has
// labels or groups. Errors: those of plan::select_nodes() and of the store.
Result<std::vector<std::string>> choose_nodes(const store::Store& store,
                                              const std::string& node_set,
                                              std::vector<std::string> names);

// The same among all names that nodes have or had: their earlier results are their own.
Result<std::vector<std::string>> choose_nodes(const store::Store& store,
                                              const std::string& node_set);

}  // namespace railgauge
