// Each family of operations in a function; its truth beside it.
#include "kernels/core/testing/simulated_operations.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace railgauge {
namespace {

// Distance of two levels, in standard deviations of the noise.
constexpr double kApart = 6;
// Share of the upper one of two modes; a half would have no median.
constexpr double kUpperShare = 0.35;
// Size of a step, and amplitude of a wave.
constexpr double kMove = 0.05;

// Random numbers of one series.
struct Random {
  explicit Random(std::uint64_t seed) : engine(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  double normal() { return gauss(engine); }
  double uniform() { return flat(engine); }

  std::mt19937_64 engine;
  std::normal_distribution<double> gauss{0, 1};
  std::uniform_real_distribution<double> flat{0, 1};
};

// Makes a series from `step`, a callable (Random&, index) that may keep state.
template <class Step>
NextValue series(std::uint64_t seed, Step step) {
  auto state = std::make_shared<std::pair<Random, Step>>(Random(seed), std::move(step));
  auto index = std::make_shared<double>(0);
  return [state, index] { return state->second(state->first, (*index)++); };
}

double normal_cdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// Median of a share `upper` at `high` and the rest at `low`, each with normal noise; by bisection.
double median_of_two(double low, double high, double upper, double noise) {
  double from = low - 9 * noise;
  double to = high + 9 * noise;
  for (int i = 0; i < 200; ++i) {
    const double x = (from + to) / 2;
    const double below =
        (1 - upper) * normal_cdf((x - low) / noise) + upper * normal_cdf((x - high) / noise);
    (below < 0.5 ? from : to) = x;
  }
  return (from + to) / 2;
}

std::function<double(const RunShape&)> always(double median) {
  return [median](const RunShape&) { return median; };
}

// Stationary first-order autoregression with unit variance.
struct Autoregression {
  double correlation = 0;
  bool begun = false;
  double x = 0;
  double next(Random& random) {
    x = begun ? correlation * x + std::sqrt(1 - correlation * correlation) * random.normal()
              : random.normal();
    begun = true;
    return x;
  }
};

void add_independent(double noise, std::vector<SimulatedOperation>& out) {
  const auto add = [&out](std::string name, double median, auto step) {
    out.push_back({std::move(name), always(median),
                   [step](std::uint64_t seed, const RunShape&) { return series(seed, step); }});
  };
  add("normal", 1, [noise](Random& random, double) { return 1 + noise * random.normal(); });
  add("lognormal", 1,
      [noise](Random& random, double) { return std::exp(noise * random.normal()); });
  // Shape 2, unit variance: the sum of two exponentials.
  constexpr double kGammaMedian = 1.6783469900166605;
  add("gamma", 1 + noise * kGammaMedian / std::sqrt(2.0), [noise](Random& random, double) {
    return 1 - noise * std::log((1 - random.uniform()) * (1 - random.uniform())) / std::sqrt(2.0);
  });
  constexpr double kParetoShape = 1.5;
  add("Pareto 1.5", 1 + noise * (std::pow(2, 1 / kParetoShape) - 1),
      [noise](Random& random, double) {
        return 1 + noise * (std::pow(1 - random.uniform(), -1 / kParetoShape) - 1);
      });
  // 2 % of the samples ten times as large: the median is the rest's 0.5 / 0.98 quantile.
  add("spikes", median_of_two(1, 10, 0.02, noise), [noise](Random& random, double) {
    return random.uniform() < 0.02 ? 10 : 1 + noise * random.normal();
  });
  add("bimodal", median_of_two(1, 1 + kApart * noise, kUpperShare, noise),
      [noise](Random& random, double) {
        return 1 + (random.uniform() < kUpperShare ? kApart * noise : 0) + noise * random.normal();
      });
  // Rounding keeps the order, so the median of the rounded is the rounded median.
  for (const double tick : {0.001, 0.02}) {
    constexpr double kOffGrid = 1.013;
    add(fmt::format("quantised {}", tick), std::round(kOffGrid / tick) * tick,
        [noise, tick](Random& random, double) {
          return std::round(kOffGrid * std::exp(noise * random.normal()) / tick) * tick;
        });
  }
}

void add_dependent(double noise, std::vector<SimulatedOperation>& out) {
  for (const double correlation : {0.5, 0.8, 0.9, 0.95, 0.99})
    out.push_back(
        {fmt::format("AR(1) {}", correlation), always(1), [=](std::uint64_t seed, const RunShape&) {
           return series(
               seed, [noise, chain = Autoregression{correlation}](Random& random, double) mutable {
                 return 1 + noise * chain.next(random);
               });
         }});
  // Stays 1.3 times the given share of the shortest run low, 0.7 times high, on average.
  for (const double stay : {0.02, 0.1, 0.3})
    out.push_back({fmt::format("blocks of {} n0", stay),
                   always(median_of_two(1, 1 + kApart * noise, kUpperShare, noise)),
                   [=](std::uint64_t seed, const RunShape& shape) {
                     const double length = std::max(2.0, stay * shape.shortest);
                     return series(seed, [=, high = false](Random& random, double index) mutable {
                       if (index == 0) high = random.uniform() < kUpperShare;
                       const double value =
                           1 + (high ? kApart * noise : 0) + noise * random.normal();
                       const double mean_stay = 2 * length * (high ? kUpperShare : 1 - kUpperShare);
                       if (random.uniform() < 1 / mean_stay) high = !high;
                       return value;
                     });
                   }});
}

// Periods are no whole numbers, so that all phases occur.
void add_periodic(double noise, std::vector<SimulatedOperation>& out) {
  constexpr double kOdd = 0.1373;
  for (const double period : {0.1, 0.7, 2.0, 5.0})
    out.push_back({fmt::format("period {} n0", period), always(1),
                   [=](std::uint64_t seed, const RunShape& shape) {
                     const double length = period * shape.shortest + kOdd;
                     return series(seed, [=, phase = -1.0](Random& random, double index) mutable {
                       if (phase < 0) phase = random.uniform();
                       return 1 + kMove * std::sin(2 * M_PI * (index / length + phase)) +
                              noise * random.normal();
                     });
                   }});
}

// A straight line over the allowed time; the truth is its middle.
void add_drifting(double noise, std::vector<SimulatedOperation>& out) {
  const auto add = [&](const std::string& name, double change, double correlation) {
    out.push_back({name, always(1 + change / 2), [=](std::uint64_t seed, const RunShape& shape) {
                     return series(seed, [=, chain = Autoregression{correlation}](
                                             Random& random, double index) mutable {
                       return 1 + change * index / shape.allowed + noise * chain.next(random);
                     });
                   }});
  };
  for (const double change : {0.004, 0.01, 0.02, 0.03, 0.05, 0.2})
    add(fmt::format("drift {} %", 100 * change), change, 0);
  add("AR(1) 0.5 + drift 2 %", 0.02, 0.5);
  add("AR(1) 0.8 + drift 5 %", 0.05, 0.8);
}

// One step up at `at(shape)` samples; the truth is the median of both levels over the allowed time.
void add_stepping(double noise, std::vector<SimulatedOperation>& out) {
  const auto add = [&](std::string name, bool is_beyond, auto at) {
    const auto median = [=](const RunShape& shape) {
      return median_of_two(1, 1 + kMove, 1 - at(shape) / shape.allowed, noise);
    };
    const auto start = [=](std::uint64_t seed, const RunShape& shape) {
      return series(seed, [=, place = at(shape)](Random& random, double index) {
        return 1 + (index >= place ? kMove : 0) + noise * random.normal();
      });
    };
    out.push_back({std::move(name), median, start, is_beyond});
  };
  add("step at n0 / 2", false, [](const RunShape& shape) { return shape.shortest / 2; });
  add("step in the middle", false, [](const RunShape& shape) { return shape.typical / 2; });
  add("step after the end", true, [](const RunShape& shape) {
    return std::max(0.45 * shape.allowed, std::min(1.2 * shape.typical, 0.9 * shape.allowed));
  });
}

}  // namespace

std::vector<SimulatedOperation> simulated_operations(double noise) {
  std::vector<SimulatedOperation> out;
  add_independent(noise, out);
  add_dependent(noise, out);
  add_periodic(noise, out);
  add_drifting(noise, out);
  add_stepping(noise, out);
  for (SimulatedOperation& operation : out) operation.noise = noise;
  return out;
}

}  // namespace railgauge
