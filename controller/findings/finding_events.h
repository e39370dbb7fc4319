// Findings that are one event: they began at the same time and meet somewhere. Grouping is pure;
// the open findings and their causes are read on worker threads.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge {

// Where and when a finding began.
struct FindingPlace {
  double from = 0;  // unix seconds; it began between these two
  double until = 0;
  // The places and changes that the finding belongs to: "node n1", "rail 3", "leaf l1", "change
  // gpu_driver 1 -> 2". Marks that the whole fabric has must be left out: they separate nothing.
  std::set<std::string> marks{};
};

// Groups findings into events. Two belong together where their times overlap and they share a mark,
// also through others. Returns for each finding the index of the first one of its event.
std::vector<std::size_t> events_of_findings(std::span<const FindingPlace> findings);

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
