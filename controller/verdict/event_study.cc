#include "controller/verdict/event_study.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "controller/stats/distributions.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kWindow = kStudyNights;
// Two-sided p below which nodes moved before their upgrade.
constexpr double kTrendProof = 0.05;
constexpr double kOneSidedStudy = 0.05;

// Mean and its variance. The variance is 0 for a single value.
struct Spread {
  double mean = 0;
  // Variance of the mean.
  double error2 = 0;
};

// `values` is not empty.
Spread spread_of(const std::vector<double>& values) {
  Spread out;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) out.mean += v / n;
  for (const double v : values) out.error2 += (v - out.mean) * (v - out.mean);
  out.error2 = values.size() < 2 ? 0 : out.error2 / (n - 1) / n;
  return out;
}

// Mean of the logarithms that are there, oriented so that more is worse; absent: fewer than
// `least`.
std::optional<double> mean_log(const RolloutNode& node, Better better, std::size_t from,
                               std::size_t until, std::size_t least) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t t = from; t < std::min(until, node.nights.size()); ++t) {
    if (!std::isfinite(node.nights[t]) || !(node.nights[t] > 0)) continue;
    sum += oriented(better, std::log(node.nights[t]));
    ++count;
  }
  if (count < least) return std::nullopt;
  return sum / static_cast<double>(count);
}

// Returns the node's change from the nights [base, upgrade) to the nights [from, until), less the
// mean change of the nodes not upgraded until then. Absent: the node was not measured, or fewer
// than two other nodes are left.
struct Difference {
  double shift = 0;
  double control_error2 = 0;
};
std::optional<Difference> difference(std::span<const RolloutNode> nodes, const RolloutNode& node,
                                     Better better, std::size_t base, std::size_t from,
                                     std::size_t until) {
  const auto shift_of = [&](const RolloutNode& one) -> std::optional<double> {
    const auto before = mean_log(one, better, base, *node.upgraded_at, kLeastStudyNights);
    const auto after = mean_log(one, better, from, until, 1);
    if (!before || !after) return std::nullopt;
    return *after - *before;
  };
  const auto own = shift_of(node);
  if (!own) return std::nullopt;
  std::vector<double> controls;
  for (const RolloutNode& other : nodes) {
    if (&other == &node || (other.upgraded_at && *other.upgraded_at < until)) continue;
    if (const auto shift = shift_of(other)) controls.push_back(*shift);
  }
  if (controls.size() < 2) return std::nullopt;
  const Spread spread = spread_of(controls);
  return Difference{.shift = *own - spread.mean, .control_error2 = spread.error2};
}

// Sums over the upgraded nodes.
struct Study {
  std::map<int, std::vector<double>> by_night;
  // By node: the mean of its nights since the upgrade.
  std::vector<double> since;
  // By node: its slope per night before the upgrade.
  std::vector<double> slopes;
  // Mean over nodes: they share their controls.
  double control_error2 = 0;
};

// Least-squares slope of y over x; 0 where all x are the same.
double slope_of(const std::vector<std::pair<double, double>>& points) {
  double x_mean = 0;
  double y_mean = 0;
  const auto n = static_cast<double>(points.size());
  for (const auto& [x, y] : points) {
    x_mean += x / n;
    y_mean += y / n;
  }
  double xy = 0;
  double xx = 0;
  for (const auto& [x, y] : points) {
    xy += (x - x_mean) * (y - y_mean);
    xx += (x - x_mean) * (x - x_mean);
  }
  return xx > 0 ? xy / xx : 0;
}

// Adds one upgraded node: its difference for each night of the window, and its slope before the
// upgrade.
void add_node(std::span<const RolloutNode> nodes, const RolloutNode& node, Better better,
              Study& study) {
  const std::size_t upgrade = *node.upgraded_at;
  const std::size_t base = upgrade > kWindow ? upgrade - kWindow : 0;
  std::vector<std::pair<double, double>> earlier;
  std::vector<double> since;
  double error2 = 0;
  for (std::size_t t = base; t <= upgrade + kWindow && t < node.nights.size(); ++t) {
    const auto found = difference(nodes, node, better, base, t, t + 1);
    if (!found) continue;
    const int night = static_cast<int>(t) - static_cast<int>(upgrade);
    study.by_night[night].push_back(found->shift);
    if (night < 0) {
      earlier.emplace_back(night, found->shift);
    } else {
      since.push_back(found->shift);
      error2 += found->control_error2;
    }
  }
  if (since.empty()) return;
  study.since.push_back(spread_of(since).mean);
  study.control_error2 += error2 / static_cast<double>(since.size());
  if (earlier.size() >= kLeastStudyNights) study.slopes.push_back(slope_of(earlier));
}

// Reports whether upgraded nodes moved significantly before their upgrade, by at least half of the
// bound within kStudyNights.
bool has_trend(const std::vector<double>& slopes, double delta) {
  if (slopes.size() < 2) return false;
  const Spread spread = spread_of(slopes);
  if (std::abs(spread.mean) * kStudyNights < delta / 2) return false;
  if (!(spread.error2 > 0)) return true;
  const double t = std::abs(spread.mean) / std::sqrt(spread.error2);
  return 2 * student_upper_tail(t, static_cast<double>(slopes.size()) - 1) < kTrendProof;
}

}  // namespace

EventStudy study_rollout(std::span<const RolloutNode> nodes, Better better, double delta) {
  EventStudy out;
  Study study;
  for (const RolloutNode& node : nodes)
    if (node.upgraded_at) add_node(nodes, node, better, study);
  for (const auto& [night, shifts] : study.by_night)
    out.nights.push_back({.night = night,
                          .worse = worse_fraction(better, spread_of(shifts).mean),
                          .nodes = shifts.size()});
  out.upgraded = study.since.size();
  if (out.upgraded < 2) {
    out.reason =
        "fewer than two upgraded nodes have nights before and after, and two nodes beside "
        "them that were not upgraded yet";
    return out;
  }
  const Spread spread = spread_of(study.since);
  const auto n = static_cast<double>(out.upgraded);
  const double error = std::sqrt(spread.error2 + study.control_error2 / n);
  const double reach = error * student_quantile(1 - kOneSidedStudy, n - 1);
  out.worse = worse_fraction(better, spread.mean);
  out.low = worse_fraction(better, spread.mean - reach);
  out.high = worse_fraction(better, spread.mean + reach);
  const double bound = log_worsening(better, delta);
  if (has_trend(study.slopes, bound)) {
    out.verdict = StudyVerdict::kConfounded;
    out.reason = "upgraded nodes moved against the others before their upgrade already";
  } else if (spread.mean + reach < bound) {
    out.verdict = StudyVerdict::kNoRegression;
  } else if (spread.mean - reach > 0) {
    out.verdict = StudyVerdict::kRegressed;
  } else {
    out.reason = "the nights since do not bound it yet";
  }
  return out;
}

}  // namespace railgauge::analysis
