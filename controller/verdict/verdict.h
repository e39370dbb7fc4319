// Verdict on an upgrade: pass, regressed, inconclusive or invalid, with the figures behind it.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/stats/metric_traits.h"
#include "controller/stats/mode_weights.h"
#include "controller/verdict/equivalence.h"

namespace railgauge::analysis {

// The outcome of an endpoint that is gone.
inline constexpr std::string_view kGone = "gone";

// One task or check at one place, on both sides of an upgrade. Outcomes and states are DESIGN's
// words; "" is not measured, kGone is an endpoint that is gone. Paths are the kernels' facts "path"
// and "transport".
struct FunctionSides {
  std::string node{};
  std::string endpoint{};
  // Kernel or check.
  std::string name{};
  std::string outcome_before{};
  std::string outcome_after{};
  std::string path_before{};
  std::string path_after{};
  // False for a check and for the presence of an endpoint.
  bool is_task = true;
  // True for a task that did not pass after and did not always pass before: it proves nothing.
  bool never_passed = false;
};

// Corruption outranks every other loss.
enum class LossKind { kLostFunction, kCorruption };
// Returns "lost_function" or "corruption".
std::string_view word(LossKind kind);

// One function that was lost, with both of its sides.
struct LostFunction {
  LossKind kind = LossKind::kLostFunction;
  FunctionSides sides;
  // "passed before, now waived", "path dmabuf before, now staged".
  std::string what;
};

// Returns the lost functions in the given order. The outcome "corrupted" marks a task that failed
// because of wrong bytes: this is corruption even without a measurement before.
std::vector<LostFunction> lost_functions(std::span<const FunctionSides> all);

// Returns the rank of a path: larger is better, 0 cannot be compared. A collective reports several
// paths, separated by commas ("NET/IB/0/GDRDMA, NET/IB/1"); the worst counts, since one worse rail
// is a loss.
int path_rank(std::string_view path);

// One endpoint (or pair of them) with a figure for each run of either side.
struct PairRuns {
  // Node of the first end; the changed node when only one end changed.
  std::string node;
  std::string endpoint;
  // True when the stack of the node changed.
  bool changed = false;
  std::vector<double> before;
  std::vector<double> after;
  // The other end, whose drift is part of the figures too; "" for a single endpoint.
  std::string other_node{};
  std::string other_endpoint{};
  bool other_changed = false;
  // Runs that the pair needs on each side; 0: as the upgrade says.
  std::size_t min_before = 0;
  std::size_t min_after = 0;
};

// All runs of one metric, on both sides of the upgrade.
struct MetricRuns {
  // Name of the metric for people: "verbs.write_lat latency_ns p50 8 B".
  std::string name;
  MetricTraits traits;
  // Every pair that was to be measured, with or without figures.
  std::vector<PairRuns> pairs;
  // True where the mean of the runs is the figure: time in pauses adds up over runs, and few runs
  // have two levels by the number of pauses that they met.
  bool by_mean = false;
  // True for a joint property of other metrics, such as the knee of a curve over sizes. Its loss
  // counts like that of any metric, but a pass does not require it.
  bool is_shape = false;
};

// Input of a verdict: figures and functions of both sides.
struct UpgradeRuns {
  // Id of the upgrade and run; it seeds the permutation tests.
  std::string id;
  std::vector<MetricRuns> metrics;
  std::vector<FunctionSides> functions;
  // Share of changed pairs that a pass must rest on.
  double min_coverage = 1;
  // Runs that each pair needs on each side.
  std::size_t min_runs = 5;
  // Runs that the before side needs, when fewer nights exist; 0: min_runs.
  std::size_t min_before = 0;
  // True for a repeated look, with more runs or a new after side.
  bool again = false;
  // True when nightly points replace a prepared before side.
  bool before_is_history = false;
  // Notes on omitted parts, printed with the verdict.
  std::vector<std::string> notes{};
  // Metrics with figures on the after side only; a pass does not rest on them.
  std::vector<std::string> uncompared{};
  // Reason why figures of both sides are left out, because another method made those after; "" for
  // none. A pass does not rest on them.
  std::string revised{};
  // Reason why a statistic that the before side has cannot be judged, where that may itself be a
  // loss;
  // "" for none. A pass needs it.
  std::string unproven{};
  // Reason why the sides cannot be compared; "" for valid sides.
  std::string invalid{};
};

// A pair whose own interval is beyond the bound, with the end that causes the loss.
struct PairFlag {
  std::string node;
  std::string endpoint;
  // The other end when both changed and their other pairs do not decide between them; else "".
  std::string other_node{};
  std::string other_endpoint{};
  // Fraction, with its 95 % interval.
  double worse = 0;
  double low = 0;
  double high = 0;
};

// A changed pair with the smallest loss of its own that the verdict names in 95 of 100 cases.
struct PairSight {
  std::string name{};            // as in MetricVerdict::missing
  std::optional<double> loss{};  // a fraction; absent: not measured, or too few pairs
};

// Verdict of one metric with the figures behind it. Fractions are positive for a loss.
struct MetricVerdict {
  std::string name;
  Verdict verdict = Verdict::kInconclusive;
  // Fraction of the level, positive is worse, with the 90 % interval.
  double worse = 0;
  // Absent: too few pairs to bound it.
  std::optional<double> low;
  std::optional<double> high;
  double delta = 0;
  double p_worse = 1;
  bool controlled = false;
  bool loss_is_real = false;
  // Number of nodes measured on both sides; each counts once.
  std::size_t changed = 0;
  std::size_t controls = 0;
  bool is_shape = false;
  // True for a single changed node or pair, whose drift is unknown.
  bool lone = false;
  // Measured share of the changed pairs that were to be measured.
  double coverage = 0;
  // "node/endpoint with node/endpoint" of each changed pair without enough runs.
  std::vector<std::string> missing;
  // Modes of the changed pairs' runs when these have two levels and the slower one grew.
  std::optional<ModeWeights> modes;
  // True for a regression because more runs are at the slower level.
  bool is_mode_mix = false;
  Need need;
  // Places with a certain loss beyond the bound, whatever the mean of all.
  std::vector<std::string> far;
  std::vector<PairSight> sight{};
  // Largest loss among the places of `far`, as a fraction.
  double far_worse = 0;
  // Loss of the controls when it is certainly beyond the bound.
  std::optional<double> common;
  std::vector<PairFlag> flags;
  // Reason of a verdict other than pass; "" for a pass.
  std::string reason;
};

// Verdict of the whole upgrade.
struct UpgradeVerdict {
  Verdict verdict = Verdict::kInvalid;
  // The kind of a regression: "corruption", "lost_function", "performance", "mode_mix"; else "".
  std::string kind;
  std::vector<MetricVerdict> metrics;
  std::vector<LostFunction> lost;
  // Functions that worked before and were not measured after.
  std::vector<std::string> unmeasured;
  // Limits of the statement.
  std::vector<std::string> notes;
  std::string reason;
};

// Judges one metric alone; judge_upgrade() corrects for the number of metrics. The unit is the
// node: its pairs share its drift, so their mean counts once. The shift of a single changed node is
// bounded by its own runs, and nothing separates its drift from the upgrade. Thread safe.
MetricVerdict judge_metric(const MetricRuns& metric, const UpgradeRuns& upgrade);

// Judges an upgrade: corruption and lost functions first, then the metrics as one family. A metric
// is regressed when its p is within Benjamini and Hochberg's bound over all metrics; a pass needs a
// pass of every metric. The upgrade's id seeds the permutation tests, so equal input gives an equal
// verdict. Thread safe.
UpgradeVerdict judge_upgrade(const UpgradeRuns& upgrade);

}  // namespace railgauge::analysis
