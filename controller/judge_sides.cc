#include "controller/judge_sides.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/outcome.h"

namespace railgauge {
namespace {

constexpr std::string_view kMedian = "median";

// "n1/rxe0:1" parted.
std::pair<std::string, std::string> place_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return {text, "host"};
  return {text.substr(0, slash), text.substr(slash + 1)};
}

struct Cast {
  std::set<std::string> changed;
  std::set<std::string> controls;
  [[nodiscard]] bool has(const std::string& node) const {
    return changed.contains(node) || controls.contains(node);
  }
};

// The series' pair as the judge wants it; absent where a node is of neither kind.
std::optional<analysis::PairRuns> pair_of(const store::SeriesRow& series, const Cast& cast) {
  analysis::PairRuns pair;
  for (const std::string& text : series.endpoints) {
    const auto [node, endpoint] = place_of(text);
    if (!cast.has(node)) return std::nullopt;
    const bool changed = cast.changed.contains(node);
    if (pair.node.empty() || (changed && !pair.changed)) {
      pair.node = node;
      pair.endpoint = endpoint;
      pair.changed = changed;
    } else if (changed && node != pair.node && pair.other_node.empty()) {
      pair.other_node = node;
      pair.other_endpoint = endpoint;
    }
  }
  if (pair.node.empty()) return std::nullopt;
  return pair;
}

std::optional<double> figure_of(const store::SidePointRow& point, std::string_view statistic) {
  if (statistic == kMedian) return point.median;
  return statistic == "p99" ? point.p99 : point.p999;
}

using BySeries = std::map<std::int64_t, std::vector<const store::SidePointRow*>>;

BySeries by_series(const std::vector<store::SidePointRow>& points) {
  BySeries out;
  for (const store::SidePointRow& point : points) out[point.series].push_back(&point);
  return out;
}

bool all_have(const BySeries& side, std::int64_t series, std::string_view statistic) {
  const auto found = side.find(series);
  return found == side.end() ||
         std::ranges::all_of(found->second, [&](const store::SidePointRow* point) {
           return figure_of(*point, statistic).has_value();
         });
}

void take_figures(const BySeries& side, std::int64_t series, std::string_view statistic,
                  std::vector<double>& figures) {
  const auto found = side.find(series);
  if (found == side.end()) return;
  for (const store::SidePointRow* point : found->second)
    figures.push_back(figure_of(*point, statistic).value_or(0));
}

// Tails only of latencies, and only where every point has them: the median is always there.
std::vector<std::string_view> statistics_of(const store::SeriesRow& series, const BySeries& before,
                                            const BySeries& after) {
  std::vector<std::string_view> out{kMedian};
  if (series.unit != "ns") return out;
  for (const std::string_view tail : {"p99", "p99.9"})
    if (all_have(before, series.series_id, tail) && all_have(after, series.series_id, tail))
      out.push_back(tail);
  return out;
}

// A changed node that neither side measured, in anything, is missing in all of it: without a place
// it could not be missed, and the others would pass for it.
void add_unmeasured(const Cast& cast, std::map<std::string, analysis::MetricRuns>& metrics) {
  std::set<std::string> seen;
  for (const auto& [name, metric] : metrics)
    for (const analysis::PairRuns& pair : metric.pairs) {
      seen.insert(pair.node);
      seen.insert(pair.other_node);
    }
  for (const std::string& node : cast.changed)
    if (!seen.contains(node))
      for (auto& [name, metric] : metrics)
        metric.pairs.push_back(
            {.node = node, .endpoint = "any", .changed = true, .before = {}, .after = {}});
}

void add_metrics(const Sides& sides, const Cast& cast, analysis::UpgradeRuns& out) {
  const BySeries before = by_series(sides.before);
  const BySeries after = by_series(sides.after);
  std::map<std::string, analysis::MetricRuns> metrics;
  for (const auto& [id, series] : sides.series) {
    const auto pair = pair_of(series, cast);
    if (!pair) continue;
    for (const std::string_view statistic : statistics_of(series, before, after)) {
      const std::string name = metric_text(series, std::string(statistic));
      analysis::MetricRuns& metric = metrics[name];
      metric.name = name;
      metric.traits = analysis::traits_of(series.unit, series.larger_is_better, statistic);
      analysis::PairRuns& runs = metric.pairs.emplace_back(*pair);
      take_figures(before, id, statistic, runs.before);
      take_figures(after, id, statistic, runs.after);
    }
  }
  add_unmeasured(cast, metrics);
  for (auto& [name, metric] : metrics) {
    const auto is_changed = [](const analysis::PairRuns& pair) { return pair.changed; };
    if (std::ranges::any_of(metric.pairs, is_changed)) out.metrics.push_back(std::move(metric));
  }
}

// What a task is beside its run.
struct TaskPlace {
  std::string kernel;
  std::string parameters;
  std::vector<std::string> where;  // "n1/rxe0:1"
  auto operator<=>(const TaskPlace&) const = default;
};
struct Outcomes {
  std::size_t all = 0;
  std::size_t passed = 0;
  std::string worst{};  // of those that did not pass; "" none
  std::string path{};   // of the last that passed
  bool corrupted = false;
};
using Functions = std::map<TaskPlace, Outcomes>;

// Data that was read back wrong, as opposed to a floor that was missed.
bool is_corruption(const store::SideTaskRow& task) {
  if (task.outcome != kFailed) return false;
  for (const char* word : {"was written", "expected", "wrong", "corrupt", " is 0x"})
    if (task.reason.find(word) != std::string::npos) return true;
  return false;
}

Functions functions_of(const std::vector<store::SideTaskRow>& tasks, const Cast& cast) {
  Functions out;
  for (const store::SideTaskRow& task : tasks) {
    TaskPlace place{.kernel = task.kernel, .parameters = task.parameters, .where = {}};
    bool is_ours = true;
    bool changed = false;
    for (std::size_t rank = 0; rank < task.nodes.size(); ++rank) {
      is_ours = is_ours && cast.has(task.nodes[rank]);
      changed = changed || cast.changed.contains(task.nodes[rank]);
      place.where.push_back(task.nodes[rank] + "/" + task.endpoints[rank]);
    }
    if (!is_ours || !changed) continue;
    Outcomes& outcomes = out[place];
    ++outcomes.all;
    if (task.outcome == kPassed) {
      ++outcomes.passed;
      outcomes.path = task.path;
    } else if (task.outcome != kCancelledOutcome && !task.outcome.empty()) {
      outcomes.worst = task.outcome;
    }
    outcomes.corrupted = outcomes.corrupted || is_corruption(task);
  }
  return out;
}

// What did not always work before is lost only where it never does now.
std::string outcome_before(const Outcomes& before, const Outcomes* after) {
  if (before.passed == before.all) return std::string(kPassed);
  const bool mostly = 2 * before.passed >= before.all;
  const bool never_again = after != nullptr && after->passed == 0 && !after->worst.empty();
  return mostly && never_again ? std::string(kPassed) : before.worst;
}

analysis::FunctionSides sides_of(const TaskPlace& place, const Cast& cast) {
  analysis::FunctionSides out{.name = place.kernel};
  std::string others;
  for (const std::string& text : place.where) {
    const auto [node, endpoint] = place_of(text);
    if (out.node.empty() && cast.changed.contains(node)) {
      out.node = node;
      out.endpoint = endpoint.empty() ? "host" : endpoint;
    } else {
      others += (others.empty() ? "" : " ") + text;
    }
  }
  if (!others.empty()) out.endpoint += " with " + others;
  return out;
}

void add_functions(const Sides& sides, const Cast& cast, analysis::UpgradeRuns& out) {
  const Functions before = functions_of(sides.tasks_before, cast);
  const Functions after = functions_of(sides.tasks_after, cast);
  for (const auto& [place, was] : before) {
    const auto now = after.find(place);
    // Earlier nights measured more than the upgrade's suite does.
    if (now == after.end() && sides.upgrade.before_is_history) continue;
    analysis::FunctionSides function = sides_of(place, cast);
    function.path_before = was.path;
    function.outcome_before = outcome_before(was, now == after.end() ? nullptr : &now->second);
    if (now != after.end()) {
      const Outcomes& is = now->second;
      function.path_after = is.path;
      function.outcome_after = is.corrupted && !was.corrupted ? "corrupted"
                               : !is.worst.empty()            ? is.worst
                               : is.passed > 0                ? std::string(kPassed)
                                                              : "";
    }
    out.functions.push_back(std::move(function));
  }
  for (const auto& [place, is] : after) {
    if (!is.corrupted || before.contains(place)) continue;
    analysis::FunctionSides function = sides_of(place, cast);
    function.outcome_after = "corrupted";
    out.functions.push_back(std::move(function));
  }
}

// Endpoints that tasks passed on before and that are not there, or not active, any more.
void add_gone_endpoints(const Sides& sides, const Cast& cast, analysis::UpgradeRuns& out) {
  std::set<std::string> used;
  for (const store::SideTaskRow& task : sides.tasks_before)
    for (std::size_t rank = 0; task.outcome == kPassed && rank < task.nodes.size(); ++rank)
      used.insert(task.nodes[rank] + "/" + task.endpoints[rank]);
  for (const store::EndpointStateRow& state : sides.endpoints) {
    const bool lost = state.gone || state.state != "active";
    if (!lost || !cast.changed.contains(state.node) ||
        !used.contains(state.node + "/" + state.endpoint))
      continue;
    out.functions.push_back(
        {.node = state.node,
         .endpoint = state.endpoint,
         .name = state.gone ? "endpoint" : fmt::format("endpoint (state {})", state.state),
         .outcome_before = std::string(kPassed),
         .outcome_after = state.gone ? "gone" : "error"});
  }
}

}  // namespace

