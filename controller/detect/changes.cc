#include "controller/detect/changes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "controller/detect/drift.h"
#include "controller/detect/fit.h"
#include "controller/detect/modes.h"
#include "controller/detect/season.h"
#include "controller/stats/noise.h"
#include "kernels/core/stats/quantile.h"

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

namespace {

// Deviations from the running median beyond which a value is a spike.
constexpr double kSpikeLimit = 4;
// A change costs base + slope ln n, in deviations squared.
constexpr double kPenaltyBase = 4;
constexpr double kPenaltySlope = 2.4;
// Least reported step, in deviations of single values.
constexpr double kLeastStep = 0.8;
// A reported step is at least this share of the practical bound.
constexpr double kHalf = 0.5;
constexpr double kZ95 = 1.96;
// A correlation of neighbours above which a slope may be the reason.
constexpr double kSlopeLike = 0.3;
// A correlation of neighbours, smooth movement apart, above which a series begins to be like a
// random walk, which has 1.
constexpr double kWandering = 0.6;
// Least |z| of a drift: a two-sided p of 1e-4.
constexpr double kTrendZ = 3.9;
// Runs between the places of one step by two searches.
constexpr std::size_t kNearStep = 5;
// Runs whose level the CUSUM watches against, at least.
constexpr std::size_t kLevelRuns = 12;

// Conversion of measured values to the detector's scale.
struct Scaled {
  // Values of the runs that have one, in order, on the detector's scale.
  std::vector<double> values;
  // Index in the input of each of these values.
  std::vector<std::size_t> indices;
  bool logarithmic = false;
  // Divisor of the values where they are not logarithms.
  double unit = 1;
  // Least deviation that noise is taken to have, in the values' scale.
  double floor = 0;

  [[nodiscard]] double original(double scaled) const;
};

constexpr double kLowQuantile = 0.02;
// Logarithms need a low quantile of more than this share of the median.
constexpr double kLowestShare = 0.05;
// Values are quantised when so few of them are different.
constexpr double kFewSteps = 0.25;
// Least floor as a share of the largest value, for series that are mostly zero.
constexpr double kLeastFloor = 1e-7;
// The variance of rounding is resolution^2 / 12.
constexpr double kUniform = 12;

// The smallest distance between different values when few are different, else 0.
// A quantised series repeats its values: the least step between them is the resolution.
double estimate_resolution(std::vector<double> values) {
  std::ranges::sort(values);
  double smallest = std::numeric_limits<double>::infinity();
  std::size_t different = 1;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double step = values[i] - values[i - 1];
    if (step <= 0) continue;
    ++different;
    smallest = std::min(smallest, step);
  }
  const bool few = static_cast<double>(different) <= kFewSteps * static_cast<double>(values.size());
  return few && different > 1 ? smallest : 0;
}

double Scaled::original(double scaled) const {
  return logarithmic ? std::exp(scaled) : scaled * unit;
}

// Logarithms where all values are positive and of one order of magnitude, so that effects are
// fractions; else the values themselves.
Scaled to_scale(std::span<const double> values, double least_noise) {
  Scaled out;
  out.values.reserve(values.size());
  out.indices.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    out.values.push_back(values[i]);
    out.indices.push_back(i);
  }
  if (out.values.empty()) return out;
  const auto [least, most] = std::ranges::minmax(out.values);
  std::vector<double> scratch = out.values;
  // Halves, since the sum of two huge values may not be a number; quantiles are only compared here.
  for (double& v : scratch) v /= 2;
  const double middle = 2 * median_in(scratch);
  out.logarithmic = least > 0 && 2 * quantile_in(scratch, kLowQuantile) > kLowestShare * middle;
  const double rounding = estimate_resolution(out.values) / std::sqrt(kUniform);
  if (out.logarithmic) {
    out.floor = std::max({rounding / middle, least_noise, kLeastFloor});
    for (double& v : out.values) v = std::log(v);
    return out;
  }
  out.unit = std::max(std::abs(least), std::abs(most));
  if (out.unit == 0) out.unit = 1;
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    out.values[i] /= out.unit;
    scratch[i] = std::abs(out.values[i]);
  }
  // The floor of a series about zero is that of its usual distance from zero.
  out.floor = std::max({rounding / out.unit, least_noise * median_in(scratch), kLeastFloor});
  return out;
}

// Penalty of one change, in the squared unit of the values.
double penalty_of(const Noise& noise, std::size_t runs) {
  return (kPenaltyBase + kPenaltySlope * std::log(static_cast<double>(runs))) * noise.factor() *
         noise.scale * noise.scale;
}

