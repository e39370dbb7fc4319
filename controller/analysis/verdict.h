// The answer about an upgrade: pass, regressed, inconclusive or invalid, with what it rests on.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/analysis/equivalence.h"
#include "controller/analysis/function_loss.h"
#include "controller/analysis/metric_traits.h"

namespace railgauge::analysis {

// One endpoint (or pair of them) with a figure for each run of either side.
struct PairRuns {
  std::string node;  // of the endpoint that counts; the changed one where one of a pair changed
  std::string endpoint;
  bool changed = false;  // its node's stack did
  std::vector<double> before;
  std::vector<double> after;
  // The other end where it changed as well: measured by this pair, yet counted with the first.
  std::string other_node{};
  std::string other_endpoint{};
};

struct MetricRuns {
  std::string name;  // of the metric, for people: "verbs.write_lat latency_ns p50 8 B"
  MetricTraits traits;
  std::vector<PairRuns> pairs;  // every one that was to be measured, measured or not
};

struct UpgradeRuns {
  std::string id;  // of the upgrade and run: what chance is drawn from
  std::vector<MetricRuns> metrics;
  std::vector<FunctionSides> functions;
  double min_coverage = 1;         // share of changed nodes and endpoints that a pass must rest on
  std::size_t min_runs = 5;        // a side and pair
  bool before_is_history = false;  // nightly points stand for a prepared before side
};

// A pair whose own interval lies beyond the bound.
struct PairFlag {
  std::string node;
  std::string endpoint;
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
  double coverage = 0;               // of the changed endpoints that were to be measured
  std::vector<std::string> missing;  // "node/endpoint" of those that were not
  Need need;
  std::vector<PairFlag> flags;
  std::string reason;  // why it is not a pass; "" for a pass
};

struct UpgradeVerdict {
  Verdict verdict = Verdict::kInvalid;
  std::string kind;  // of a regression: "corruption", "lost_function", "performance"; else ""
  std::vector<MetricVerdict> metrics;
  std::vector<LostFunction> lost;
  std::vector<std::string> notes;  // what limits the statement
  std::string reason;
};

// A node is the unit: its pairs share its drift, so that their mean counts once. With a single
// changed node its own runs bound the shift, and nothing can tell its drift from the upgrade.
MetricVerdict judge_metric(const MetricRuns& metric, const UpgradeRuns& upgrade);

// Corruption and lost function first, then the metrics as one family: a metric is regressed when
// its p holds under Benjamini and Hochberg's bound among all of them; a pass needs every metric's.
UpgradeVerdict judge_upgrade(const UpgradeRuns& upgrade);

}  // namespace railgauge::analysis
