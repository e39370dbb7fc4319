// Explains a finding of nightly runs: when it began, which changes on its nodes came just then, and
// which changes are excluded. Pure but for facts_of(), which reads the store.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/judge_rows.h"
#include "controller/store/store.h"

namespace railgauge {

struct LevelPoint {
  double at = 0;  // unix seconds; here and below
  double value = 0;
};

// One of the nodes that the finding's series have in common.
struct NodePast {
  std::string name{};
  std::string node_id{};
  std::vector<store::EpochRow> epochs{};  // newest first
};

struct FindingFacts {
  std::string kind{};  // step, drift, variance, ...
  std::string run_id{};
  double opened_at = 0;
  std::optional<double> before{};  // levels of the first series
  std::optional<double> after{};
  std::vector<LevelPoint> points{};       // of that series, by time
  std::vector<NodePast> nodes{};          // at most kMostNodes are looked at
  std::vector<store::EventRow> events{};  // reports of the agents' watch, and replaced hardware
};
inline constexpr std::size_t kMostNodes = 16;

struct FindingCauses {
  std::optional<double> good_at{};      // the last figure before it
  std::optional<double> since{};        // the first figure that shows it
  std::vector<double> before_levels{};  // of the level before: 1 is as it was; the last ones
  std::vector<double> after_levels{};
  std::vector<std::string> causes{};        // what changed between the two, in the order of time
  std::vector<store::StackChange> parts{};  // of stacks among these, each once, by their texts
  std::vector<std::string> excluded{};      // what it was not, with evidence
  std::vector<std::string> next{};          // what to do
};

// A change of a stack is a suspect where it came after the last good figure and not after the first
// bad one. Several such changes are named as one bundle, because these figures cannot separate
// them.
FindingCauses causes_of(const FindingFacts& facts);

// Where the values go from the level before to the one after: the index of the first of the new
// level that leaves fewest on the wrong side of the middle (geometric). `points` not empty.
std::size_t first_of_new_level(std::span<const LevelPoint> points, double before, double after);

// The nodes that all of the series have in common; where there is none, those of all.
std::set<std::string> nodes_in_common(const std::vector<store::SeriesRow>& all);

// Its figures of runs that passed, by time.
std::vector<LevelPoint> passed_points(const store::HistoryRow& history);

// Its first series' figures and its nodes' stacks; without events. `row` has its series.
Result<FindingFacts> facts_of(const store::Store& store, const store::FindingRow& row,
                              const std::set<std::string>& nodes);

}  // namespace railgauge
