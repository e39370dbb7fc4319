// Notes new points for the mirror: a row of the outbox for each stretch of a rank's points. A
// trigger would cost as much as the point itself. Used on the writer thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// The number of `point` in the list of outbox/mirror_tables.cc, where a test compares them.
inline constexpr std::int64_t kPointSource = 21;

class PointRanges {
 public:
  // Forgets points whose transaction was rolled back.
  void begin() { ranges_.clear(); }
  void note(std::int64_t point) {
    if (!ranges_.empty() && ranges_.back().last + 1 == point)
      ranges_.back().last = point;
    else
      ranges_.push_back({.first = point, .last = point});
  }
  // Writes the stretches where a mirror is on.
  Status write(Connection& connection);

 private:
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  std::vector<Range> ranges_{};
};

}  // namespace railgauge::store
