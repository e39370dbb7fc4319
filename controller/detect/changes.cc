#include "controller/detect/changes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "controller/detect/drift.h"
#include "controller/detect/fit.h"
#include "controller/detect/modes.h"
#include "controller/detect/scale.h"
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
// random walk, and the one that a walk has: less than 1, because large differences are capped.
constexpr double kWandering = 0.65;
constexpr double kWalks = 0.85;
// Least |z| of a drift: a two-sided p of 1e-4.
constexpr double kTrendZ = 3.9;
// Least |z| of a movement that a random walk may make, a two-sided p of 1e-3, and what its square
// gains with the logarithm of the number of parts that the walk has: the largest of n independent
// normal values has 2 ln n, and parts may begin anywhere.
constexpr double kWalkZ = 3.3;
constexpr double kPartsSlope = 6;
// Least size of differences of neighbours, in sizes of the values; independent noise has 1.4.
constexpr double kRough = 0.7;
// Deviations by which the three runs on each side show a step.
constexpr double kShownZ = 4;
// Factor by which the rest of a random walk may fall short of its mean.
constexpr double kRoom = 1.1;
// Runs between the places of one step by two searches.
constexpr std::size_t kNearStep = 5;
// Runs whose level the CUSUM watches against, at least.
constexpr std::size_t kLevelRuns = 12;

