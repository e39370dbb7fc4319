#include "controller/findings/finding_causes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/findings/begin_range.h"
#include "controller/findings/changes/run_changes.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/rows/stack_parts.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {

namespace {

// Figures that a screen draws to each side of the begin.
constexpr std::size_t kLevelsShown = 30;
// Changes of one stack that a line names; the rest is a number.
constexpr std::size_t kChangesOfLine = 8;
// Events that are listed one by one.
constexpr std::size_t kMostLines = 8;
// Changes up to this long after the begin are listed as excluded; seconds. Later changes are of no
// interest.
constexpr double kAfterwards = 14.0 * 86'400.0;

// Figures of one series are farther apart than this.
constexpr double kSameSeconds = 0.5;

// A change of one node's stack with the text that a person reads.
struct Change {
  double at = 0;
  std::string what{};
  std::vector<store::StackChange> parts{};
};

// Reports whether the finding is a move from one known level to another; other kinds begin at no
// single figure.
bool moves_a_level(const FindingFacts& facts) {
  const std::optional<MovedKind> kind = moved_kind_of(facts.kind);
  return kind && is_of_level(*kind) && facts.before.value_or(0) > 0 && facts.after.value_or(0) > 0;
}

// The figures until it was opened: later ones may belong to a later change.
std::vector<LevelPoint> known_points(const FindingFacts& facts) {
  std::vector<LevelPoint> known = facts.points;
  std::erase_if(known, [&](const LevelPoint& point) { return point.at > facts.opened_at; });
  return known;
}

// The index of the first figure that shows it, by the levels alone. A spread or a mix of modes is
// placed at the first of the fresh runs.
std::size_t judged_first(const FindingFacts& facts, std::span<const LevelPoint> known) {
  if (moves_a_level(facts)) return first_of_new_level(known, *facts.before, *facts.after);
  return known.size() - std::min(known.size(), kFreshRuns);
}

// The same, where a person moved it there and that figure is still stored. The time of a step has
// milliseconds.
std::size_t first_of(const FindingFacts& facts, std::span<const LevelPoint> known) {
  if (!facts.moved_to) return judged_first(facts, known);
  const auto moved = std::ranges::find_if(known, [&](const LevelPoint& point) {
    return std::abs(point.at - *facts.moved_to) < kSameSeconds;
  });
  if (moved == known.end()) return judged_first(facts, known);
  return static_cast<std::size_t>(moved - known.begin());
}

// The range is of the step alone: figures far from it may hold another one.
void place_range(std::span<const LevelPoint> known, std::size_t judged, FindingCauses& out) {
  const std::size_t begin = judged - std::min(judged, kLevelsShown);
  const std::size_t end = std::min(judged + kLevelsShown, known.size());
  std::vector<double> values;
  for (const LevelPoint& point : known.subspan(begin, end - begin)) values.push_back(point.value);
  const auto range = begin_range(values);
  if (!range) return;
  out.begin_from = known[begin + range->first].at;
  out.begin_until = known[begin + range->last].at;
}

// Finds when it began and collects the figures around that time.
void place(const FindingFacts& facts, FindingCauses& out) {
  const std::vector<LevelPoint> known = known_points(facts);
  if (known.empty()) return;
  const std::size_t first = first_of(facts, known);
  if (const std::size_t judged = judged_first(facts, known);
      judged != first && judged < known.size())
    out.since_judged = known[judged].at;
  if (first > 0) out.good_at = known[first - 1].at;
  if (first < known.size()) out.since = known[first].at;
  if (!moves_a_level(facts)) return;
  place_range(known, judged_first(facts, known), out);
  const auto levels = [&](std::size_t begin, std::size_t end, std::vector<double>& side) {
    for (std::size_t i = begin; i < end; ++i) side.push_back(facts.points[i].value / *facts.before);
  };
  levels(first - std::min(first, kLevelsShown), first, out.before_levels);
  levels(std::max(first, facts.points.size() - std::min(facts.points.size(), kLevelsShown)),
         facts.points.size(), out.after_levels);
}

// The changes between consecutive epochs of the node, the newest first.
std::vector<Change> stack_changes_of(const NodePast& node) {
  std::vector<Change> changes;
  for (std::size_t i = 0; i + 1 < node.epochs.size(); ++i) {
    auto parts = store::stack_changes(node.epochs[i + 1].parts, node.epochs[i].parts);
    if (parts.empty()) continue;
    changes.push_back(
        {node.epochs[i].valid_from,
         fmt::format("{}",
                     fmt::join(store::told_changes(store::texts_of(parts), kChangesOfLine), ", ")),
         parts});
  }
  return changes;
}

// Reports whether the time is after the last good figure and not after the first bad one.
bool is_between(double at, const FindingCauses& found) {
  return found.since && at <= *found.since && (!found.good_at || at > *found.good_at);
}

// Joins equal changes of several nodes to one line, at the first of their times.
std::vector<std::string> bundled(const std::vector<std::pair<std::string, Change>>& all) {
  std::map<std::string, std::pair<double, std::set<std::string>>> by_text;
  for (const auto& [node, change] : all) {
    auto& [at, nodes] =
        by_text.try_emplace(change.what, change.at, std::set<std::string>()).first->second;
    at = std::min(at, change.at);
    nodes.insert(node);
  }
  std::vector<std::pair<double, std::string>> lines;
  lines.reserve(by_text.size());
  for (const auto& [what, place] : by_text)
    lines.push_back({place.first, fmt::format("{}: {} ({})", fmt::join(place.second, ", "), what,
                                              rfc3339(place.first))});
  std::ranges::sort(lines);
  std::vector<std::string> texts;
  texts.reserve(lines.size());
  for (auto& [at, text] : lines) texts.push_back(std::move(text));
  return texts;
}

// The examined nodes, with "..." where there are more.
std::string names_of(const FindingFacts& facts) {
  std::vector<std::string> names;
  for (const NodePast& node : facts.nodes) names.push_back(node.name);
  const std::size_t count = names.size();
  names.resize(std::min(count, kMostNodes));
  return fmt::format("{}{}", fmt::join(names, ", "), count > kMostNodes ? ", ..." : "");
}

// The time in which it began, as a person reads it.
std::string window_of(const FindingCauses& found) {
  return found.good_at
             ? fmt::format("between {} and {}", rfc3339(*found.good_at), rfc3339(*found.since))
             : fmt::format("before {}", rfc3339(*found.since));
}

// Sorts the stack changes of the nodes into suspects and into changes that came too late, and adds
// a line that nothing changed where that is so.
void look_at_stacks(const FindingFacts& facts, FindingCauses& out) {
  std::vector<std::pair<std::string, Change>> suspects;
  std::vector<std::pair<std::string, Change>> later;
  for (const NodePast& node :
       std::span(facts.nodes).first(std::min(facts.nodes.size(), kMostNodes)))
    for (Change& change : stack_changes_of(node)) {
      if (is_between(change.at, out))
        suspects.emplace_back(node.name, std::move(change));
      else if (change.at > *out.since && change.at < *out.since + kAfterwards)
        later.emplace_back(node.name, std::move(change));
    }
  out.causes = bundled(suspects);
  std::map<std::string, store::StackChange> parts;  // by text
  for (const auto& [node, change] : suspects)
    for (const store::StackChange& part : change.parts) parts.emplace(store::text_of(part), part);
  for (const auto& [text, part] : parts) out.parts.push_back(part);
  if (out.causes.size() > 1)
    out.causes.push_back(
        "no figure is between these, so they cannot be separated: a node with "
        "one of them alone would separate them");
  if (out.causes.empty())
    out.excluded.push_back(fmt::format("software: no part of the stack of {} changed {}",
                                       names_of(facts), window_of(out)));
  for (const std::string& line : bundled(later)) out.excluded.push_back(line + ": after it began");
}

// Adds events that the agents saw on links, GPUs and PCIe in the same time.
void look_at_events(const FindingFacts& facts, FindingCauses& out) {
  std::vector<const store::EventRow*> seen;
  for (const store::EventRow& event : facts.events)
    if (is_between(event.at, out)) seen.push_back(&event);
  std::ranges::sort(seen, {}, &store::EventRow::at);
  for (const store::EventRow* event : std::span(seen).first(std::min(seen.size(), kMostLines)))
    out.causes.push_back(fmt::format("{} ({})", event->text, rfc3339(event->at)));
  if (seen.size() > kMostLines)
    out.causes.push_back(fmt::format("{} more events", seen.size() - kMostLines));
  if (seen.empty())
    out.excluded.push_back(fmt::format(
        "no event of links, XIDs or PCIe and no replaced hardware was reported by {} {}",
        names_of(facts), window_of(out)));
}

}  // namespace

