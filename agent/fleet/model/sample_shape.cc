#include "agent/fleet/model/sample_shape.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/core/stats/rate.h"
#include "kernels/core/stats/stats.h"

namespace railgauge::fleet {
namespace {

constexpr double kZ95 = 1.959963984540054;
// Standard error of a median of normal samples, in standard deviations over sqrt(n).
constexpr double kMedianError = 1.2533141373155;
// The fast half of the samples is this much narrower, the slow one grows beyond normal.
constexpr double kFastSide = 0.5;
constexpr double kSlowGrowth = 0.15;
constexpr double kLeastSamples = 8;
constexpr double kLeastSlots = 8;
constexpr double kMostRaw = 100'000;
// Mean share of healthy time in pauses, as by the scheduler of a host; the rate has them already.
constexpr double kHealthyPauses = 0.0005;
// The longest of them.
constexpr double kUsualNs = 3e6;

double z_of(double q) { return boost::math::quantile(boost::math::normal(), q); }

// The factor on an operation's time at a normal score.
double slowness(double spread, double z) {
  return z < 0 ? 1 / (1 - kFastSide * spread * z) : 1 + spread * z * (1 + kSlowGrowth * z);
}

class Statistics {
 public:
  Statistics(const SampleShape& shape, const DrawKey& key)
      : shape_(shape),
        centre_(shape.figure *
                std::max(0.5, 1 + shape.spread * kMedianError / std::sqrt(shape.count) *
                                      key.with("median").normal())) {}

  // The q-quantile of the samples; of a rate, fast samples are the high ones.
  [[nodiscard]] double quantile(double q) const {
    const double n = shape_.count;
    q = std::clamp(q, 0.5 / n, 1 - 0.5 / n);
    if (shape_.is_rate) return centre_ / slowness(shape_.spread, z_of(1 - q));
    return centre_ * slowness(shape_.spread, z_of(q)) + delay(1 - q);
  }
  [[nodiscard]] double centre() const { return centre_; }
  // The share of all time that is not in a pause.
  [[nodiscard]] double moving_share() const { return 1 - pause_share(); }
  [[nodiscard]] double pause_share() const {
    return std::min(1.0, shape_.pauses * shape_.pause_ns / shape_.measure_ns);
  }
  // The share of pauses and lost packets in the mean of the samples.
  [[nodiscard]] double mean_delay() const {
    if (shape_.is_rate) return 0;
    return hit_share() * shape_.pause_ns + shape_.resent_share * shape_.resend_ns;
  }

 private:
  // Share of the samples in which a pause falls.
  [[nodiscard]] double hit_share() const { return std::min(1.0, shape_.pauses / shape_.count); }
  // The wait of the sample with a share `above` of slower ones; the longest waits are the slowest.
  [[nodiscard]] double delay(double above) const {
    const bool pause_first = shape_.pause_ns >= shape_.resend_ns;
    const std::array<std::pair<double, double>, 2> waits =
        pause_first ? std::array{std::pair{hit_share(), shape_.pause_ns},
                                 std::pair{shape_.resent_share, shape_.resend_ns}}
                    : std::array{std::pair{shape_.resent_share, shape_.resend_ns},
                                 std::pair{hit_share(), shape_.pause_ns}};
    double share = 0;
    for (const auto& [own, wait] : waits) {
      share += own;
      if (above < share) return wait;
    }
    return 0;
  }

