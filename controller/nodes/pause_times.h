// When nodes were paused, for those who judge what was measured. Pure but for of().
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/store/store.h"

namespace railgauge {

class PauseTimes {
 public:
  PauseTimes() = default;
  // The pauses of the store that held at `since` (unix seconds) or later.
  static Result<PauseTimes> of(const store::Store& store, double since);

  // `until`: infinity while it holds.
  void add(const std::string& node, double since, double until);
  [[nodiscard]] bool empty() const { return times_.empty(); }
  // Reports whether the node was paused at any time of a run that lasted from `from` to `until`.
  // Nothing of the run says more exactly when: a node's clock may be years off.
  [[nodiscard]] bool covers(const std::string& node, double from, double until) const;
  // The nodes that were paused during such a run.
  [[nodiscard]] std::set<std::string> nodes_during(double from, double until) const;

 private:
  std::map<std::string, std::vector<std::pair<double, double>>, std::less<>> times_{};
};

// The begin of a run, and its end; infinity while it is under way. An end that nobody knows is its
// begin.
std::pair<double, double> span_of(const store::RunRow& run);

}  // namespace railgauge
