// Reads the facts of a finding from the store: its figures, nodes and stacks.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/findings/finding_causes.h"
#include "controller/store/store.h"

namespace railgauge {

// The nodes that all of the series have in common; where there is none, those of all.
std::set<std::string> nodes_in_common(const std::vector<store::SeriesRow>& all);

// Its first series' figures and its nodes' stacks; without events. `row` has its series.
Result<FindingFacts> facts_of(const store::Store& store, const store::FindingRow& row,
                              const std::set<std::string>& nodes);

}  // namespace railgauge