// Counts for every split how many values are on the wrong side and moves the split by one value at
// a time, so that the search is linear.
std::size_t first_of_new_level(std::span<const LevelPoint> points, double before, double after) {
  const double middle = std::sqrt(before * after);
  const auto is_new = [&](const LevelPoint& point) {
    return after > before ? point.value > middle : point.value < middle;
  };
  // Those behind the split that are old, and those in front of it that are new.
  auto wrong = static_cast<std::size_t>(
      std::ranges::count_if(points, [&](const LevelPoint& point) { return !is_new(point); }));
  std::size_t best = 0;
  std::size_t fewest = wrong;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (is_new(points[i]))
      ++wrong;
    else
      --wrong;
    if (wrong < fewest) std::tie(best, fewest) = std::pair(i + 1, wrong);
  }
  return best;
}

std::optional<double> moved_begin(const FindingFacts& facts, int figures) {
  const std::vector<LevelPoint> known = known_points(facts);
  const auto to = static_cast<std::ptrdiff_t>(first_of(facts, known)) + figures;
  if (to < 1 || to >= std::ssize(known)) return std::nullopt;
  return known[static_cast<std::size_t>(to)].at;
}

FindingCauses causes_of(const FindingFacts& facts) {
  FindingCauses out;
  place(facts, out);
  if (!out.since || facts.nodes.empty()) return out;
  look_at_stacks(facts, out);
  const bool is_software = !out.causes.empty();
  look_at_events(facts, out);
  const std::string& node = facts.nodes.front().name;
  if (is_software)
    out.next.push_back(fmt::format(
        "railgauge nodes diff {} NODE, with one that is well: what else differs", node));
  out.next.push_back(fmt::format("railgauge preflight {}", node));
  if (!facts.run_id.empty())
    out.next.push_back(
        fmt::format("railgauge runs suspects {}: what the run's pairs say", facts.run_id));
  return out;
}