std::string part_of(const std::string& change) { return change.substr(0, change.find(' ')); }

std::string metric_text(const store::SeriesRow& series, const std::string& statistic) {
  std::string text = fmt::format("{} {}", series.kernel, series.metric);
  if (!statistic.empty()) text += " " + statistic;
  if (series.message_bytes > 0) text += fmt::format(" {:.0f} B", series.message_bytes);
  for (const char* name : {"memory", "target_memory", "op", "algo", "proto", "gpu"})
    if (const auto found = series.parameters.find(name); found != series.parameters.end())
      text += fmt::format(" {} {}", name, found->second);
  return text;
}

std::set<std::string> changed_nodes(const Sides& sides) {
  std::set<std::string> out;
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes)
    if (node.changed) out.insert(node.node);
  return out;
}

std::set<std::string> control_nodes(const Sides& sides) {
  std::set<std::string> out;
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    const auto stacks = sides.stacks.find(node.node);
    if (!node.changed && stacks != sides.stacks.end() && stacks->second.changes.empty() &&
        !stacks->second.hardware_replaced)
      out.insert(node.node);
  }
  return out;
}

analysis::UpgradeRuns runs_of(const Sides& sides) {
  const Cast cast{.changed = changed_nodes(sides), .controls = control_nodes(sides)};
  analysis::UpgradeRuns out{.id = sides.upgrade.upgrade_id, .metrics = {}, .functions = {}};
  for (const store::UpgradeRunRow& run : sides.upgrade.runs)
    if (run.after) out.id += "\n" + run.run_id;
  out.before_is_history = sides.upgrade.before_is_history;
  out.min_runs = out.before_is_history ? kHistoryRunsASide : kRunsASide;
  add_metrics(sides, cast, out);
  add_functions(sides, cast, out);
  add_gone_endpoints(sides, cast, out);
  return out;
}

std::vector<analysis::ExposedNode> exposure_of(const Sides& sides,
                                               const std::set<std::string>& worse) {
  std::vector<analysis::ExposedNode> out;
  const std::set<std::string> changed = changed_nodes(sides);
  const std::set<std::string> controls = control_nodes(sides);
  for (const auto& [node, stacks] : sides.stacks) {
    if (!changed.contains(node) && !controls.contains(node)) continue;
    analysis::ExposedNode& exposed =
        out.emplace_back(analysis::ExposedNode{.node = node, .affected = worse.contains(node)});
    for (const std::string& change : stacks.changes)
      if (part_of(change) != "railgauge") exposed.changes.insert(change);
  }
  return out;
}

}  // namespace railgauge
