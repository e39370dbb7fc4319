// Groups findings into events: findings of one event began at the same time and share a place or a
// change. The grouping is pure; the functions that take a store run on worker threads.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "controller/findings/changes/run_places.h"
#include "controller/findings/finding_sketch.h"
#include "controller/store/store.h"
#include "controller/verdict/causes.h"

namespace railgauge {

// The place and the begin of a finding.
struct FindingPlace {
  // It began between these two times; unix seconds.
  double from = 0;
  double until = 0;
  // The places and changes that the finding belongs to: "node n1", "rail 3", "leaf l1", "change
  // gpu_driver 1 -> 2". Marks that the whole fabric has must be left out: they separate nothing.
  std::set<std::string> marks{};
};

// Groups findings into events. Two belong together where their times overlap and they share a mark;
// membership is transitive. Returns for each finding the index of the first finding of its event.
std::vector<std::size_t> events_of_findings(std::span<const FindingPlace> findings);

// An event of open findings.
struct OpenEvent {
  // In the order in which they were opened; never empty.
  std::vector<store::FindingRow> findings{};
  // One of each finding.
  std::vector<FindingSketch> sketches{};
  // It began between these two times; unix seconds.
  double from = 0;
  double until = 0;
  // The nodes that its findings name.
  std::set<std::string> nodes{};
  // Marks that all its series share and the whole fabric does not: "leaf l1".
  std::set<std::string> common{};
};

// Groups the newest 200 open findings into events. A finding that meets no other is an event of its
// own. The places are read only where there is an open finding.
Result<std::vector<OpenEvent>> open_events(const store::Store& store, KeptRunPlaces& places);

// Changes on nodes of the fabric while the event began, the most likely first: how many nodes with
// them got worse, and how many of the others. At most kMostDifferences; those that no worse node
// has are left out.
inline constexpr std::size_t kMostDifferences = 10;
Result<std::vector<analysis::Cause>> scored_causes(const store::Store& store,
                                                   const OpenEvent& event);

// The same as a line for people.
std::string cause_text(const analysis::Cause& cause);

}  // namespace railgauge
