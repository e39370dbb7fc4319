#include "controller/verdict/cohort.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <utility>

#include "controller/stats/distributions.h"
#include "controller/verdict/shift.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {

namespace {

// Returns the mean loss of the node's pairs without `partner`; absent: no such pair.
std::optional<double> loss_elsewhere(std::span<const PairLoss> pairs, const std::string& node,
                                     const std::string& partner) {
  double sum = 0;
  double count = 0;
  for (const PairLoss& pair : pairs) {
    const bool is_its = pair.node == node || pair.other_node == node;
    const bool is_shared = pair.node == partner || pair.other_node == partner;
    if (!is_its || is_shared) continue;
    sum += pair.loss;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace

End blamed_end(std::span<const PairLoss> pairs, std::size_t which) {
  const PairLoss& pair = pairs[which];
  if (!pair.other_changed || pair.other_node.empty() || pair.other_node == pair.node)
    return End::kFirst;
  const auto first = loss_elsewhere(pairs, pair.node, pair.other_node);
  const auto other = loss_elsewhere(pairs, pair.other_node, pair.node);
  // At least half of the pair's loss, in the pairs with other partners.
  const auto lost = [&](const std::optional<double>& elsewhere) {
    return elsewhere && 2 * *elsewhere >= pair.loss;
  };
  const auto is_well = [&](const std::optional<double>& elsewhere) {
    return elsewhere && 2 * *elsewhere < pair.loss;
  };
  if (lost(first) && is_well(other)) return End::kFirst;
  if (lost(other) && is_well(first)) return End::kOther;
  return End::kEither;
}

namespace {

constexpr double kNormalMad = 1.4826;
// Degrees of freedom of the median absolute deviation, relative to a normal deviation's.
constexpr double kMadEfficiency = 0.37;
constexpr double kLeastDegrees = 4;
constexpr std::size_t kLeastControls = 3;

// The median, or 0 where there is no value.
double median_or_zero(std::span<const double> values) {
  return values.empty() ? 0 : median(values);
}

// Shifts of the changed places, or of the controls.
std::vector<double> shifts_of(std::span<const PlaceShift> places, bool changed) {
  std::vector<double> out;
  for (const PlaceShift& place : places)
    if (place.changed == changed) out.push_back(place.shift);
  return out;
}

// The scatter with which a place is compared.
struct PlaceScatter {
  double mad = 0;
  double of_median = 0;  // share of its variance that the controls' median adds
  double degrees = 0;    // 0: the places are too few
  double common = 0;     // median of the controls
  double asked = 1;      // places and metrics together
  [[nodiscard]] double error2(const PlaceShift& place) const {
    return std::max(mad * mad, place.run_error2) + mad * mad * of_median;
  }
};

PlaceScatter scatter_of(std::span<const PlaceShift> places, std::size_t metrics) {
  const std::vector<double> changed = shifts_of(places, true);
  const std::vector<double> controls = shifts_of(places, false);
  const double middle = median_or_zero(changed);
  const double common = median_or_zero(controls);
  const bool controlled = controls.size() >= kLeastControls;
  std::vector<double> away;
  for (const double shift : changed) away.push_back(std::abs(shift - middle));
  if (controlled)
    for (const double shift : controls) away.push_back(std::abs(shift - common));
  const double count = static_cast<double>(away.size()) - (controlled ? 2 : 1);
  PlaceScatter scatter{
      .common = controlled ? common : 0,
      .asked = static_cast<double>(changed.size() * std::max<std::size_t>(1, metrics))};
  if (kMadEfficiency * count < kLeastDegrees) return scatter;
  scatter.degrees = kMadEfficiency * count;
  // Medians of few take a part of their own scatter away.
  scatter.mad =
      kNormalMad * median_or_zero(away) * std::sqrt(static_cast<double>(away.size()) / count);
  if (controlled) scatter.of_median = std::numbers::pi / 2 / static_cast<double>(controls.size());
  return scatter;
}

// A loss so many errors above the least one that is named is missed in 5 of 100 cases.
constexpr double kMissedErrors = 1.645;

}  // namespace

std::vector<std::size_t> far_losses(std::span<const PlaceShift> places, double delta,
                                    std::size_t metrics) {
  const PlaceScatter scatter = scatter_of(places, metrics);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; scatter.degrees > 0 && i < places.size(); ++i) {
    if (!places[i].changed) continue;
    const double loss = places[i].shift - scatter.common;
    const double error2 = scatter.error2(places[i]);
    if (!(loss > delta)) continue;
    const auto tail = [&](double above) {
      return error2 <= 0 ? 0 : student_upper_tail(above / std::sqrt(error2), scatter.degrees);
    };
    if (tail(loss) * scatter.asked < kFarProof && tail(loss - delta) < kFarBound) out.push_back(i);
  }
  return out;
}

std::vector<double> far_sight(std::span<const PlaceShift> places, double delta,
                              std::size_t metrics) {
  const PlaceScatter scatter = scatter_of(places, metrics);
  std::vector<double> out(places.size(), std::numeric_limits<double>::infinity());
  if (scatter.degrees == 0) return out;
  const double proof = -student_quantile(kFarProof / scatter.asked, scatter.degrees);
  const double bound = -student_quantile(kFarBound, scatter.degrees);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i].changed) continue;
    const double error = std::sqrt(scatter.error2(places[i]));
    out[i] = std::max(proof * error, delta + bound * error) + kMissedErrors * error;
  }
  return out;
}

