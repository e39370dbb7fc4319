// Runs that ended and were never judged: the controller stopped first, its queue was full, or an
// error came between. Not thread safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/store/store.h"

namespace railgauge {

class UnjudgedRuns {
 public:
  // Older runs stay as they are: a verdict that late is about another fabric.
  static constexpr double kPastSeconds = 8 * 86'400;
  // So often a run is judged again; the last error is in the log.
  static constexpr int kMostTries = 3;

  explicit UnjudgedRuns(store::Store& store) : store_(store) {}

  // The runs that are to be judged now, oldest first: they ended before `until` (unix seconds), and
  // no record of theirs is to come that would have them judged. A run whose tries are used up is an
  // event, once. Errors: the store's.
  Result<std::vector<std::string>> due(double until);

 private:
  store::Store& store_;
  std::map<std::string, int> tries_{};
};

}  // namespace railgauge
