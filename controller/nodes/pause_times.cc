#include "controller/nodes/pause_times.h"

#include <algorithm>
#include <limits>

#include "controller/store/nodes/node_words.h"

namespace railgauge {
namespace {
constexpr double kNever = std::numeric_limits<double>::infinity();
}  // namespace

// Pauses that ended before `since` cannot touch a run after it.
Result<PauseTimes> PauseTimes::of(const store::Store& store, double since) {
  PauseTimes times;
  for (const store::PauseRow& row : RG_TRY(store.read(store::read_pauses_since, since)))
    times.add(row.node, row.since, row.ended_at.value_or(kNever));
  return times;
}

void PauseTimes::add(const std::string& node, double since, double until) {
  times_[node].emplace_back(since, until);
}

// Any overlap counts: a run that measured while the node was taken apart for a minute says nothing
// of the node.
bool PauseTimes::covers(const std::string& node, double from, double until) const {
  const auto found = times_.find(node);
  return found != times_.end() && std::ranges::any_of(found->second, [&](const auto& time) {
           return time.first < until && from < time.second;
         });
}

std::set<std::string> PauseTimes::nodes_during(double from, double until) const {
  std::set<std::string> nodes;
  for (const auto& [node, times] : times_)
    if (covers(node, from, until)) nodes.insert(node);
  return nodes;
}

// A run that never started has no span: its figures, if any, are of the moment it was made. One
// under way has no end yet.
std::pair<double, double> span_of(const store::RunRow& run) {
  const double from = run.started_at > 0 ? run.started_at : run.created_at;
  if (run.ended_at > 0) return {from, run.ended_at};
  return {from, run.state == store::RunState::kEnded ? from : kNever};
}

}  // namespace railgauge
