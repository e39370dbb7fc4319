#include "controller/verdict/far_losses.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <boost/math/distributions/students_t.hpp>

#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

constexpr double kNormalMad = 1.4826;
// Degrees of freedom of the median absolute deviation, relative to a normal deviation's.
constexpr double kMadEfficiency = 0.37;
constexpr double kLeastDegrees = 4;
constexpr std::size_t kLeastControls = 3;

// The median, or 0 where there is no value.
double median_or_zero(std::span<const double> values) {
  return values.empty() ? 0 : median(values);
}

// Shifts of the changed places, or of the controls.
std::vector<double> shifts_of(std::span<const PlaceShift> places, bool changed) {
  std::vector<double> out;
  for (const PlaceShift& place : places)
    if (place.changed == changed) out.push_back(place.shift);
  return out;
}

}  // namespace

std::vector<std::size_t> far_losses(std::span<const PlaceShift> places, double delta,
                                    std::size_t metrics) {
  const std::vector<double> changed = shifts_of(places, true);
  const std::vector<double> controls = shifts_of(places, false);
  const double middle = median_or_zero(changed);
  const double common = median_or_zero(controls);
  const bool controlled = controls.size() >= kLeastControls;
  std::vector<double> away;
  for (const double shift : changed) away.push_back(std::abs(shift - middle));
  if (controlled)
    for (const double shift : controls) away.push_back(std::abs(shift - common));
  const double count = static_cast<double>(away.size()) - (controlled ? 2 : 1);
  std::vector<std::size_t> out;
  if (kMadEfficiency * count < kLeastDegrees) return out;
  const boost::math::students_t student(kMadEfficiency * count);
  // Medians of few take a part of their own scatter away.
  const double mad =
      kNormalMad * median_or_zero(away) * std::sqrt(static_cast<double>(away.size()) / count);
  const double of_median =
      controlled ? std::numbers::pi / 2 / static_cast<double>(controls.size()) : 0;
  const double asked = static_cast<double>(changed.size() * std::max<std::size_t>(1, metrics));
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!places[i].changed) continue;
    const double beyond = places[i].shift - (controlled ? common : 0) - delta;
    const double error2 = std::max(mad * mad, places[i].run_error2) + mad * mad * of_median;
    if (!(beyond > 0)) continue;
    const bool certain =
        error2 <= 0 ||
        boost::math::cdf(boost::math::complement(student, beyond / std::sqrt(error2))) * asked <
            kFarProof;
    if (certain) out.push_back(i);
  }
  return out;
}

}  // namespace railgauge::analysis
