// The figure by which a point is judged and compared.
#pragma once

#include <optional>

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// The rate over all time where the point is one, else the median. A rate of before kernels had the
// figure has its median alone.
inline double headline_of(const Point& point) {
  return point.has_rate() ? point.rate() : point.median();
}

// The ends of a 95 % interval, in the point's unit.
struct HeadlineInterval {
  double low = 0;
  double high = 0;
};

// The interval of the headline itself; absent where there is none. A rate does not take that of its
// median, which no pause widens.
inline std::optional<HeadlineInterval> interval_of_headline(const Point& point) {
  if (point.has_rate())
    return point.has_rate_low() && point.has_rate_high()
               ? std::optional(HeadlineInterval{point.rate_low(), point.rate_high()})
               : std::nullopt;
  return point.has_median_low() && point.has_median_high()
             ? std::optional(HeadlineInterval{point.median_low(), point.median_high()})
             : std::nullopt;
}

}  // namespace railgauge
