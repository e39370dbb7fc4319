#include "controller/parts/alarms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "controller/parts/layer_fit.h"
#include "controller/stats/distributions.h"

namespace railgauge::parts {
namespace {

constexpr std::size_t kModes = 2;
constexpr double kChanceOfStatistic =
    kFalseNights / static_cast<double>(kTables * kStatistics * kModes);
// Nights that a part's own past leaves out, so that a fresh loss is not part of it.
constexpr std::size_t kFreshNights = 6;
constexpr std::size_t kPastNights = 6;
// Nights that give a part's own scatter, and how many of its deviations a loss is at least. With
// fewer nights thresholds are larger by a factor.
constexpr std::size_t kOwnNights = 8;
constexpr std::array<double, kStatistics> kOwnDeviations{3, 1.8, 1.3, 1, 2};
constexpr double kWithoutOwn = 1.25;
// A loss that is so many errors above the least one is below it in 5 of 100 cases.
constexpr double kMissedDeviations = 1.645;
// Fewest parts, or windows of parts, that give a scatter.
constexpr std::size_t kFewestPeers = 4;
constexpr std::size_t kFewestWindows = 8;
// Values from which on the tails of the scatter are known.
constexpr std::size_t kManyValues = 400;
// A table of fewer parts says too little about its tails: its threshold is so many times as large.
// Chosen with parts_bench: skewed noise of 64 nodes had a false finding in 2 of 100 nights.
constexpr std::size_t kSomeParts = 1'024;
constexpr double kUnknownTails = 1.1;
// A table of so many parts needs no windows of the past.
constexpr std::size_t kManyParts = 256;

// The measured nights of one part, the newest first.
struct Past {
  std::vector<double> loss{};
  std::vector<double> error{};
};

// A statistic of one part at one night.
struct Value {
  std::size_t part = 0;
  double loss = 0;
  double error = 0;
};

// Nights that a statistic looks at, and the fewest that it needs.
struct Reach {
  std::size_t window = 1;
  std::size_t least = 1;
};
Reach reach_of(Statistic statistic) {
  static constexpr std::array<Reach, kStatistics> kReaches{Reach{1, 1}, Reach{2, 2}, Reach{4, 4},
                                                           Reach{8, 8}, Reach{6, 4}};
  return kReaches.at(static_cast<std::size_t>(statistic));
}

double mean_without_worst(std::span<const double> loss) {
  double sum = 0;
  double worst = loss.front();
  for (const double one : loss) {
    sum += one;
    worst = std::max(worst, one);
  }
  return (sum - worst) / static_cast<double>(loss.size() - 1);
}

// The second largest loss, with the larger error of the two nights that show it: nights with few
// figures are often the worst ones.
Value second_largest(std::span<const double> loss, std::span<const double> error) {
  std::size_t first = 0;
  std::size_t second = 1;
  if (loss[second] > loss[first]) std::swap(first, second);
  for (std::size_t i = 2; i < loss.size(); ++i) {
    if (loss[i] > loss[first])
      second = std::exchange(first, i);
    else if (loss[i] > loss[second])
      second = i;
  }
  return {.loss = loss[second], .error = std::max(error[first], error[second])};
}

// The statistic of the nights from `skip` on; absent without enough nights.
std::optional<Value> value_of(Statistic statistic, const Past& past, std::size_t skip,
                              std::size_t part) {
  const Reach reach = reach_of(statistic);
  if (past.loss.size() < skip + reach.least) return std::nullopt;
  const std::size_t count = std::min(reach.window, past.loss.size() - skip);
  const std::span<const double> loss = std::span(past.loss).subspan(skip, count);
  const std::span<const double> errors = std::span(past.error).subspan(skip, count);
  Value value{.loss = loss[0], .error = errors[0]};
  switch (statistic) {
    case Statistic::kTonight:
      break;
    case Statistic::kTwoNights:
      value = {.loss = std::min(loss[0], loss[1]), .error = std::max(errors[0], errors[1])};
      break;
    case Statistic::kFourNights:
    case Statistic::kEightNights: {
      double squares = 0;
      for (const double error : errors) squares += error * error;
      value = {.loss = mean_without_worst(loss),
               .error = std::sqrt(squares / static_cast<double>(count * (count - 1)))};
      break;
    }
    case Statistic::kSecondOfSix:
      value = second_largest(loss, errors);
      break;
  }
  value.part = part;
  return value;
}

double share_of(std::vector<double>& values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

// Scatter of healthy values about 0: the larger of two quantiles of the distance, so that two modes
// and rounded figures do not look quiet. Few values: quantiles that a single bad part does not
// move.
double scatter_of(const std::vector<double>& values) {
  std::vector<double> away;
  for (const double value : values) away.push_back(std::abs(value));
  const bool many = away.size() >= 100;
  const double half = share_of(away, 0.5) / 0.6745;
  return std::max(half, many ? share_of(away, 0.9) / 1.6449 : share_of(away, 0.68) / 0.9945);
}

// Values from which on the tail of the gains counts: its third value, which two repaired parts do
// not reach, and the factor from there to any healthy part of the table.
constexpr std::size_t kTailValues = 256;
constexpr std::size_t kTailRank = 3;
constexpr double kTailFactor = 1.5;

// The part of the losses that real faults may make: a hundredth, or as many as two nodes of 16
// ports have, which are more on a small site.
constexpr double kFaultyShare = 0.01;
constexpr double kFaultyValues = 32;

// How much heavier than normal the tails are, at least 1. `z`: losses up to the percentile that
// real faults do not reach. `mirrored`: the same statistic of the gains, which no fault makes.
double tails_of(std::vector<double> z, std::vector<double> mirrored, double threshold) {
  if (z.size() < kManyValues) return 1;
  const double share = 1 - std::max(kFaultyShare, kFaultyValues / static_cast<double>(z.size()));
  double tails = std::max(1.0, share_of(z, share) / analysis::normal_quantile(share));
  if (mirrored.size() < kTailValues) return tails;
  const auto tail = mirrored.begin() + static_cast<std::ptrdiff_t>(kTailRank - 1);
  std::ranges::nth_element(mirrored, tail, std::greater());
  return std::max(tails, kTailFactor * *tail / threshold);
}

// The scatter of one statistic over the parts of a table.
struct Scatter {
  double centre = 0;
  // Variance between parts beyond the noise of figures.
  double between = 0;
  // Spread over the usual error.
  double times = 1;
  // The divisor of standardised values.
  double scale = 1;
  // Least z of an alarm.
  double threshold = 0;
  double degrees = 0;
  // Deviation of a value before the scale. Differences between parts add to the error of their
  // figures; noise that the figures of a round share multiplies it. The larger one counts.
  [[nodiscard]] double deviation(const Value& value) const {
    return std::max({std::sqrt(between + value.error * value.error), times * value.error, 1e-6});
  }
  [[nodiscard]] double error(const Value& value) const { return scale * deviation(value); }
};

// All values of a statistic: those of tonight, and those of earlier windows that do not overlap.
struct Values {
  std::vector<Value> tonight{};
  std::vector<Value> all{};
  // As `all`, of gains in place of losses.
  std::vector<Value> mirrored{};
};

// The distances from the median, in deviations; sets the centre.
std::vector<double> standardised(const std::vector<Value>& values, const Scatter& scatter,
                                 double& centre) {
  std::vector<double> z;
  for (const Value& value : values) z.push_back(value.loss);
  std::vector<double> copy = z;
  centre = share_of(copy, 0.5);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = (z[i] - centre) / scatter.deviation(values[i]);
  return z;
}

std::optional<Scatter> scatter_of(const Values& values, std::size_t parts) {
  if (values.tonight.empty() || values.all.size() < kFewestWindows) return std::nullopt;
  std::vector<double> losses;
  std::vector<double> errors;
  for (const Value& value : values.all) {
    losses.push_back(value.loss);
    errors.push_back(value.error * value.error);
  }
  Scatter scatter{.centre = share_of(losses, 0.5)};
  for (double& loss : losses) loss -= scatter.centre;
  const double spread = scatter_of(losses);
  const double usual = share_of(errors, 0.5);
  scatter.between = std::max(0.0, spread * spread - usual);
  scatter.times = spread / std::sqrt(std::max(usual, 1e-12));
  std::vector<double> z = standardised(values.all, scatter, scatter.centre);
  scatter.scale = std::max(scatter_of(z), 0.3);
  double other_centre = 0;
  std::vector<double> mirrored = standardised(values.mirrored, scatter, other_centre);
  for (std::vector<double>* const each : {&z, &mirrored})
    for (double& one : *each) one /= scatter.scale;
  scatter.degrees = std::clamp(0.4 * static_cast<double>(values.all.size() - 1), 3.0, 1e6);
  scatter.threshold =
      -analysis::student_quantile(kChanceOfStatistic / static_cast<double>(parts), scatter.degrees);
  if (parts < kSomeParts) scatter.threshold *= kUnknownTails;
  scatter.scale *= tails_of(std::move(z), std::move(mirrored), scatter.threshold);
  return scatter;
}

// The part's measured nights, the newest first; empty when the last night lacks it.
void take_past(const Table& table, std::size_t nights, std::size_t part, Past& past) {
  past.loss.clear();
  past.error.clear();
  if (!table.at(nights - 1, part).known()) return;
  for (std::size_t night = nights; night-- > 0;) {
    const Level& level = table.at(night, part);
    if (!level.known()) continue;
    past.loss.push_back(static_cast<double>(level.loss));
    past.error.push_back(static_cast<double>(level.error));
  }
}

// Deviation of the part's own nights, by their better half, which a fault of the last nights does
// not widen; 0 where there are too few. Links whose few figures share their noise differ more from
// night to night than others of their kind.
double own_scatter_of(const Past& past) {
  if (past.loss.size() < kOwnNights) return 0;
  std::vector<double> loss = past.loss;
  std::ranges::sort(loss);
  const auto at = [&](double share) {
    return loss[static_cast<std::size_t>(share * static_cast<double>(loss.size() - 1))];
  };
  // The deciles 1 and 4 of normal values are 1.028 deviations apart; the least of 8 to 35 values is
  // about so far below their median.
  const double least = 0.75 * std::sqrt(2 * std::log(static_cast<double>(loss.size())));
  return std::max((at(0.4) - at(0.1)) / 1.028, (at(0.5) - at(0)) / least);
}

// Takes the part's own level away; returns it, or nothing when its past is too short.
std::optional<double> take_own_level(Past& past) {
  if (past.loss.size() < kFreshNights + kPastNights) return std::nullopt;
  std::vector<double> old(past.loss.begin() + kFreshNights, past.loss.end());
  const double level = share_of(old, 0.5);
  for (double& loss : past.loss) loss -= level;
  return level;
}

// The search in one table.
class Search {
 public:
  Search(const Table& table, std::size_t nights)
      : table_(table), nights_(nights), best_(table.parts), tonight_(table.parts) {}

  TableAlarms run() {
    for (const bool change : {false, true}) {
      gather(change);
      for (std::size_t i = 0; i < kStatistics; ++i) judge(static_cast<Statistic>(i), change);
    }
    for (std::size_t part = 0; part < table_.parts; ++part) {
      if (best_[part].z > 0) found_.confirmed.push_back(best_[part]);
      if (tonight_[part].z > 0) found_.tonight.push_back(tonight_[part]);
    }
    return std::move(found_);
  }

 private:
  void gather(bool change) {
    values_ = {};
    before_.assign(table_.parts, 0);
    own_.assign(table_.parts, 0);
    Past past;
    const bool is_small = table_.parts < kManyParts;
    for (std::size_t part = 0; part < table_.parts; ++part) {
      take_past(table_, nights_, part, past);
      if (past.loss.empty()) continue;
      own_[part] = own_scatter_of(past);
      if (change) {
        const std::optional<double> level = take_own_level(past);
        if (!level) continue;
        before_[part] = *level;
      }
      Past gains = past;
      for (double& gain : gains.loss) gain = -gain;
      for (std::size_t i = 0; i < kStatistics; ++i) {
        const auto statistic = static_cast<Statistic>(i);
        const std::size_t window = reach_of(statistic).window;
        for (std::size_t skip = 0; skip == 0 || is_small; skip += window) {
          const std::optional<Value> value = value_of(statistic, past, skip, part);
          if (!value) break;
          if (skip == 0) values_[i].tonight.push_back(*value);
          values_[i].all.push_back(*value);
          values_[i].mirrored.push_back(*value_of(statistic, gains, skip, part));
        }
      }
    }
  }

  void judge(Statistic statistic, bool change) {
    const Values& values = values_[static_cast<std::size_t>(statistic)];
    if (!change && values.tonight.size() < kFewestPeers) return;
    const std::optional<Scatter> scatter = scatter_of(values, table_.parts);
    if (!scatter) return;
    note_power(statistic, change, *scatter, values);
    note_parts(statistic, *scatter, values);
    for (const Value& value : values.tonight) {
      const double loss = value.loss - scatter->centre;
      if (loss < least_loss(statistic, *scatter, value)) continue;
      const double error = scatter->error(value);
      const double z = loss / error;
      Alarm alarm{.part = value.part,
                  .statistic = statistic,
                  .is_change = change,
                  .loss = loss,
                  .error = error,
                  .before = before_[value.part],
                  .z = z};
      alarm.chance = std::min(1.0, analysis::student_upper_tail(z, scatter->degrees) *
                                       static_cast<double>(table_.parts));
      Alarm& best = statistic == Statistic::kTonight ? tonight_[value.part] : best_[value.part];
      if (z > best.z) best = alarm;
    }
  }

  // The least loss of the part that is an alarm.
  [[nodiscard]] double least_loss(Statistic statistic, const Scatter& scatter,
                                  const Value& value) const {
    const double own = own_[value.part];
    return std::max({kLeastLoss,
                     scatter.threshold * (own > 0 ? 1 : kWithoutOwn) * scatter.error(value),
                     kOwnDeviations[static_cast<std::size_t>(statistic)] * own});
  }

  // A loss of that size is an alarm in 95 of 100 cases. Comparison with peers and with the part's
  // own past both may see it, so that the lesser of the two is seen.
  void note_parts(Statistic statistic, const Scatter& scatter, const Values& values) {
    std::vector<double>* const shown = statistic == Statistic::kTonight     ? &found_.tonight_shows
                                       : statistic == Statistic::kTwoNights ? &found_.two_show
                                                                            : nullptr;
    if (shown == nullptr) return;
    shown->resize(table_.parts, 0);
    for (const Value& value : values.tonight) {
      double& least = (*shown)[value.part];
      const double loss =
          least_loss(statistic, scatter, value) + kMissedDeviations * scatter.error(value);
      if (least == 0 || loss < least) least = loss;
    }
  }

  // The smallest loss that crosses the threshold in 95 of 100 cases, of a part with usual noise.
  void note_power(Statistic statistic, bool change, const Scatter& scatter, const Values& values) {
    double* const visible = statistic == Statistic::kTwoNights    ? &found_.visible_in_two
                            : statistic == Statistic::kFourNights ? &found_.visible_in_four
                                                                  : nullptr;
    if (visible == nullptr) return;
    std::vector<double> errors;
    for (const Value& value : values.tonight) errors.push_back(scatter.error(value));
    const double error = share_of(errors, 0.5);
    const double loss = std::max(kLeastLoss, scatter.threshold * error) + kMissedDeviations * error;
    if (!change || *visible == 0 || loss < *visible) *visible = loss;
  }

  const Table& table_;
  const std::size_t nights_;
  std::array<Values, kStatistics> values_{};
  std::vector<double> before_{};
  // By part; 0: not known.
  std::vector<double> own_{};
  // By part; z is 0 where there is none.
  std::vector<Alarm> best_;
  std::vector<Alarm> tonight_;
  TableAlarms found_{};
};

}  // namespace

TableAlarms alarms_of(const Table& table, std::size_t nights) {
  if (table.parts == 0) return {};
  return Search(table, nights).run();
}

}  // namespace railgauge::parts
