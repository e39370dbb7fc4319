#include "controller/detect/fit.h"

#include <algorithm>
#include <cmath>

#include "controller/stats/robust.h"
#include "controller/stats/selection.h"

namespace railgauge::analysis {
namespace {

constexpr double kProof = 4e-3;      // largest p of a change
constexpr double kPull = 3;          // values count up to so many deviations from their median
constexpr double kShort = 8;         // runs: a mean of fewer has the tails of single values
constexpr double kNearlyBest = 0.9;  // of the best gain

double pulled_mean(std::span<const double> values, double reach) {
  const double middle = median(values);
  double sum = 0;
  for (const double v : values) sum += std::clamp(v - middle, -reach, reach);
  return middle + sum / static_cast<double>(values.size());
}

// How little a change is shown: above 1 it has to go.
double weakness(const Fit& fit, std::size_t k) {
  const Evidence evidence = evidence_of(fit, fit.bounds[k - 1], fit.bounds[k], fit.bounds[k + 1]);
  const double step = std::abs(fit.level(k) - fit.level(k - 1));
  const double by_size = fit.least_step / std::max(step, 1e-300);
  // On a scale where p = kProof is 1 and all smaller ones are below, comparable with sizes.
  const double by_chance = std::log(kProof) / std::log(std::min(evidence.p, 0.9));
  return std::max(by_size, by_chance);
}

}  // namespace

std::span<const double> Fit::piece(std::size_t k) const {
  return std::span(clipped).subspan(bounds[k], bounds[k + 1] - bounds[k]);
}

double Fit::level(std::size_t k) const { return median(piece(k)); }

Evidence evidence_of(const Fit& fit, std::size_t begin, std::size_t at, std::size_t end) {
  const auto values = std::span<const double>(fit.clipped);
  const auto a = static_cast<double>(at - begin);
  const auto b = static_cast<double>(end - at);
  const double reach = kPull * fit.noise.marginal();
  Evidence out;
  out.shift = pulled_mean(values.subspan(at, end - at), reach) -
              pulled_mean(values.subspan(begin, at - begin), reach);
  // The shorter side may be nothing but the tail of the longer one.
  const bool upper = (b <= a) == (out.shift > 0);
  const double tail = upper ? fit.noise.tail_up : fit.noise.tail_down;
  const double widen = 1 + (tail - 1) * std::min(1.0, kShort / std::min(a, b));
  out.deviation = fit.noise.scale * widen *
                  std::sqrt(fit.noise.variance_of_mean(a) + fit.noise.variance_of_mean(b));
  const double independent = (a + b) * (1 - fit.noise.rho) / (1 + fit.noise.rho);
  out.p =
      selected_split_p(out.shift / out.deviation, independent, static_cast<double>(kLeastPiece));
  return out;
}

void drop_unproven(Fit& fit) {
  while (fit.changes() > 0) {
    std::size_t weakest = 0;
    double worst = 1;
    for (std::size_t k = 1; k <= fit.changes(); ++k) {
      const double weak = weakness(fit, k);
      if (weak <= worst) continue;
      worst = weak;
      weakest = k;
    }
    if (weakest == 0) break;
    fit.bounds.erase(fit.bounds.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
  for (std::size_t k = 1; k <= fit.changes(); ++k)
    fit.bounds[k] = place_of(fit, fit.bounds[k - 1], fit.bounds[k + 1]).best;
}

Place place_of(const Fit& fit, std::size_t begin, std::size_t end) {
  Place place{.best = begin + kLeastPiece, .first = 0, .last = 0};
  double best = -1;
  for (std::size_t at = begin + kLeastPiece; at + kLeastPiece <= end; ++at) {
    const double gain = fit.sums.gain(begin, at, end);
    if (gain <= best) continue;
    best = gain;
    place.best = at;
  }
  place.first = place.last = place.best;
  for (std::size_t at = begin + kLeastPiece; at + kLeastPiece <= end; ++at) {
    if (fit.sums.gain(begin, at, end) < kNearlyBest * best) continue;
    place.first = std::min(place.first, at);
    place.last = std::max(place.last, at);
  }
  return place;
}

}  // namespace railgauge::analysis
