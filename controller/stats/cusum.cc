#include "controller/stats/cusum.h"

#include <algorithm>

namespace railgauge::analysis {

void Cusum::add(double away) {
  up = std::max(0.0, up + away - kCusumSlack);
  down = std::max(0.0, down - away - kCusumSlack);
  ++runs;
  if (up == 0) up_since = runs;
  if (down == 0) down_since = runs;
}

std::optional<std::size_t> Cusum::alarm_since() const {
  if (up > kCusumThreshold && up >= down) return up_since;
  if (down > kCusumThreshold) return down_since;
  return std::nullopt;
}

Cusum cusum_of(std::span<const double> values, double level, double deviation) {
  Cusum cusum;
  for (const double value : values) cusum.add((value - level) / deviation);
  return cusum;
}

}  // namespace railgauge::analysis
