#include "agent/fleet/model/noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace railgauge::fleet {
namespace {

constexpr double kLeastFactor = 0.05;

bool applies(const Noise& noise, const NoisyFigure& figure) {
  return noise.nodes.has(figure.node) && noise.kernels.has(figure.kernel);
}

// The key of a component's draws, without the time.
DrawKey key_of(const Scenario& scenario, const Noise& noise, std::size_t index,
               const NoisyFigure& figure) {
  const DrawKey own = DrawKey(scenario.seed).with("noise").with(std::uint64_t{index});
  switch (noise.among) {
    case Among::kSeries:
      return own.with(figure.series.bits());
    case Among::kNode:
      return own.with(std::uint64_t{figure.node});
    case Among::kLeaf:
      return own.with(std::uint64_t{scenario.leaf_of(figure.node)});
    case Among::kFabric:
      break;
  }
  return own;
}

// Two independent normal numbers at the ends of a span, weighted so that the variance is 1 at every
// time between them. Times more than two spans apart are independent.
double correlated(const DrawKey& key, double at) {
  const double before = std::floor(at);
  const double angle = (at - before) * std::numbers::pi / 2;
  const auto step = static_cast<std::int64_t>(before);
  return std::cos(angle) * key.with(step).normal() + std::sin(angle) * key.with(step + 1).normal();
}

// A component's share of the figure: 0 is none.
double share_of(const Noise& noise, const DrawKey& key, Nanoseconds time_ns) {
  const double spans =
      noise.span_ns > 0 ? static_cast<double>(time_ns) / static_cast<double>(noise.span_ns) : 0;
  const DrawKey draw =
      key.with(noise.span_ns > 0 ? static_cast<std::int64_t>(std::floor(spans)) : time_ns);
  switch (noise.kind) {
    case NoiseKind::kGaussian:
      return noise.size * draw.normal();
    case NoiseKind::kSkew:
      return noise.size * draw.exponential();
    case NoiseKind::kCorrelated:
      return noise.size * correlated(key, spans);
    case NoiseKind::kModes:
    case NoiseKind::kSpikes:
      return draw.uniform() < noise.share ? noise.size : 0;
    case NoiseKind::kDrift:
      return noise.size * spans;
    case NoiseKind::kQuantised:
      break;
  }
  return 0;
}

}  // namespace

bool is_day(const Scenario& scenario, Nanoseconds time_ns) {
  if (!scenario.day) return false;
  const double seconds = scenario.begin_unix_seconds + static_cast<double>(time_ns) / kNsPerSecond;
  const double of_day = std::fmod(seconds * kNsPerSecond, kNsPerDay);
  const auto from = static_cast<double>(scenario.day->from_ns);
  const auto to = static_cast<double>(scenario.day->to_ns);
  return from <= to ? from <= of_day && of_day < to : from <= of_day || of_day < to;
}

double noise_factor(const Scenario& scenario, const NoisyFigure& figure) {
  const double by_day = is_day(scenario, figure.time_ns) ? scenario.day->noise : 1;
  double factor = 1;
  for (std::size_t i = 0; i < scenario.noise.size(); ++i) {
    const Noise& noise = scenario.noise[i];
    if (!applies(noise, figure)) continue;
    const double share = share_of(noise, key_of(scenario, noise, i, figure), figure.time_ns);
    factor *= std::max(kLeastFactor, 1 + share * (noise.kind == NoiseKind::kDrift ? 1 : by_day));
  }
  return factor;
}

double quantised(const Scenario& scenario, const NoisyFigure& figure, double value,
                 double healthy) {
  for (const Noise& noise : scenario.noise) {
    const double step = noise.size * healthy;
    if (noise.kind == NoiseKind::kQuantised && step > 0 && applies(noise, figure))
      value = std::max(1.0, std::round(value / step)) * step;
  }
  return value;
}

}  // namespace railgauge::fleet