// Least step of a level. Where runs alternate, means are more precise than single values show.
double least_step_of(const Noise& noise, const Scaled& scaled, const DetectorSettings& settings) {
  const double sharper = noise.rho < 0 ? std::sqrt(1 + noise.rho) : 1;
  const double bound = scaled.logarithmic ? kHalf * std::log1p(settings.delta) : 0;
  return std::max(kLeastStep * noise.marginal() * sharper, bound);
}

// Prepares the fit: noise, clipped values, penalty and least step, then the segmentation by PELT.
// drop_unproven() removes most of its changes later.
Fit begin_fit(std::vector<double> values, const Scaled& scaled, const DetectorSettings& settings) {
  Fit fit;
  fit.raw = std::move(values);
  fit.noise = estimate_noise(fit.raw, scaled.floor, settings.prior);
  Clipped clipped = clip_spikes(fit.raw, kSpikeLimit * fit.noise.scale);
  fit.clipped = std::move(clipped.values);
  fit.spikes = std::move(clipped.indices);
  fit.sums = PrefixSums(fit.clipped);
  fit.penalty = penalty_of(fit.noise, fit.size());
  fit.least_step = least_step_of(fit.noise, scaled, settings);
  fit.bounds = {0};
  for (const std::size_t at : pelt(fit.sums, fit.penalty, kLeastPiece)) fit.bounds.push_back(at);
  fit.bounds.push_back(fit.size());
  return fit;
}

// Drops changes within a drift that are no step between its lines.
void drop_within_drifts(const Movement& movement, Fit& fit) {
  std::erase_if(fit.bounds, [&](std::size_t at) {
    if (at == 0 || at == fit.size()) return false;
    const bool within = std::ranges::any_of(movement.drifts, [&](const Drift& drift) {
      return at + kNearStep >= drift.begin && at <= drift.end + kNearStep;
    });
    return within && std::ranges::none_of(movement.steps, [&](std::size_t step) {
             return at + kNearStep >= step && at <= step + kNearStep;
           });
  });
}

// Reports whether the noise that remains beside the drifts leaves each of them significant. A
// random walk moves by itself: the root of the length times its step.
bool is_proven(std::span<const Drift> drifts, const Noise& found, const Noise& rest) {
  const double wanders = std::clamp((found.raw_rho - kWandering) / (1 - kWandering), 0.0, 1.0);
  return std::ranges::all_of(drifts, [&](const Drift& drift) {
    const auto length = static_cast<double>(drift.end - drift.begin);
    const double moved = std::abs(drift.after - drift.before);
    const double deviation = std::sqrt(12 * std::max(1.0, rest.factor()) / length) * rest.scale;
    const double walked = wanders * std::sqrt(2 * length) * found.scale;
    return moved > kTrendZ * std::max(deviation, walked);
  });
}

// Takes drifts out of the values of `fit`, which is made anew from the rest. A slope looks like
// correlated noise, so the search takes the noise about a trend; what remains has to confirm it.
std::vector<Drift> take_drifts(Fit& fit, const Scaled& scaled, const DetectorSettings& settings) {
  Noise noise = fit.noise;
  if (noise.raw_rho > kSlopeLike) noise = estimate_noise_about_trend(fit.raw, scaled.floor);
  // Means of few runs that alternate are not as precise as those of many.
  if (noise.rho < 0) noise = {.scale = noise.marginal()};
  if (!may_move(fit.clipped, fit.bounds, noise)) return {};
  Movement movement = find_movement(fit.clipped, noise,
                                    {.penalty = penalty_of(noise, fit.size()),
                                     .least_step = least_step_of(noise, scaled, settings)});
  if (movement.drifts.empty()) return {};
  std::vector<double> rest = fit.raw;
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= movement.curve[i];
  Fit still = begin_fit(std::move(rest), scaled, settings);
  if (!is_proven(movement.drifts, noise, still.noise)) {
    // Not proven to be a drift, and no stairs either; a lone step may be one.
    if (fit.changes() > 1) drop_within_drifts(movement, fit);
    return {};
  }
  fit = std::move(still);
  drop_within_drifts(movement, fit);
  fit.curve = std::move(movement.curve);
  return movement.drifts;
}

// The residuals of the fit.
std::vector<double> residuals_of(const Fit& fit) {
  std::vector<double> out = fit.clipped;
  for (std::size_t k = 0; k + 1 < fit.bounds.size(); ++k) {
    const auto piece =
        std::span<double>(out).subspan(fit.bounds[k], fit.bounds[k + 1] - fit.bounds[k]);
    const double level = fit.level(k);
    for (double& v : piece) v -= level;
  }
  return out;
}

