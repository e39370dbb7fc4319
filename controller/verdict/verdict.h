// The answer about an upgrade: pass, regressed, inconclusive or invalid, with what it rests on.
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

// The outcome of an endpoint that is not there any more.
inline constexpr std::string_view kGone = "gone";

// One task or check on one place, on both sides of an upgrade. Outcomes and states are DESIGN's
// words; "" is not measured, "gone" is that the endpoint is not there any more. Paths are the
// kernels' facts "path" and "transport".
struct FunctionSides {
  std::string node{};
  std::string endpoint{};
  // Kernel or check.
  std::string name{};
  std::string outcome_before{};
  std::string outcome_after{};
  std::string path_before{};
  std::string path_after{};
  // Else a check, or that an endpoint is there.
  bool is_task = true;
  // A task that did not pass after, nor always before: nothing is known of it.
  bool never_passed = false;
};

// Corruption outranks every other loss.
enum class LossKind { kLostFunction, kCorruption };
// "lost_function", "corruption".
std::string_view word(LossKind kind);

// One function that was lost, with both of its sides.
struct LostFunction {
  LossKind kind = LossKind::kLostFunction;
  FunctionSides sides;
  // "passed before, now waived", "path dmabuf before, now staged".
  std::string what;
};

// The lost functions, in the order given. The outcome "corrupted" marks a task that failed because
// of wrong bytes: that is corruption, also where nothing was measured before.
std::vector<LostFunction> lost_functions(std::span<const FunctionSides> all);

// The rank of a path; larger is better, paths that cannot be compared are 0. For several, parted by
// commas as a collective's are ("NET/IB/0/GDRDMA, NET/IB/1"), the worst: one rail is a loss.
int path_rank(std::string_view path);

// One endpoint (or pair of them) with a figure for each run of either side.
struct PairRuns {
  // Node of the endpoint that counts: the changed one where only one end changed.
  std::string node;
  std::string endpoint;
  // True when the stack of the node changed.
  bool changed = false;
  std::vector<double> before;
  std::vector<double> after;
  // The other end, whose drift is in it as well; "" where there is none.
  std::string other_node{};
  std::string other_endpoint{};
  bool other_changed = false;
};

// All runs of one metric, on both sides of the upgrade.
struct MetricRuns {
  // Name of the metric for people: "verbs.write_lat latency_ns p50 8 B".
  std::string name;
  MetricTraits traits;
  // Every one that was to be measured, measured or not.
  std::vector<PairRuns> pairs;
  // A joint property of other metrics, as where a curve over sizes bends: one that moved for the
  // worse is a loss, with the bound and among the metrics as any; but no pass asks for it.
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
  // A side and pair.
  // Runs that each pair needs on each side.
  std::size_t min_runs = 5;
  // Runs of the before side, where fewer nights exist; 0: min_runs.
  std::size_t min_before = 0;
  // Not the first look: more runs, or a new after side.
  bool again = false;
  // True when nightly points replace a prepared before side.
  bool before_is_history = false;
  // The left-out parts, printed with the verdict.
  std::vector<std::string> notes{};
  // Metrics that the after side has and nothing before it: no pass rests on those.
  std::vector<std::string> uncompared{};
  // Why the sides are not what they should be; "" they are.
  std::string invalid{};
};

// A pair whose own interval is beyond the bound, by the end that is behind it.
struct PairFlag {
  std::string node;
  std::string endpoint;
  // Where both ends changed and their other pairs do not decide which of them it is; else "".
  std::string other_node{};
  std::string other_endpoint{};
  // Fraction, with its 95 % interval.
  double worse = 0;
  double low = 0;
  double high = 0;
};

// Verdict of one metric with the figures behind it. Fractions are positive where it got worse.
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
  // Nodes measured on both sides, of which each counts once.
  std::size_t changed = 0;
  std::size_t controls = 0;
  bool is_shape = false;
  // A single node or pair: its drift is not known.
  bool lone = false;
  // Measured share of the changed pairs that were to be measured.
  double coverage = 0;
  // "node/endpoint with node/endpoint" of those that were not.
  std::vector<std::string> missing;
  // Modes of the changed pairs' runs, where these have two levels.
  std::optional<ModeWeights> modes;
  // Regressed because the runs are at the slower level more often.
  bool is_mode_mix = false;
  Need need;
  // Places that lost more than the bound by themselves.
  std::vector<std::string> far;
  // Largest loss among the places of `far`, as a fraction.
  double far_worse = 0;
  // Loss of the controls, where it is beyond the bound for sure.
  std::optional<double> common;
  std::vector<PairFlag> flags;
  // Why it is not a pass; "" for a pass.
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

// A node is the unit: its pairs share its drift, so that their mean counts once. With a single
// changed node its own runs bound the shift, and nothing separates its drift from the upgrade.
// Judges one metric alone; judge_upgrade() corrects for the number of metrics. Thread safe.
MetricVerdict judge_metric(const MetricRuns& metric, const UpgradeRuns& upgrade);

// Corruption and lost function first, then the metrics as one family: a metric is regressed when
// its p holds under Benjamini and Hochberg's bound among all of them; a pass needs every metric's.
// Thread safe; the permutation tests draw from the upgrade's id, so that equal input gives an equal
// verdict.
UpgradeVerdict judge_upgrade(const UpgradeRuns& upgrade);

}  // namespace railgauge::analysis
