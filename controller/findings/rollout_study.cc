#include "controller/findings/rollout_study.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
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
  const auto found = facts.upgraded_at.find(node);
  return found == facts.upgraded_at.end() ? kNever : found->second;
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
