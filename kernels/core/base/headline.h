// The figure by which a point is judged and compared.
#pragma once

#include "kernels/core/base/record.pb.h"

namespace railgauge {

// The rate over all time where the point is one, else the median. A rate of before kernels had the
// figure has its median alone.
inline double headline_of(const Point& point) {
  return point.has_rate() ? point.rate() : point.median();
}

}  // namespace railgauge