// Penalty of one change, in the squared unit of the values.
double penalty_of(const Noise& noise, std::size_t runs) {
  return (kPenaltyBase + kPenaltySlope * std::log(static_cast<double>(runs))) * noise.of_mean();
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

// Drops the changes within `drift` that `is_step` does not take for a step. Returns their number.
template <class Predicate>
std::size_t drop_within(const Drift& drift, Fit& fit, const Predicate& is_step) {
  return std::erase_if(fit.bounds, [&](std::size_t at) {
    return at != 0 && at != fit.size() && at >= drift.begin && at <= drift.end && !is_step(at);
  });
}

// The standard deviation of a random walk's way from one end of the drift to the other, for noise
// `found`. A walk leaves as much beside its lines as `rest` shows, with room for chance: one line
// leaves the 15th part of the variance, and more lines leave less.
double walk_of(const Drift& drift, const Noise& found, const Fit& rest) {
  const double wanders = std::clamp((found.raw_rho - kWandering) / (kWalks - kWandering), 0.0, 1.0);
  const auto length = static_cast<double>(drift.end - drift.begin);
  const double walked = wanders * std::sqrt(2 * length) * found.scale;
  if (walked == 0) return 0;
  const auto values = std::span(rest.raw).subspan(drift.begin, drift.end - drift.begin + 1);
  const double middle = median(values);
  double squares = 0;
  for (const double v : values) squares += (v - middle) * (v - middle);
  const double left = std::sqrt(squares / (length + 1));
  return std::min(walked, kRoom * left * std::sqrt(15 * static_cast<double>(drift.parts.size())));
}

// How far the noise that remains beside the drifts is from explaining this one: above 1 it is
// proven. A random walk moves by itself, and of its parts the search takes the one that moves most.
double strength_of(const Drift& drift, const Noise& found, const Fit& rest) {
  const Noise& noise = rest.noise;
  const double deviation = drift.spread * std::sqrt(std::max(1.0, noise.factor())) * noise.scale;
  const auto length = static_cast<double>(drift.end - drift.begin);
  const double parts = std::max(1.0, static_cast<double>(rest.size()) / length);
  const double walk_z = std::sqrt(kWalkZ * kWalkZ + kPartsSlope * std::log(parts));
  return std::abs(drift.moved()) /
         std::max(kTrendZ * deviation, walk_z * walk_of(drift, found, rest));
}

// Takes the drifts that remain proven out of the values, the others one by one off the list, the
// weakest first. Returns the fit of the rest; `unproven` receives the others.
Fit prove(std::vector<Drift>& drifts, const Fit& fit, const Noise& found, const Scaled& scaled,
          const DetectorSettings& settings, std::vector<Drift>& unproven) {
  while (!drifts.empty()) {
    std::vector<double> rest = fit.raw;
    std::vector<double> curve = curve_of(drifts, scaled.indices);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= curve[i];
    Fit still = begin_fit(std::move(rest), scaled, settings);
    const auto strength = [&](const Drift& drift) { return strength_of(drift, found, still); };
    const auto weakest = std::ranges::min_element(drifts, {}, strength);
    if (strength(*weakest) > 1) {
      still.curve = std::move(curve);
      return still;
    }
    unproven.push_back(*weakest);
    drifts.erase(weakest);
  }
  return fit;
}

// Takes drifts out of the values of `fit`, which is made anew from the rest. A slope looks like
// correlated noise, so the search takes the noise about a trend; what remains has to confirm it.
std::vector<Drift> take_drifts(Fit& fit, const Scaled& scaled, const DetectorSettings& settings) {
  Noise noise = fit.noise;
  if (noise.raw_rho > kSlopeLike) {
    const Noise about = estimate_noise_about_trend(fit.raw, scaled.floor);
    // Stairs are noise about a trend; about themselves they have less.
    if (about.of_mean() < noise.of_mean()) noise = about;
  }
  // Means of few runs that alternate are not as precise as those of many.
  if (noise.rho < 0) noise = {.scale = noise.marginal()};
  const double penalty = penalty_of(noise, fit.size());
  if (!may_move(fit.clipped, scaled.indices, fit.bounds, noise, penalty)) return {};
  Movement movement =
      find_movement(fit.clipped, scaled.indices, noise,
                    {.penalty = penalty, .least_step = least_step_of(noise, scaled, settings)});
  std::vector<Drift> unproven;
  fit = prove(movement.drifts, fit, noise, scaled, settings, unproven);
  for (const Drift& drift : movement.drifts)
    drop_within(drift, fit, [&](std::size_t at) {
      return std::ranges::any_of(movement.steps, [&](std::size_t step) {
        return at + kNearStep >= step && at <= step + kNearStep;
      });
    });
  // The others are no stairs either, but a lone step or steps that show.
  const double least_jump =
      kShownZ * std::sqrt(2.0 / static_cast<double>(kLeastPiece)) * fit.noise.marginal();
  for (const Drift& drift : unproven) {
    std::vector<std::size_t> bounds = fit.bounds;
    const std::size_t dropped =
        drop_within(drift, fit, [&](std::size_t at) { return local_jump(fit, at) > least_jump; });
    if (dropped == 1) fit.bounds = std::move(bounds);
  }
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

// Even stairs from this number on are one drift, and by how much their heights and lengths differ
// at most, as a share of the mean.
constexpr std::size_t kManyStairs = 10;
constexpr double kEvenSteps = 0.25;

// A step that may take some runs: the changes bounds[first] to bounds[last] of a fit.
struct Rise {
  std::size_t first = 0;
  std::size_t last = 0;
  // Where one step fits best.
  std::size_t at = 0;
};

// Changes of one way that are all together within less than a drift's length are one step. Where
// they do not end there, they are stairs.
std::vector<Rise> rises_of(const Fit& fit) {
  std::vector<Rise> out;
  const auto way = [&](std::size_t k) { return fit.level(k) > fit.level(k - 1); };
  for (std::size_t first = 1; first <= fit.changes();) {
    std::size_t last = first;
    while (last < fit.changes() && way(last + 1) == way(first) &&
           fit.bounds[last + 1] < fit.bounds[last] + kLeastDrift)
      ++last;
    const std::size_t low = fit.bounds[first];
    const std::size_t high = fit.bounds[last];
    if (last > first && high < low + kLeastDrift) {
      const Place place = place_of(fit, fit.bounds[first - 1], fit.bounds[last + 1]);
      out.push_back({.first = first, .last = last, .at = std::clamp(place.best, low, high)});
    } else {
      for (std::size_t k = first; k <= last; ++k)
        out.push_back({.first = k, .last = k, .at = fit.bounds[k]});
    }
    first = last + 1;
  }
  return out;
}

// Reports whether all of these are alike.
bool are_even(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return squares / n - mean * mean < kEvenSteps * kEvenSteps * mean * mean;
}

// Returns one past the last of the even stairs that begin with `first`; `first` where these are
// few. Many even stairs are a slow movement with a coarse resolution.
std::size_t stairs_end(const Fit& fit, std::span<const Rise> rises, std::size_t first) {
  std::vector<double> heights;
  std::vector<double> lengths;
  std::size_t end = first;
  for (; end < rises.size(); ++end) {
    const double height = fit.level(rises[end].last) - fit.level(rises[end].first - 1);
    if (end > first && height * heights.front() < 0) break;
    heights.push_back(height);
    if (end > first) lengths.push_back(static_cast<double>(rises[end].at - rises[end - 1].at));
  }
  return end >= first + kManyStairs && are_even(heights) && are_even(lengths) ? end : first;
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
    const std::vector<Rise> rises = rises_of(fit_);
    std::vector<double> levels{fit_.level(0)};
    std::vector<std::size_t> bounds{0};
    for (const Rise& rise : rises) {
      levels.push_back(fit_.level(rise.last));
      bounds.push_back(rise.at);
    }
    const std::vector<bool> returning = returning_changes(levels);
    const auto cycle = cycle_of(bounds, returning);
    if (cycle) findings_.cycle_runs = *cycle;
    // Runs that alternate have two levels, too, but their means are precise.
    const auto mixture =
        fit_.noise.rho > kAlternating ? find_mixture(fit_) : std::optional<Mixture>();
    bool weights_reported = false;
    for (std::size_t r = 0; r < rises.size(); ++r) {
      if (cycle && returning[r]) continue;
      if (const std::size_t end = stairs_end(fit_, rises, r); end > r) {
        report_stairs(rises[r], rises[end - 1]);
        r = end - 1;
        continue;
      }
      if (!mixture || !is_mix(rises[r], *mixture)) {
        report_step(rises[r], returning[r] ? ChangeKind::kModeMix : ChangeKind::kStep);
      } else if (!weights_reported) {
        report_weights(*mixture);
        weights_reported = true;
      }
    }
  }

  void report_step(const Rise& rise, ChangeKind kind) {
    const std::size_t begin = fit_.bounds[rise.first - 1];
    const std::size_t end = fit_.bounds[rise.last + 1];
    const Place from = place_of(fit_, begin, fit_.bounds[rise.first + 1]);
    const Place to = place_of(fit_, fit_.bounds[rise.last - 1], end);
    const Evidence evidence = evidence_of(fit_, begin, rise.at, end);
    const double before = fit_.level(rise.first - 1);
    const double after = fit_.level(rise.last);
    const double drifted = fit_.drifted(rise.at);
    Change change{.index = index(rise.at),
                  .first = index(std::min(from.first, rise.at)),
                  .last = index(std::max(to.last, rise.at)),
                  .kind = kind,
                  .before = scaled_.original(before + drifted),
                  .after = scaled_.original(after + drifted),
                  .p = evidence.p};
    set_effect(change, after - before, evidence.deviation);
    findings_.changes.push_back(change);
  }

  // Reports even stairs as one drift.
  void report_stairs(const Rise& first, const Rise& last) {
    const std::size_t begin = fit_.bounds[first.first - 1];
    const std::size_t end = fit_.bounds[last.last + 1];
    const double before = fit_.level(first.first - 1);
    const double after = fit_.level(last.last);
    const double variance =
        fit_.noise.variance_of_mean(static_cast<double>(first.at - begin), fit_.noise.rho) +
        fit_.noise.variance_of_mean(static_cast<double>(end - last.at), fit_.noise.rho);
    Change change{.index = index(begin),
                  .first = index(begin),
                  .last = index(end - 1),
                  .kind = ChangeKind::kDrift,
                  .before = scaled_.original(before + fit_.drifted(begin)),
                  .after = scaled_.original(after + fit_.drifted(begin))};
    set_effect(change, after - before, fit_.noise.scale * std::sqrt(variance));
    findings_.changes.push_back(change);
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
      set_effect(change, drift.moved(),
                 drift.spread * fit_.noise.scale * std::sqrt(std::max(1.0, fit_.noise.factor())));
      findings_.changes.push_back(change);
    }
  }

  void report_spread() {
    // The distance of a random walk from any level grows and shrinks by itself.
    if (fit_.wander > 0) return;
    const std::vector<double> residuals = residuals_of(fit_);
    for (const SpreadChange& found : find_spread_changes(residuals, fit_.noise)) {
      const std::size_t run = index(found.index);
      // The change of the level is the finding; its spread follows from it. Rounding has a spread
      // too.
      if (near_another(run) || std::max(found.before, found.after) < scaled_.floor) continue;
      // A curve leaves what is no noise, and so does a season whose swing grows with the level.
      if (!fit_.curve.empty() && (season_.period > 0 || !is_rough(residuals, found))) continue;
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
           .expected = scaled_.original(level + fit_.drifted(i) + season_.at(index(i)))});
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
  // Reports whether the wider side of the change is noise: what lines leave of a curve follows its
  // neighbours.
  static bool is_rough(std::span<const double> residuals, const SpreadChange& change) {
    const auto side = change.after > change.before ? residuals.subspan(change.index)
                                                   : residuals.first(change.index);
    double sizes = 0;
    double moves = 0;
    for (std::size_t i = 1; i < side.size(); ++i) {
      sizes += std::abs(side[i]);
      moves += std::abs(side[i] - side[i - 1]);
    }
    return moves > kRough * sizes;
  }
  // Reports whether a part of the rise only moves runs between the mixture's modes.
  [[nodiscard]] bool is_mix(const Rise& rise, const Mixture& mixture) const {
    for (std::size_t k = rise.first; k <= rise.last; ++k)
      if (is_mix_of(fit_, k, mixture)) return true;
    return false;
  }
  [[nodiscard]] double effect(double shift) const {
    return scaled_.logarithmic ? std::expm1(shift) : shift * scaled_.unit;
  }
  // Sets effect and 95 % interval from a shift on the detector's scale and its standard deviation.
  void set_effect(Change& change, double shift, double deviation) const {
    change.effect = effect(shift);
    change.effect_low = effect(shift - kZ95 * deviation);
    change.effect_high = effect(shift + kZ95 * deviation);
  }
  // Reports whether a change of the level is reported near this run. A drift has two ends; between
  // them the spread may change by itself.
  [[nodiscard]] bool near_another(std::size_t run) const {
    const auto is_near = [&](std::size_t first, std::size_t last) {
      return run + kLeastPiece >= first && run <= last + kLeastPiece;
    };
    return std::ranges::any_of(findings_.changes, [&](const Change& change) {
      return change.kind == ChangeKind::kDrift
                 ? is_near(change.first, change.first) || is_near(change.last, change.last)
                 : is_near(change.first, change.last);
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
  const Season season = find_season(scaled.on_axis(values.size()), scaled.floor);
  std::vector<double> plain = scaled.values;
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] -= season.at(scaled.indices[i]);
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
