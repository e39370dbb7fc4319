#include "controller/detect/changes.h"

#include <algorithm>
#include <cmath>

#include "controller/detect/drift.h"
#include "controller/detect/excursions.h"
#include "controller/detect/fit.h"
#include "controller/detect/modes.h"
#include "controller/detect/spikes.h"
#include "controller/stats/cusum.h"
#include "controller/stats/robust.h"
#include "controller/stats/scale.h"
#include "controller/stats/spread.h"

namespace railgauge::analysis {
namespace {

constexpr double kSpikeLimit = 4;   // deviations from the running median
constexpr double kPenaltyBase = 4;  // a change costs base + slope ln n, in deviations squared
constexpr double kPenaltySlope = 2.4;
constexpr double kLeastStep = 0.8;  // deviations of single values
constexpr double kHalf = 0.5;       // of the practical bound
constexpr double kZ95 = 1.96;
constexpr std::size_t kLevelRuns = 12;  // runs whose level the CUSUM watches against, at least

Fit begin_fit(const Scaled& scaled, const DetectorSettings& settings) {
  Fit fit;
  fit.raw = scaled.values;
  fit.noise = estimate_noise(scaled.values, scaled.floor, settings.prior);
  Clipped clipped = clip_spikes(scaled.values, kSpikeLimit * fit.noise.scale);
  fit.clipped = std::move(clipped.values);
  fit.spikes = std::move(clipped.indices);
  fit.sums = PrefixSums(fit.clipped);
  const auto n = static_cast<double>(fit.size());
  fit.penalty = (kPenaltyBase + kPenaltySlope * std::log(n)) * fit.noise.factor() *
                fit.noise.scale * fit.noise.scale;
  const double bound = scaled.logarithmic ? kHalf * std::log1p(settings.delta) : 0;
  fit.least_step = std::max(kLeastStep * fit.noise.marginal(), bound);
  fit.bounds = {0};
  for (const std::size_t at : pelt(fit.sums, fit.penalty, kLeastPiece)) fit.bounds.push_back(at);
  fit.bounds.push_back(fit.size());
  return fit;
}

// The residuals of the fit; ramps are subtracted too.
std::vector<double> residuals_of(const Fit& fit, std::span<const Ramp> ramps) {
  std::vector<double> out = fit.clipped;
  for (const Ramp& ramp : ramps)
    for (std::size_t i = ramp.begin; i < out.size(); ++i) {
      const double share = static_cast<double>(std::min(i, ramp.end) - ramp.begin) /
                           static_cast<double>(ramp.end - ramp.begin);
      out[i] -= share * (ramp.after - ramp.before);
    }
  for (std::size_t k = 0; k + 1 < fit.bounds.size(); ++k) {
    const auto piece =
        std::span<double>(out).subspan(fit.bounds[k], fit.bounds[k + 1] - fit.bounds[k]);
    const double level = median(piece);
    for (double& v : piece) v -= level;
  }
  return out;
}

class Teller {
 public:
  Teller(const Scaled& scaled, const Fit& fit, Findings& findings)
      : scaled_(scaled), fit_(fit), findings_(findings) {}

  void tell_steps();
  void tell_ramps(std::span<const Ramp> ramps);
  void tell_weights(const Mixture& mixture);
  void tell_spread(std::span<const Ramp> ramps);
  void tell_spikes();
  void tell_suspicion();

 private:
  [[nodiscard]] std::size_t index(std::size_t i) const { return scaled_.indices[i]; }
  [[nodiscard]] double effect(double shift) const {
    return scaled_.logarithmic ? std::expm1(shift) : shift * scaled_.unit;
  }
  void set_effect(Change& change, double shift, double deviation) const {
    change.effect = effect(shift);
    change.effect_low = effect(shift - kZ95 * deviation);
    change.effect_high = effect(shift + kZ95 * deviation);
  }
  [[nodiscard]] bool near_another(std::size_t run) const {
    return std::ranges::any_of(findings_.changes, [&](const Change& change) {
      return run + kLeastPiece >= change.first && run <= change.last + kLeastPiece;
    });
  }