std::size_t measured(const std::vector<double>& runs) {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [](double v) { return std::isfinite(v) && v > 0; }));
}

namespace {

// "node/endpoint" or "node/endpoint with node/endpoint", for messages.
std::string place_of(const PairRuns& pair) {
  std::string text = pair.node + "/" + pair.endpoint;
  if (!pair.other_node.empty()) text += " with " + pair.other_node + "/" + pair.other_endpoint;
  return text;
}

// The combined loss of one node's pairs.
struct NodeShift {
  bool changed = false;
  double sum = 0;
  // Sum of the variances of a run's logarithm.
  double variances = 0;
  // Sum of the squared errors of the pairs' shifts, from their runs alone.
  double run_errors2 = 0;
  double pairs = 0;
  // By node: the number of these pairs that it is an end of.
  std::map<std::string, double> ends{};
};

// A pair that is flagged, before it is known which end it is.
struct FlaggedPair {
  const PairRuns* pair = nullptr;
  // Index among the losses.
  std::size_t number = 0;
  Shift shift{};
};

// Names the end that is behind the loss, or both where the other pairs do not decide.
void add_flag(const MetricRuns& metric, const FlaggedPair& flagged, End end, MetricVerdict& out) {
  const PairRuns& pair = *flagged.pair;
  PairFlag& flag = out.flags.emplace_back();
  flag.node = end == End::kOther ? pair.other_node : pair.node;
  flag.endpoint = end == End::kOther ? pair.other_endpoint : pair.endpoint;
  if (end == End::kEither) {
    flag.other_node = pair.other_node;
    flag.other_endpoint = pair.other_endpoint;
  }
  flag.worse = worse_fraction(metric.traits.better, flagged.shift.log_worsening);
  flag.low = worse_fraction(metric.traits.better, flagged.shift.low);
  flag.high = worse_fraction(metric.traits.better, flagged.shift.high);
}

// One number for each node, and which others' drift is in it.
void add_nodes(const std::map<std::string, NodeShift>& nodes, Cohort& cohort) {
  std::map<std::string, std::size_t> numbers;
  for (const auto& [name, node] : nodes)
    for (const auto& [end, pairs] : node.ends) numbers.try_emplace(end, numbers.size());
  double variances = 0;
  for (const auto& [name, node] : nodes) {
    Group& group = node.changed ? cohort.changed : cohort.controls;
    group.shifts.push_back(node.sum / node.pairs);
    const double run_error2 = node.run_errors2 / node.pairs / node.pairs;
    // A sum here; the loop below makes it a mean.
    group.run_error2 += run_error2;
    cohort.nodes.shifts.push_back({node.changed, group.shifts.back(), run_error2});
    cohort.nodes.names.push_back(name);
    auto& ends = group.ends.emplace_back();
    for (const auto& [end, pairs] : node.ends)
      ends.emplace_back(numbers.at(end), pairs / node.pairs);
    variances += node.variances / node.pairs / node.pairs;
  }
  for (Group* group : {&cohort.changed, &cohort.controls})
    if (!group->shifts.empty()) group->run_error2 /= static_cast<double>(group->shifts.size());
  cohort.run_variance = nodes.empty() ? 0 : variances / static_cast<double>(nodes.size());
}

// Adds one measured pair to its node and to the cohort.
void add_pair(const PairRuns& pair, const Shift& shift, Cohort& cohort, NodeShift& node) {
  node.changed = pair.changed;
  node.sum += shift.log_worsening;
  node.variances += shift.run_variance;
  node.run_errors2 += shift.run_error2;
  node.pairs += 1;
  node.ends[pair.node] += 1;
  if (!pair.other_node.empty() && pair.other_node != pair.node) node.ends[pair.other_node] += 1;
  if (pair.changed) cohort.run_degrees += static_cast<double>(shift.run_degrees);
  cohort.pairs.shifts.push_back({pair.changed, shift.log_worsening, shift.run_error2});
  cohort.pairs.names.push_back(place_of(pair));
  cohort.losses.push_back({.node = pair.node,
                           .other_node = pair.other_node,
                           .other_changed = pair.other_changed,
                           .loss = shift.log_worsening});
  cohort.before = std::min(cohort.before, measured(pair.before));
  cohort.after = std::min(cohort.after, measured(pair.after));
}

// Reports whether the pair has as many runs as it needs on each side.
bool has_enough(const PairRuns& pair, const UpgradeRuns& upgrade) {
  const std::size_t least = std::max<std::size_t>(1, upgrade.min_runs);
  const std::size_t least_before = upgrade.min_before > 0 ? upgrade.min_before : least;
  return measured(pair.before) >= (pair.min_before > 0 ? pair.min_before : least_before) &&
         measured(pair.after) >= (pair.min_after > 0 ? pair.min_after : least);
}

}  // namespace

