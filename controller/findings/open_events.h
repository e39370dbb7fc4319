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

// Groups the newest 200 open findings into events. A finding that meets no other is an event of its
// own. `leaves` gives the leaf of nodes that do not report it.
Result<std::vector<OpenEvent>> open_events(const store::Store& store, const LeafSource& leaves);

// Changes on nodes of the fabric while the event began, the likeliest first. Each line says how
// many nodes with the change got worse and how many of the others.
Result<std::vector<std::string>> scored_causes(const store::Store& store, const OpenEvent& event);

}  // namespace railgauge