// --- facts from the store ---

namespace {

// Newest points of the series that are read.
constexpr std::uint32_t kPointsLookedAt = 400;
// Stacks of a node that are read, the newest first.
constexpr std::uint32_t kEpochsLookedAt = 100;

}  // namespace

// Intersects the node sets of the series in turn. `any` keeps the union for series that share no
// node.
std::set<std::string> nodes_in_common(const std::vector<store::SeriesRow>& all) {
  std::set<std::string> common;
  std::set<std::string> any;
  for (const store::SeriesRow& series : all) {
    const std::set<std::string> nodes = nodes_of(series);
    if (any.empty()) common = nodes;
    any.insert(nodes.begin(), nodes.end());
    std::set<std::string> both;
    std::ranges::set_intersection(common, nodes, std::inserter(both, both.end()));
    common = std::move(both);
  }
  return common.empty() ? any : common;
}

std::vector<LevelPoint> passed_points(const store::HistoryRow& history) {
  std::vector<LevelPoint> points;
  for (const store::HistoryPointRow& point : history.points)
    if (point.outcome == kPassed && point.headline > 0)
      points.push_back({point.measured_at, point.headline});
  return points;
}

namespace {

// Where the newest nudge put the begin. The text of such a step is a time and nothing else.
std::optional<double> moved_to(const store::FindingRow& row) {
  std::optional<double> at;
  for (const store::FindingStepRow& step : row.steps)
    if (step.action == "nudge") at = parse_calendar(step.text);
  return at;
}

}  // namespace

Result<FindingFacts> facts_of(const store::Store& store, const store::FindingRow& row,
                              const std::set<std::string>& nodes) {
  FindingFacts facts{.kind = row.kind, .run_id = row.run_id, .opened_at = row.opened_at};
  facts.before = row.series.front().before;
  facts.after = row.series.front().after;
  facts.moved_to = moved_to(row);
  const store::HistoryRow history =
      RG_TRY(store.history(row.series.front().series, std::nullopt, kPointsLookedAt));
  facts.points = passed_points(history);
  if (nodes.empty()) return facts;
  for (const store::KnownNodeRow& node : RG_TRY(store.read(store::read_known_nodes))) {
    if (!nodes.contains(node.name) || facts.nodes.size() == kMostNodes) continue;
    facts.nodes.push_back(
        {.name = node.name,
         .node_id = node.node_id,
         .epochs = RG_TRY(store.read(store::read_epochs, node.node_id, kEpochsLookedAt))});
  }
  return facts;
}