// Blame is assigned after all pairs are read: it depends on the other pairs of both ends.
Cohort gather(const MetricRuns& metric, const UpgradeRuns& upgrade, MetricVerdict& out) {
  const double delta = log_worsening(metric.traits.better, metric.traits.delta);
  Cohort cohort;
  std::map<std::string, NodeShift> nodes;
  std::vector<FlaggedPair> flagged;
  for (const PairRuns& pair : metric.pairs) {
    // A figure that is not positive is no measurement: missing, never a pass.
    const auto shift = has_enough(pair, upgrade)
                           ? shift_of(pair.before, pair.after, metric.traits.better,
                                      metric.by_mean ? Centre::kMean : Centre::kMedian)
                           : Result<Shift>(fail(Code::kFailedPrecondition, ""));
    if (pair.changed) ++cohort.to_measure;
    if (pair.changed && !shift) out.missing.push_back(place_of(pair));
    if (!shift) continue;
    add_pair(pair, *shift, cohort, nodes[pair.node]);
    if (pair.changed && shift->low > delta)
      flagged.push_back({.pair = &pair, .number = cohort.losses.size() - 1, .shift = *shift});
  }
  for (const FlaggedPair& one : flagged)
    add_flag(metric, one, blamed_end(cohort.losses, one.number), out);
  add_nodes(nodes, cohort);
  return cohort;
}

namespace {

// Returns the node to name for the loss of `node`: its only partner, if the other end is to blame
// in all pairs that count for the node; else the node itself.
std::string node_behind(const Cohort& cohort, const std::string& node) {
  std::string blamed;
  for (std::size_t i = 0; i < cohort.losses.size(); ++i) {
    const PairLoss& pair = cohort.losses[i];
    if (pair.node != node) continue;
    if (blamed_end(cohort.losses, i) != End::kOther) return node;
    if (!blamed.empty() && blamed != pair.other_node) return node;
    blamed = pair.other_node;
  }
  return blamed.empty() ? node : blamed;
}

}  // namespace

// Pairs first, then nodes; a place is named once. Twice the metrics, since both lists are asked.
void find_far_losses(const MetricRuns& metric, const Cohort& cohort, std::size_t metrics,
                     MetricVerdict& out) {
  const double delta = log_worsening(metric.traits.better, metric.traits.delta);
  const std::vector<double> sight = far_sight(cohort.pairs.shifts, delta, 2 * metrics);
  for (std::size_t i = 0; i < sight.size(); ++i)
    if (cohort.pairs.shifts[i].changed)
      out.sight.push_back({.name = cohort.pairs.names[i],
                           .loss = std::isfinite(sight[i]) ? std::optional(worse_fraction(
                                                                 metric.traits.better, sight[i]))
                                                           : std::nullopt});
  for (const std::string& missing : out.missing) out.sight.push_back({.name = missing});
  for (const NamedShifts* places : {&cohort.pairs, &cohort.nodes})
    for (const std::size_t i : far_losses(places->shifts, delta, 2 * metrics)) {
      const double worse = worse_fraction(metric.traits.better, places->shifts[i].shift);
      out.far_worse = std::max(out.far_worse, worse);
      const std::string name =
          places == &cohort.nodes ? node_behind(cohort, places->names[i]) : places->names[i];
      if (std::ranges::find(out.far, name) == out.far.end()) out.far.push_back(name);
    }
}

}  // namespace railgauge::analysis