// Turns the pieces of a fit into findings, in the unit and with the run indices of the input. Each
// report_ function appends one kind.
class ChangeReporter {
 public:
  ChangeReporter(const Scaled& scaled, const Season& season, const Fit& fit, Findings& findings)
      : scaled_(scaled), season_(season), fit_(fit), findings_(findings) {}

  // A regular swing is no change. All changes between the modes of one mixture are one finding.
  void report_steps() {
    if (fit_.changes() == 0) return;
    std::vector<double> levels;
    for (std::size_t k = 0; k <= fit_.changes(); ++k) levels.push_back(fit_.level(k));
    const std::vector<bool> returning = returning_changes(levels);
    if (const auto cycle = cycle_of(fit_.bounds, returning)) findings_.cycle_runs = *cycle;
    const bool swings = cycle_of(fit_.bounds, returning).has_value();
    // Runs that alternate have two levels, too, but their means are precise.
    const auto mixture =
        fit_.noise.rho > kAlternating ? find_mixture(fit_) : std::optional<Mixture>();
    bool weights_reported = false;
    for (std::size_t k = 1; k <= fit_.changes(); ++k) {
      const std::size_t begin = fit_.bounds[k - 1];
      const std::size_t end = fit_.bounds[k + 1];
      const Evidence evidence = evidence_of(fit_, begin, fit_.bounds[k], end);
      const Place place = place_of(fit_, begin, end);
      const bool mixes = mixture && is_mix_of(fit_, k, *mixture);
      if (swings && returning[k - 1]) continue;
      // All changes between the modes are one finding.
      if (mixes && weights_reported) continue;
      if (mixes) {
        report_weights(*mixture);
        weights_reported = true;
        continue;
      }
      const double drifted = fit_.drifted(fit_.bounds[k]);
      Change change{.index = index(fit_.bounds[k]),
                    .first = index(std::min(place.first, fit_.bounds[k])),
                    .last = index(std::max(place.last, fit_.bounds[k])),
                    .kind = returning[k - 1] ? ChangeKind::kModeMix : ChangeKind::kStep,
                    .before = scaled_.original(fit_.level(k - 1) + drifted),
                    .after = scaled_.original(fit_.level(k) + drifted),
                    .p = evidence.p};
      set_effect(change, fit_.level(k) - fit_.level(k - 1), evidence.deviation);
      findings_.changes.push_back(change);
    }
  }

  // Reports that the share of runs in the upper mode changed.
  void report_weights(const Mixture& mixture) {
    const auto moved = find_weight_change(fit_, mixture);
    if (!moved) return;
    Change change{.index = index(moved->index),
                  .first = index(moved->index),
                  .last = index(moved->index),
                  .kind = ChangeKind::kModeMix,
                  .before = scaled_.original(mixture.low),
                  .after = scaled_.original(mixture.high),
                  .p = moved->p};
    // The effect of the weights on the mean.
    set_effect(change, (moved->after - moved->before) * (mixture.high - mixture.low), 0);
    findings_.changes.push_back(change);
  }

  void report_drifts(std::span<const Drift> drifts) {
    for (const Drift& drift : drifts) {
      Change change{.index = index(drift.begin),
                    .first = index(drift.begin),
                    .last = index(drift.end),
                    .kind = ChangeKind::kDrift,
                    .before = scaled_.original(drift.before),
                    .after = scaled_.original(drift.after)};
      set_effect(change, drift.after - drift.before, drift.deviation);
      findings_.changes.push_back(change);
    }
  }

  void report_spread() {
    // The distance of a random walk from any level grows and shrinks by itself.
    if (fit_.wander > 0) return;
    const std::vector<double> residuals = residuals_of(fit_);
    for (const SpreadChange& found : find_spread_changes(residuals, fit_.noise)) {
      const std::size_t run = index(found.index);
      // The change of the level is the finding; its spread follows from it.
      if (near_another(run)) continue;
      const double scale = scaled_.logarithmic ? 1 : scaled_.unit;
      const double ratio = found.after / std::max(found.before, 1e-300) - 1;
      findings_.changes.push_back({.index = run,
                                   .first = run,
                                   .last = run,
                                   .kind = ChangeKind::kVariance,
                                   .before = scale * found.before,
                                   .after = scale * found.after,
                                   .effect = ratio,
                                   .effect_low = ratio,
                                   .effect_high = ratio,
                                   .p = found.p});
    }
  }