  const Scaled& scaled_;
  const Fit& fit_;
  Findings& findings_;
};

void Teller::tell_steps() {
  if (fit_.changes() == 0) return;
  std::vector<double> levels;
  for (std::size_t k = 0; k <= fit_.changes(); ++k) levels.push_back(fit_.level(k));
  const std::vector<bool> returning = returning_changes(levels);
  findings_.cycle_runs = cycle_of(fit_.bounds, returning).value_or(0);
  const auto mixture = find_mixture(fit_);
  bool weights_told = false;
  for (std::size_t k = 1; k <= fit_.changes(); ++k) {
    const std::size_t begin = fit_.bounds[k - 1];
    const std::size_t end = fit_.bounds[k + 1];
    const Evidence evidence = evidence_of(fit_, begin, fit_.bounds[k], end);
    const Place place = place_of(fit_, begin, end);
    const bool mixes = mixture && is_mix_of(fit_, k, *mixture);
    if (findings_.cycle_runs > 0 && returning[k - 1]) continue;
    if (mixes && weights_told) continue;  // one finding for all of them
    if (mixes) {
      tell_weights(*mixture);
      weights_told = true;
      continue;
    }
    Change change{.index = index(fit_.bounds[k]),
                  .first = index(std::min(place.first, fit_.bounds[k])),
                  .last = index(std::max(place.last, fit_.bounds[k])),
                  .kind = returning[k - 1] ? ChangeKind::kModeMix : ChangeKind::kStep,
                  .before = scaled_.original(fit_.level(k - 1)),
                  .after = scaled_.original(fit_.level(k)),
                  .p = evidence.p};
    set_effect(change, fit_.level(k) - fit_.level(k - 1), evidence.deviation);
    findings_.changes.push_back(change);
  }
}

void Teller::tell_weights(const Mixture& mixture) {
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

void Teller::tell_ramps(std::span<const Ramp> ramps) {
  for (const Ramp& ramp : ramps) {
    Change change{.index = index(ramp.begin),
                  .first = index(ramp.begin),
                  .last = index(ramp.end),
                  .kind = ChangeKind::kDrift,
                  .before = scaled_.original(ramp.before),
                  .after = scaled_.original(ramp.after)};
    set_effect(change, ramp.after - ramp.before, ramp.deviation);
    findings_.changes.push_back(change);
  }
}

void Teller::tell_spread(std::span<const Ramp> ramps) {
  const std::vector<double> residuals = residuals_of(fit_, ramps);
  for (const SpreadChange& found : find_spread_changes(residuals, fit_.noise)) {
    const std::size_t run = index(found.index);
    if (near_another(run)) continue;  // the level's change is the finding
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

void Teller::tell_spikes() {
  for (const std::size_t i : fit_.spikes) {
    const auto after = std::ranges::upper_bound(fit_.bounds, i);
    const auto k = static_cast<std::size_t>(after - fit_.bounds.begin()) - 1;
    const double level = fit_.level(k);
    // At the edge of a step the running median may lag; what fits its level is no spike.
    if (std::abs(fit_.raw[i] - level) <= kSpikeLimit * fit_.noise.scale) continue;
    findings_.spikes.push_back({.index = index(i),
                                .value = scaled_.original(fit_.raw[i]),
                                .expected = scaled_.original(level)});
  }
}

void Teller::tell_suspicion() {
  const std::size_t begin = fit_.bounds[fit_.bounds.size() - 2];
  const auto piece = std::span<const double>(fit_.raw).subspan(begin);
  if (piece.size() <= kLevelRuns) return;
  const double deviation = fit_.noise.scale * std::sqrt(fit_.noise.factor());
  const Cusum cusum = cusum_of(piece, median(piece), deviation);
  if (const auto since = cusum.alarm_since())
    findings_.suspected_since = index(std::min(begin + *since, fit_.size() - 1));
}

}  // namespace

std::string_view word(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kStep:
      return "step";
    case ChangeKind::kDrift:
      return "drift";
    case ChangeKind::kVariance:
      return "variance";
    case ChangeKind::kModeMix:
      break;
  }
  return "mode_mix";
}

Findings detect_changes(std::span<const double> values, const DetectorSettings& settings) {
  const Scaled scaled = to_scale(values, settings.resolution);
  Findings findings;
  findings.runs = scaled.values.size();
  findings.relative = scaled.logarithmic;
  findings.too_few = scaled.values.size() < kMinRuns;
  if (findings.too_few) return findings;
  Fit fit = begin_fit(scaled, settings);
  std::vector<Ramp> ramps;
  if (fit.changes() > 0) drop_spike_clusters(fit);
  estimate_tails(residuals_of(fit, {}), settings.prior, fit.noise);
  if (fit.changes() > 0) {
    drop_unproven(fit);
    ramps = stairs_to_ramps(fit);
  }
  find_late_drift(fit, ramps);
  findings.noise = fit.noise;
  Teller teller(scaled, fit, findings);
  teller.tell_steps();
  teller.tell_ramps(ramps);
  teller.tell_spread(ramps);
  teller.tell_spikes();
  teller.tell_suspicion();
  std::ranges::stable_sort(findings.changes, {}, &Change::index);
  return findings;
}

}  // namespace railgauge::analysis