namespace {

// Seconds of a night, which is a day of UTC.
constexpr double kNight = 86'400;
constexpr double kPercentOfLevel = 100;
// The time of an upgrade that has not come yet.
constexpr double kNever = std::numeric_limits<double>::infinity();

// Sums and counts of a node's figures by night. The figures are logarithms against the level
// before, so that the mean is geometric.
struct NodeNights {
  std::map<long, std::pair<double, int>> by_night{};
  std::optional<long> first_upgraded{};
};

// When the node got the change; kNever where it does not have it.
double upgraded_at(const RolloutFacts& facts, const std::string& node) {
  return value_of(facts.upgraded_at, node, kNever);
}

// The median of the figures before any node of the series was upgraded. Absent: too few nights.
std::optional<double> level_before(const RolloutFacts& facts, const RolloutSeries& series) {
  double first = kNever;
  for (const std::string& node : series.nodes) first = std::min(first, upgraded_at(facts, node));
  std::vector<double> before;
  for (const LevelPoint& point : series.points)
    if (point.at < first && point.value > 0) before.push_back(point.value);
  if (before.size() < analysis::kLeastStudyNights) return std::nullopt;
  return median(before);
}

// Adds the figures of a series to each of its nodes, up to the time at which the other node got the
// change.
void add_series(const RolloutFacts& facts, const RolloutSeries& series,
                std::map<std::string, NodeNights>& nodes) {
  const auto level = level_before(facts, series);
  if (!level) return;
  for (const std::string& node : std::set(series.nodes.begin(), series.nodes.end())) {
    const double own = upgraded_at(facts, node);
    double others = kNever;
    for (const std::string& other : series.nodes)
      if (other != node) others = std::min(others, upgraded_at(facts, other));
    NodeNights& nights = nodes[node];
    for (const LevelPoint& point : series.points) {
      if (!(point.value > 0) || point.at >= others) continue;
      const long night = std::lround(std::floor(point.at / kNight));
      if (point.at >= own)
        nights.first_upgraded = std::min(night, nights.first_upgraded.value_or(night));
      auto& [sum, count] = nights.by_night[night];
      sum += std::log(point.value / *level);
      ++count;
    }
  }
}

// Removes a node's night in which the upgrade came between two figures: it belongs to neither side.
void leave_out_mixed_nights(const RolloutFacts& facts, std::map<std::string, NodeNights>& nodes) {
  for (const RolloutSeries& series : facts.series)
    for (const std::string& node : series.nodes) {
      NodeNights& nights = nodes[node];
      if (!nights.first_upgraded) continue;
      for (const LevelPoint& point : series.points)
        if (point.at < upgraded_at(facts, node) &&
            std::lround(std::floor(point.at / kNight)) == *nights.first_upgraded)
          nights.by_night.erase(*nights.first_upgraded);
    }
}

// Numbers the nights from the first one that any node has. A night without a figure is NaN.
std::vector<analysis::RolloutNode> as_nodes(const std::map<std::string, NodeNights>& nodes) {
  long first = std::numeric_limits<long>::max();
  long last = std::numeric_limits<long>::min();
  for (const auto& [name, nights] : nodes)
    if (!nights.by_night.empty()) {
      first = std::min(first, nights.by_night.begin()->first);
      last = std::max(last, nights.by_night.rbegin()->first);
    }
  std::vector<analysis::RolloutNode> out;
  if (first > last) return out;
  for (const auto& [name, nights] : nodes) {
    analysis::RolloutNode node{.name = name};
    if (nights.first_upgraded)
      node.upgraded_at = static_cast<std::size_t>(std::max(0L, *nights.first_upgraded - first));
    node.nights.resize(static_cast<std::size_t>(last - first + 1),
                       std::numeric_limits<double>::quiet_NaN());
    for (const auto& [night, sum] : nights.by_night)
      node.nights[static_cast<std::size_t>(night - first)] = std::exp(sum.first / sum.second);
    out.push_back(std::move(node));
  }
  return out;
}

// The line for people: the change, its extent, and the verdict with its interval.
std::string text_of(const RolloutFacts& facts, const analysis::EventStudy& study) {
  double first = kNever;
  for (const auto& [node, at] : facts.upgraded_at) first = std::min(first, at);
  const std::string what = fmt::format("rollout of {} to {} nodes since {}", facts.what,
                                       facts.upgraded_at.size(), rfc3339(first));
  const auto bounds = [&] {
    return fmt::format(
        "{:.1f} % worse than nodes that did not have it yet (90 %: {:.1f} to {:.1f} %, "
        "{} nodes)",
        kPercentOfLevel * study.worse, kPercentOfLevel * *study.low, kPercentOfLevel * *study.high,
        study.upgraded);
  };
  switch (study.verdict) {
    case analysis::StudyVerdict::kRegressed:
      return fmt::format("{}: {}", what, bounds());
    case analysis::StudyVerdict::kNoRegression:
      return fmt::format("{}: no cause: {}, below the bound of {:.0f} %", what, bounds(),
                         kPercentOfLevel * facts.traits.delta);
    case analysis::StudyVerdict::kConfounded:
    case analysis::StudyVerdict::kInconclusive:
      break;
  }
  return fmt::format("{}: no statement: {}", what, study.reason);
}

}  // namespace

// One node alone cannot be separated from a coincidence.
std::optional<RolloutStudy> study_of(const RolloutFacts& facts) {
  if (facts.upgraded_at.size() < 2) return std::nullopt;
  std::map<std::string, NodeNights> nights;
  for (const RolloutSeries& series : facts.series) add_series(facts, series, nights);
  leave_out_mixed_nights(facts, nights);
  RolloutStudy out;
  out.study = analysis::study_rollout(as_nodes(nights), facts.traits.better, facts.traits.delta);
  out.text = text_of(facts, out.study);
  return out;
}

}  // namespace railgauge