  // Reports clipped values that do not fit the final levels either.
  void report_spikes() {
    for (const std::size_t i : fit_.spikes) {
      const auto after = std::ranges::upper_bound(fit_.bounds, i);
      const auto k = static_cast<std::size_t>(after - fit_.bounds.begin()) - 1;
      const double level = fit_.level(k);
      // At the edge of a step the running median may lag; what fits its level is no spike.
      const double limit =
          std::max(kSpikeLimit * fit_.noise.scale, fit_.curve.empty() ? 0 : fit_.least_step_at(i));
      if (std::abs(fit_.raw[i] - level) <= limit) continue;
      findings_.spikes.push_back(
          {.index = index(i),
           .value = scaled_.original(scaled_.values[i]),
           .expected = scaled_.original(level + fit_.drifted(i) + season_.at(i))});
    }
  }

  // Flags a shift in the newest runs that is too young for the segmentation.
  void report_suspicion() {
    const std::size_t begin = fit_.bounds[fit_.bounds.size() - 2];
    const auto piece = std::span<const double>(fit_.raw).subspan(begin);
    if (piece.size() <= kLevelRuns) return;
    const double deviation = fit_.noise.scale * std::sqrt(fit_.noise.factor());
    const Cusum cusum = cusum_of(piece, median(piece), deviation);
    if (const auto since = cusum.alarm_since())
      findings_.suspected_since = index(std::min(begin + *since, fit_.size() - 1));
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t i) const { return scaled_.indices[i]; }
  [[nodiscard]] double effect(double shift) const {
    return scaled_.logarithmic ? std::expm1(shift) : shift * scaled_.unit;
  }
  // Sets effect and 95 % interval from a shift on the detector's scale and its standard deviation.
  void set_effect(Change& change, double shift, double deviation) const {
    change.effect = effect(shift);
    change.effect_low = effect(shift - kZ95 * deviation);
    change.effect_high = effect(shift + kZ95 * deviation);
  }
  // Reports whether a change is already reported near this run.
  [[nodiscard]] bool near_another(std::size_t run) const {
    return std::ranges::any_of(findings_.changes, [&](const Change& change) {
      return run + kLeastPiece >= change.first && run <= change.last + kLeastPiece;
    });
  }

  const Scaled& scaled_;
  const Season& season_;
  const Fit& fit_;
  Findings& findings_;
};

// Sorts the changes and parts those that are nearer than a least piece: a drift behind a step
// begins a piece later, and of two other changes the first remains.
void part_changes(const std::vector<std::size_t>& indices, std::vector<Change>& changes) {
  const auto place = [&](std::size_t run) {
    return static_cast<std::size_t>(std::ranges::lower_bound(indices, run) - indices.begin());
  };
  const auto order = [](const Change& a, const Change& b) {
    return std::pair(a.index, a.kind == ChangeKind::kDrift) <
           std::pair(b.index, b.kind == ChangeKind::kDrift);
  };
  for (Change& change : changes) {
    if (change.kind != ChangeKind::kDrift) continue;
    for (const Change& other : changes) {
      const std::size_t at = place(other.index);
      const std::size_t begin = place(change.index);
      if (other.kind == ChangeKind::kDrift || begin + kLeastPiece <= at ||
          at + kLeastPiece <= begin)
        continue;
      change.index = change.first =
          std::min(indices[std::min(at + kLeastPiece, indices.size() - 1)], change.last);
    }
  }
  std::ranges::stable_sort(changes, order);
  std::vector<Change> kept;
  for (const Change& change : changes)
    if (kept.empty() || place(change.index) >= place(kept.back().index) + kLeastPiece)
      kept.push_back(change);
  changes = std::move(kept);
}

}  // namespace

Findings detect_changes(std::span<const double> values, const DetectorSettings& settings) {
  const Scaled scaled = to_scale(values, settings.least_noise);
  Findings findings;
  findings.runs = scaled.values.size();
  findings.relative = scaled.logarithmic;
  findings.too_few = scaled.values.size() < kMinRuns;
  if (findings.too_few) return findings;
  const Season season = find_season(scaled.values);
  std::vector<double> plain = scaled.values;
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] -= season.at(i);
  Fit fit = begin_fit(std::move(plain), scaled, settings);
  const std::vector<Drift> drifts = take_drifts(fit, scaled, settings);
  if (fit.changes() > 0) drop_spike_clusters(fit);
  estimate_tails(residuals_of(fit), settings.prior, fit.noise);
  if (fit.changes() > 0) drop_unproven(fit);
  findings.noise = fit.noise;
  findings.cycle_runs = season.period;
  ChangeReporter reporter(scaled, season, fit, findings);
  reporter.report_steps();
  reporter.report_drifts(drifts);
  reporter.report_spread();
  reporter.report_spikes();
  reporter.report_suspicion();
  part_changes(scaled.indices, findings.changes);
  return findings;
}

}  // namespace railgauge::analysis