  const SampleShape& shape_;
  double centre_;
};

void set_quantiles(const SampleShape& shape, const Statistics& statistics, Point& point) {
  point.set_p25(statistics.quantile(0.25));
  point.set_p75(statistics.quantile(0.75));
  // The interval is that of the ranks, in the normal approximation.
  const auto ends = [&](double q, auto low, auto high) {
    const double half = kZ95 * std::sqrt(q * (1 - q) / shape.count);
    if (q + half >= 1) return;
    (point.*low)(statistics.quantile(q - half));
    (point.*high)(statistics.quantile(q + half));
  };
  const auto is_bounded = [&](double q) {
    return shape.count >= static_cast<double>(samples_needed(q));
  };
  if (is_bounded(0.9)) point.set_p90(statistics.quantile(0.9));
  if (is_bounded(0.99)) {
    point.set_p99(statistics.quantile(0.99));
    ends(0.99, &Point::set_p99_low, &Point::set_p99_high);
  }
  if (is_bounded(0.999)) {
    point.set_p999(statistics.quantile(0.999));
    ends(0.999, &Point::set_p999_low, &Point::set_p999_high);
  }
}

// The rate over all time, its slots and its pauses. A pause of a slot or more stops whole slots, a
// shorter one a part of one slot.
void set_rates(const SampleShape& shape, const Statistics& statistics, const DrawKey& key,
               Point& point) {
  const double slots = std::max(1.0, std::floor(shape.measure_ns / kRateSlotNs));
  const double slot_ns = shape.measure_ns / slots;
  const double rate = statistics.centre() * statistics.moving_share();
  point.set_rate(rate);
  point.set_slot_ns(slot_ns);
  const bool is_pause = shape.pauses > 0 && shape.pause_ns >= kLeastPauseNs;
  double usual_ns = kHealthyPauses * shape.measure_ns * key.with("pauses").exponential();
  if (usual_ns < kLeastPauseNs) usual_ns = 0;
  const double share = usual_ns / shape.measure_ns + (is_pause ? statistics.pause_share() : 0);
  point.set_longest_pause_ns(std::max(is_pause ? shape.pause_ns : 0, std::min(usual_ns, kUsualNs)));
  point.set_pause_share(std::min(1.0, share));
  const bool whole = shape.pause_ns >= slot_ns;
  const double hit = whole ? statistics.pause_share() : std::min(1.0, shape.pauses / slots);
  const double left = whole ? 0 : 1 - shape.pause_ns / slot_ns;
  const auto slot = [&](double q) {
    if (q < hit) return statistics.centre() * left;
    const double rest = hit < 1 ? (q - hit) / (1 - hit) : q;
    return statistics.centre() /
           slowness(shape.spread, z_of(1 - std::clamp(rest, 0.5 / slots, 1 - 0.5 / slots)));
  };
  if (slots >= static_cast<double>(samples_needed(0.9))) point.set_slot_p10(slot(0.1));
  if (slots >= static_cast<double>(samples_needed(0.99))) point.set_slot_p1(slot(0.01));
  if (slots < kLeastSlots) return;
  const double spread =
      std::sqrt(shape.spread * shape.spread + hit * (1 - hit) * (1 - left) * (1 - left));
  const double half = kZ95 * spread / std::sqrt(slots) * statistics.centre();
  // The rate's own error is that of its slots.
  point.set_rate(std::max(0.0, rate + half / kZ95 * key.with("rate").normal() *
                                          (shape.spread / std::max(spread, 1e-12))));
  point.set_rate_low(std::max(0.0, point.rate() - half));
  point.set_rate_high(point.rate() + half);
}

void set_histogram(const SampleShape& shape, const Statistics& statistics, Point& point) {
  constexpr std::array kEdges{0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0};
  for (std::size_t i = 0; i + 1 < kEdges.size(); ++i) {
    const double count =
        std::round(shape.count * kEdges.at(i + 1)) - std::round(shape.count * kEdges.at(i));
    if (count <= 0) continue;
    point.mutable_histogram()->add_lower_bound(statistics.quantile(kEdges.at(i)));
    point.mutable_histogram()->add_count(count);
  }
}

}  // namespace

void fill_statistics(const SampleShape& shape, const DrawKey& key, Point& point) {
  const Statistics statistics(shape, key);
  point.set_sample_count(shape.count);
  point.set_effective_sample_count(shape.count);
  point.set_measure_ns(shape.measure_ns);
  point.set_median(statistics.centre());
  if (shape.count >= kLeastSamples) {
    const double half = kZ95 * kMedianError * shape.spread / std::sqrt(shape.count);
    point.set_median_low(statistics.centre() * (1 - half));
    point.set_median_high(statistics.centre() * (1 + half));
  }
  point.set_min(statistics.quantile(0));
  point.set_max(statistics.quantile(1));
  point.set_mean(statistics.centre() + statistics.mean_delay());
  point.set_stddev(shape.spread * statistics.centre());
  point.set_lag1_autocorrelation(0);
  point.set_converged(true);
  point.set_stop_reason("converged");
  set_quantiles(shape, statistics, point);
  if (shape.is_rate) set_rates(shape, statistics, key, point);
  set_histogram(shape, statistics, point);
  if (!shape.raw_samples) return;
  for (double i = 0; i < std::min(shape.count, kMostRaw); ++i)
    point.add_samples(
        statistics.quantile(key.with("sample").with(static_cast<std::uint64_t>(i)).uniform()));
}

}  // namespace railgauge::fleet
