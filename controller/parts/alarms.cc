#include "controller/parts/alarms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <span>

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
// Fewest parts, or windows of parts, that give a scatter.
constexpr std::size_t kFewestPeers = 4;
constexpr std::size_t kFewestWindows = 8;
// Values from which on the tails of the scatter are known.
constexpr std::size_t kManyValues = 400;
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

double second_largest(std::span<const double> loss) {
  double first = -std::numeric_limits<double>::infinity();
  double second = first;
  for (const double one : loss) {
    if (one > first) {
      second = first;
      first = one;
    } else {
      second = std::max(second, one);
    }
  }
  return second;
}

// The statistic of the nights from `skip` on; absent without enough nights.
std::optional<Value> value_of(Statistic statistic, const Past& past, std::size_t skip,
                              std::size_t part) {
  const Reach reach = reach_of(statistic);
  if (past.loss.size() < skip + reach.least) return std::nullopt;
  const std::size_t count = std::min(reach.window, past.loss.size() - skip);
  const std::span<const double> loss = std::span(past.loss).subspan(skip, count);
  double error = 0;
  for (const double one : std::span(past.error).subspan(skip, count))
    error += one / static_cast<double>(count);
  switch (statistic) {
    case Statistic::kTonight:
      return Value{.part = part, .loss = loss[0], .error = error};
    case Statistic::kTwoNights:
      return Value{.part = part, .loss = std::min(loss[0], loss[1]), .error = error};
    case Statistic::kFourNights:
    case Statistic::kEightNights:
      return Value{.part = part,
                   .loss = mean_without_worst(loss),
                   .error = error / std::sqrt(static_cast<double>(count - 1))};
    case Statistic::kSecondOfSix:
      return Value{.part = part, .loss = second_largest(loss), .error = error};
  }
  return std::nullopt;
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

// Tails of many values: a rank that a few repaired parts do not reach, and the factor from there to
// any healthy part of the table.
struct TailRank {
  std::size_t values = 0;
  std::size_t rank = 0;
  double factor = 1;
};
constexpr std::array kTailRanks{TailRank{2'000, 10, 1.6}, TailRank{256, 3, 1.4}};

// How much heavier than normal the tails are, at least 1. `z`: losses up to the percentile that
// real faults do not reach. `mirrored`: the same statistic of the gains, which no fault makes.
double tails_of(std::vector<double> z, std::vector<double> mirrored, double threshold) {
  if (z.size() < kManyValues) return 1;
  double tails = std::max(1.0, share_of(z, 0.99) / 2.3263);
  for (const TailRank& tail : kTailRanks) {
    if (mirrored.size() < tail.values) continue;
    std::ranges::nth_element(
        mirrored, mirrored.begin() + static_cast<std::ptrdiff_t>(tail.rank - 1), std::greater());
    return std::max(tails, tail.factor * mirrored[tail.rank - 1] / threshold);
  }
  return tails;
}

// The scatter of one statistic over the parts of a table.
struct Scatter {
  double centre = 0;
  // Variance between parts beyond the noise of figures.
  double between = 0;
  // The divisor of standardised values.
  double scale = 1;
  // Least z of an alarm.
  double threshold = 0;
  double degrees = 0;
  [[nodiscard]] double error(const Value& value) const {
    return scale * std::sqrt(between + value.error * value.error);
  }
};

// All values of a statistic: those of tonight, and those of earlier windows that do not overlap.
struct Values {
  std::vector<Value> tonight{};
  std::vector<Value> all{};
  // As `all`, of gains in place of losses.
  std::vector<Value> mirrored{};
};

// The distances from the median, in deviations; sets the centre.
std::vector<double> standardised(const std::vector<Value>& values, double between, double& centre) {
  std::vector<double> z;
  for (const Value& value : values) z.push_back(value.loss);
  std::vector<double> copy = z;
  centre = share_of(copy, 0.5);
  for (std::size_t i = 0; i < z.size(); ++i)
    z[i] = (z[i] - centre) / std::sqrt(between + values[i].error * values[i].error + 1e-12);
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
  scatter.between = std::max(0.0, spread * spread - share_of(errors, 0.5));
  std::vector<double> z = standardised(values.all, scatter.between, scatter.centre);
  scatter.scale = std::max(scatter_of(z), 0.3);
  double other_centre = 0;
  std::vector<double> mirrored = standardised(values.mirrored, scatter.between, other_centre);
  for (std::vector<double>* const each : {&z, &mirrored})
    for (double& one : *each) one /= scatter.scale;
  scatter.degrees = std::clamp(0.4 * static_cast<double>(values.all.size() - 1), 3.0, 1e6);
  scatter.threshold =
      -analysis::student_quantile(kChanceOfStatistic / static_cast<double>(parts), scatter.degrees);
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
    Past past;
    const bool is_small = table_.parts < kManyParts;
    for (std::size_t part = 0; part < table_.parts; ++part) {
      take_past(table_, nights_, part, past);
      if (past.loss.empty()) continue;
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
    for (const Value& value : values.tonight) {
      const double error = scatter->error(value);
      const double loss = value.loss - scatter->centre;
      const double z = loss / error;
      if (z < scatter->threshold || loss < kLeastLoss) continue;
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

  // The smallest loss that crosses the threshold in 95 of 100 cases, of a part with usual noise.
  void note_power(Statistic statistic, bool change, const Scatter& scatter, const Values& values) {
    double* const visible = statistic == Statistic::kTwoNights    ? &found_.visible_in_two
                            : statistic == Statistic::kFourNights ? &found_.visible_in_four
                                                                  : nullptr;
    if (visible == nullptr) return;
    std::vector<double> errors;
    for (const Value& value : values.tonight) errors.push_back(scatter.error(value));
    const double error = share_of(errors, 0.5);
    const double loss = std::max(kLeastLoss, scatter.threshold * error) + 1.645 * error;
    if (!change || *visible == 0 || loss < *visible) *visible = loss;
  }

  const Table& table_;
  const std::size_t nights_;
  std::array<Values, kStatistics> values_{};
  std::vector<double> before_{};
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
