// Explains a finding of nightly runs: when it began, which changes on its nodes came at that time,
// and which changes are excluded. Pure but for facts_of(), which reads the store. Times are unix
// seconds by the controller's clock.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/judge_rows.h"
#include "controller/store/store.h"
#include "controller/verdict/event_study.h"

namespace railgauge {

// One figure of a series, in the unit of the series.
struct LevelPoint {
  // When it was measured; unix seconds.
  double at = 0;
  double value = 0;
};

// One of the nodes that the finding's series have in common, with its stacks over time.
struct NodePast {
  std::string name{};
  std::string node_id{};
  std::vector<store::EpochRow> epochs{};  // newest first
};

// All that an explanation rests on. Absent levels and empty lists mean that the fact is not known;
// the explanation then says less.
struct FindingFacts {
  // The kind of the finding as the database has it: "step", "drift", "variance" and so on.
  std::string kind{};
  std::string run_id{};
  // Figures after this time belong to the finding and do not move its begin.
  double opened_at = 0;
  // The levels of the finding's first series.
  std::optional<double> before{};
  std::optional<double> after{};
  // Where a person put its begin; unix seconds. Absent: nobody has moved it since it was opened. A
  // time at which `points` has no figure counts as absent.
  std::optional<double> moved_to{};
  // The figures of that series, by time.
  std::vector<LevelPoint> points{};
  // The first kMostNodes of them are examined.
  std::vector<NodePast> nodes{};
  // Reports of the agents' watch, and replaced hardware, in any order.
  std::vector<store::EventRow> events{};
};
// The bound of the work for one finding; a finding of the whole fabric names more nodes than a
// person reads.
inline constexpr std::size_t kMostNodes = 16;

// The explanation, as text lines for people and as the figures that a screen draws.
struct FindingCauses {
  // The last figure before it began, and the first figure that shows it.
  std::optional<double> good_at{};
  std::optional<double> since{};
  // The first figure that shows it by the levels alone, where a person moved the begin.
  std::optional<double> since_judged{};
  // It began at a figure of these times or between them, with 90 % (begin_range.h). Absent where no
  // level moved, or of few figures.
  std::optional<double> begin_from{};
  std::optional<double> begin_until{};
  // The last figures before and after, as fractions of the level before: 1 is unchanged.
  std::vector<double> before_levels{};
  std::vector<double> after_levels{};
  // Changes between `good_at` and `since`, in the order of time.
  std::vector<std::string> causes{};
  // The changed parts of the stack among them, each once, in the order of their texts.
  std::vector<store::StackChange> parts{};
  // Causes that the evidence rules out, with that evidence.
  std::vector<std::string> excluded{};
  // Commands that a person runs next.
  std::vector<std::string> next{};
};

// A change of a stack is a suspect where it came after the last good figure and not after the first
// bad one. Several such changes are named as one bundle, because these figures cannot separate
// them. Without figures or nodes the result is empty.
FindingCauses causes_of(const FindingFacts& facts);

// The time of the figure that is `figures` figures after the present begin, or before it. Absent:
// there is none before the finding was opened, or none that was good would be left.
std::optional<double> moved_begin(const FindingFacts& facts, int figures);

// The index at which the values go from the level before to the level after: the first index of the
// new level that leaves fewest values on the wrong side of the geometric middle. `points` is not
// empty.
std::size_t first_of_new_level(std::span<const LevelPoint> points, double before, double after);

// The nodes that all of the series have in common; where there is none, the nodes of all.
std::set<std::string> nodes_in_common(const std::vector<store::SeriesRow>& all);

// Returns the figures of runs that passed, by time.
std::vector<LevelPoint> passed_points(const store::HistoryRow& history);

// Reads the figures of the finding's first series and the stacks of `nodes`. Events are left empty.
// `row` has at least one series. Fails as the store fails.
Result<FindingFacts> facts_of(const store::Store& store, const store::FindingRow& row,
                              const std::set<std::string>& nodes);

// One series of the metric that moved: of a pair of nodes, or of a single node.
struct RolloutSeries {
  std::vector<std::string> nodes{};
  // By time.
  std::vector<LevelPoint> points{};
};

// One change and all figures by which its cost is estimated.
struct RolloutFacts {
  // The change as people read it: "gpu_driver 580.1 -> 580.2".
  std::string what{};
  // When each node got the change; unix seconds. Nodes that are absent do not have it yet.
  std::map<std::string, double> upgraded_at{};
  std::vector<RolloutSeries> series{};
  // The direction and the practical bound of the metric.
  analysis::MetricTraits traits{};
};

// The estimate and its text.
struct RolloutStudy {
  analysis::EventStudy study{};
  // One line for people, with the verdict, the estimate and its 90 % interval.
  std::string text{};
};

// The study of one change; absent where fewer than two nodes have it. A night is a day of UTC. A
// node's figure of a night is the mean over its series, each relative to its own level before any
// of its nodes was upgraded. A pair's figure counts only while the other node is not upgraded, so
// that each node is measured alone.
std::optional<RolloutStudy> study_of(const RolloutFacts& facts);

}  // namespace railgauge
