#include "controller/upgrades/judge_promise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/upgrades/judge_sides.h"
#include "controller/verdict/equivalence.h"

namespace railgauge {
namespace {

constexpr double kPercent = 100;

// Of logarithms of a pair's runs.
double variance_of_logs(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  double n = 0;
  for (const double value : values) {
    if (!(value > 0)) continue;
    sum += std::log(value);
    squares += std::log(value) * std::log(value);
    ++n;
  }
  return n < 2 ? 0 : std::max(0.0, (squares - sum * sum / n) / (n - 1));
}

}  // namespace

void add_promise(const analysis::UpgradeRuns& runs, api::Upgrade& upgrade) {
  for (const analysis::MetricRuns& metric : runs.metrics) {
    if (metric.is_shape) continue;                           // no pass rests on it
    std::map<std::string, std::pair<double, double>> nodes;  // variance and pairs, by node
    std::set<std::string> changed;
    std::size_t fewest = kRunsASide;
    for (const analysis::PairRuns& pair : metric.pairs) {
      if (pair.before.size() < 2) continue;
      nodes[pair.node].first += variance_of_logs(pair.before);
      nodes[pair.node].second += 1;
      if (pair.changed) changed.insert(pair.node);
      fewest = std::min(fewest, pair.before.size());
    }
    if (changed.empty()) continue;
    double variance = 0;
    for (const auto& [node, one] : nodes) variance += one.first / one.second / one.second;
    variance /= static_cast<double>(nodes.size());
    const double loss = analysis::smallest_loss(
        {.runs = fewest,
         .changed = changed.size(),
         .controls = nodes.size() - changed.size() >= 2 ? nodes.size() - changed.size() : 0,
         .run_variance = variance},
        analysis::log_worsening(metric.traits.better, metric.traits.delta));
    if (!std::isfinite(loss)) continue;
    const double percent = kPercent * analysis::worse_fraction(metric.traits.better, loss);
    upgrade.set_visible_loss_percent(std::max(upgrade.visible_loss_percent(), percent));
    upgrade.add_notes(
        fmt::format("{}: a loss of {:.2f} % will be called unless nodes drift by more than their "
                    "runs scatter, the bound is {:.1f} %",
                    metric.name, percent, kPercent * metric.traits.delta));
  }
}

}  // namespace railgauge
