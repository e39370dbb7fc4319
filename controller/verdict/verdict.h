// The answer about an upgrade: pass, regressed, inconclusive or invalid, with what it rests on.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/stats/metric_traits.h"
#include "controller/stats/shape.h"
#include "controller/verdict/equivalence.h"
#include "controller/verdict/function_loss.h"

namespace railgauge::analysis {

// One endpoint (or pair of them) with a figure for each run of either side.
struct PairRuns {
  std::string node;  // of the endpoint that counts; the changed one where one of a pair changed
  std::string endpoint;
  bool changed = false;  // its node's stack did
  std::vector<double> before;
  std::vector<double> after;
  // The other end, whose drift is in it as well; "" where there is none.
  std::string other_node{};
  std::string other_endpoint{};
  bool other_changed = false;
};

struct MetricRuns {
  std::string name;  // of the metric, for people: "verbs.write_lat latency_ns p50 8 B"
  MetricTraits traits;
  std::vector<PairRuns> pairs;  // every one that was to be measured, measured or not
  // A joint property of other metrics, as where a curve over sizes bends: one that moved for the
  // worse is a loss, with the bound and among the metrics as any; but no pass asks for it.
  bool is_shape = false;
};

struct UpgradeRuns {
  std::string id;  // of the upgrade and run: what chance is drawn from
  std::vector<MetricRuns> metrics;
  std::vector<FunctionSides> functions;
  double min_coverage = 1;           // share of changed pairs that a pass must rest on
  std::size_t min_runs = 5;          // a side and pair
  std::size_t min_before = 0;        // of the before side, where nights are fewer; 0: min_runs
  bool again = false;                // not the first look: more runs, or a new after side
  bool before_is_history = false;    // nightly points stand for a prepared before side
  std::vector<std::string> notes{};  // the left-out parts, printed with the verdict
  // Metrics that the after side has and nothing before it: no pass rests on those.
  std::vector<std::string> uncompared{};
  std::string invalid{};  // why the sides are not what they should be; "" they are
};

// A pair whose own interval is beyond the bound, by the end that is behind it.
struct PairFlag {
  std::string node;
  std::string endpoint;
  // Where both ends changed and their other pairs do not decide which of them it is; else "".
  std::string other_node{};
  std::string other_endpoint{};
  double worse = 0;  // fraction, with its 95 % interval
  double low = 0;
  double high = 0;
};

struct MetricVerdict {
  std::string name;
  Verdict verdict = Verdict::kInconclusive;
  double worse = 0;           // fraction of the level, positive is worse, with the 90 % interval
  std::optional<double> low;  // absent: too few pairs to bound it
  std::optional<double> high;
  double delta = 0;
  double p_worse = 1;
  bool controlled = false;
  bool loss_is_real = false;
  std::size_t changed = 0;  // nodes measured on both sides, of which each counts once
  std::size_t controls = 0;
  bool is_shape = false;
  bool lone = false;                 // a single node or pair: its drift is not known
  double coverage = 0;               // of the changed pairs that were to be measured
  std::vector<std::string> missing;  // "node/endpoint with node/endpoint" of those that were not
  std::optional<ModeWeights> modes;  // of the changed pairs' runs, where they have two levels
  bool is_mode_mix = false;          // regressed because the slower level is held more often
  Need need;
  std::vector<std::string> far;  // places that lost more than the bound by themselves
  double far_worse = 0;          // the most of them
  std::optional<double> common;  // what the controls lost, where that is beyond the bound for sure
  std::vector<PairFlag> flags;
  std::string reason;  // why it is not a pass; "" for a pass
};

struct UpgradeVerdict {
  Verdict verdict = Verdict::kInvalid;
  // The kind of a regression: "corruption", "lost_function", "performance", "mode_mix"; else "".
  std::string kind;
  std::vector<MetricVerdict> metrics;
  std::vector<LostFunction> lost;
  std::vector<std::string> unmeasured;  // what worked and nobody measured again
  std::vector<std::string> notes;       // what limits the statement
  std::string reason;
};

// A node is the unit: its pairs share its drift, so that their mean counts once. With a single
// changed node its own runs bound the shift, and nothing separates its drift from the upgrade.
MetricVerdict judge_metric(const MetricRuns& metric, const UpgradeRuns& upgrade);

// Corruption and lost function first, then the metrics as one family: a metric is regressed when
// its p holds under Benjamini and Hochberg's bound among all of them; a pass needs every metric's.
UpgradeVerdict judge_upgrade(const UpgradeRuns& upgrade);

}  // namespace railgauge::analysis
