#include "controller/verdict/testing/simulate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace railgauge::analysis {
namespace {

constexpr double kLevel = 100;
constexpr double kModes = 5;         // apart
constexpr double kWithinMode = 0.5;  // deviation
constexpr double kSwitch = 0.02;     // chance a run of the sticky series
constexpr double kSpikeShare = 0.03;
constexpr double kSpikeHeight = 10;
constexpr double kQuantisedNoise = 0.4;
constexpr double kRho = 0.5;
constexpr double kStrongRho = 0.9;
constexpr double kBurstShare = 1.0 / 40;
constexpr double kBurstHeight = 8;
constexpr double kShortestBurst = 3;
constexpr double kBurstLengths = 4;  // 3 to 6

}  // namespace

double Chance::uniform() {
  constexpr double kStep = 1.0 / 9007199254740992.0;  // 2^-53
  return (static_cast<double>(bits_() >> 11U) + 0.5) * kStep;
}

double Chance::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::string_view name(Null kind) {
  switch (kind) {
    case Null::kGaussian:
      return "Gaussian";
    case Null::kSkewed:
      return "exponential skew";
    case Null::kCorrelated:
      return "AR(1) 0.5";
    case Null::kBimodal:
      return "bimodal, independent";
    case Null::kSpiky:
      return "3 % spikes";
    case Null::kQuantised:
      return "quantised";
    case Null::kStronglyCorrelated:
      return "AR(1) 0.9";
    case Null::kBursts:
      return "bursts";
    case Null::kWalk:
      return "random walk";
    case Null::kSticky:
      break;
  }
  return "sticky bimodal";
}

std::vector<double> null_series(Null kind, std::size_t runs, std::uint64_t seed) {
  Chance chance(seed);
  std::vector<double> out(runs);
  double carried = chance.normal();
  bool high = chance.uniform() < 0.5;
  int burst = 0;  // runs that are left of one
  for (double& value : out) {
    switch (kind) {
      case Null::kGaussian:
        value = kLevel + chance.normal();
        break;
      case Null::kSkewed:
        value = kLevel - 1 - std::log(chance.uniform());
        break;
      case Null::kCorrelated:
      case Null::kStronglyCorrelated: {
        const double rho = kind == Null::kCorrelated ? kRho : kStrongRho;
        value = kLevel + carried;
        carried = rho * carried + std::sqrt(1 - rho * rho) * chance.normal();
        break;
      }
      case Null::kBursts:
        if (burst == 0 && chance.uniform() < kBurstShare)
          burst = static_cast<int>(kShortestBurst + std::floor(kBurstLengths * chance.uniform()));
        value = kLevel + chance.normal() + (burst > 0 ? kBurstHeight : 0);
        burst = std::max(0, burst - 1);
        break;
      case Null::kWalk:
        value = kLevel + carried;
        carried += chance.normal();
        break;
      case Null::kBimodal:
        high = chance.uniform() < 0.5;
        value = kLevel + (high ? kModes : 0) + kWithinMode * chance.normal();
        break;
      case Null::kSpiky:
        value = kLevel + chance.normal() + (chance.uniform() < kSpikeShare ? kSpikeHeight : 0);
        break;
      case Null::kQuantised:
        value = std::round(kLevel + kQuantisedNoise * chance.normal());
        break;
      case Null::kSticky:
        if (chance.uniform() < kSwitch) high = !high;
        value = kLevel + (high ? kModes : 0) + kWithinMode * chance.normal();
        break;
    }
  }
  return out;
}

std::vector<double> step_series(std::size_t before, std::size_t after, double shift,
                                std::uint64_t seed) {
  std::vector<double> out = null_series(Null::kGaussian, before + after, seed);
  for (std::size_t i = before; i < out.size(); ++i) out[i] += shift;
  return out;
}

}  // namespace railgauge::analysis
