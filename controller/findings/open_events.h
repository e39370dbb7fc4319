// Open findings by the events that they are of, and what speaks for each cause of one. Called on
// worker threads.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge {

struct OpenEvent {
  std::vector<store::FindingRow> findings{};  // in the order in which they were opened
  double from = 0;                            // unix seconds; it began between these two
  double until = 0;
  std::set<std::string> nodes{};   // that its findings name
  std::set<std::string> common{};  // what all its series have and not all of the fabric: "leaf l1"
};

// Of the findings that are not closed, the newest 200; one that meets no other is an event of its
// own. `leaves`: where nodes do not tell theirs.
Result<std::vector<OpenEvent>> open_events(const store::Store& store, const LeafSource& leaves);

// What changed on nodes of the fabric while it began, the likeliest first: how many of those that
// have it got worse, and how many of the others. A line each, for people.
Result<std::vector<std::string>> scored_causes(const store::Store& store, const OpenEvent& event);

}  // namespace railgauge
