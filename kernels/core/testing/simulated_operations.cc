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

// The q-quantile of a share `upper` at `high` and the rest at `low`, each with normal noise; by
// bisection.
double quantile_of_two(double low, double high, double upper, double noise, double q) {
  double from = low - 9 * noise;
  double to = high + 9 * noise;
  for (int i = 0; i < 200; ++i) {
    const double x = (from + to) / 2;
    const double below =
        (1 - upper) * normal_cdf((x - low) / noise) + upper * normal_cdf((x - high) / noise);
    (below < q ? from : to) = x;
  }
  return (from + to) / 2;
}

double median_of_two(double low, double high, double upper, double noise) {
  return quantile_of_two(low, high, upper, noise, 0.5);
}

// The q-quantile of normal noise about 1.
std::function<double(double)> normal_quantile(double noise) {
  return [noise](double q) { return quantile_of_two(1, 1, 0, noise, q); };
}

std::function<double(const RunShape&)> always(double median) {
  return [median](const RunShape&) { return median; };
}

// The time of a sample with this value.
double time_of(double value, const RunShape& shape) { return shape.is_rate ? 1 / value : value; }

// The mean of `value(x)` over a standard normal x.
template <class Value>
double mean_over_normal(const Value& value) {
  constexpr double kFar = 8;
  constexpr int kSteps = 4000;
  double sum = 0;
  double weights = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = -kFar + 2 * kFar * i / kSteps;
    const double weight = std::exp(-x * x / 2);
    sum += weight * value(x);
    weights += weight;
  }
  return sum / weights;
}

// The mean of `value(u)` over u between 0 and 1.
template <class Value>
double mean_over_uniform(const Value& value) {
  constexpr int kSteps = 200'000;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum += value((i + 0.5) / kSteps);
  return sum / kSteps;
}

// The mean time of a level with normal noise.
double normal_time(double level, double noise, const RunShape& shape) {
  return mean_over_normal([&](double x) { return time_of(level + noise * x, shape); });
}

std::function<double(const RunShape&)> normal_time_at(double noise) {
  return [noise](const RunShape& shape) { return normal_time(1, noise, shape); };
}

// The same of two levels, a share `upper` at the higher one.
double time_of_two(double low, double high, double upper, double noise, const RunShape& shape) {
  return (1 - upper) * normal_time(low, noise, shape) + upper * normal_time(high, noise, shape);
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
  const auto add = [&out](std::string name, double median,
                          std::function<double(const RunShape&)> mean_time, auto step,
                          std::function<double(double)> quantile = {}) {
    out.push_back(
        {.name = std::move(name),
         .median = always(median),
         .start = [step](std::uint64_t seed, const RunShape&) { return series(seed, step); },
         .mean_time = std::move(mean_time),
         .quantile = std::move(quantile)});
  };
  add(
      "normal", 1, normal_time_at(noise),
      [noise](Random& random, double) { return 1 + noise * random.normal(); },
      normal_quantile(noise));
  add("lognormal", 1, always(std::exp(noise * noise / 2)),
      [noise](Random& random, double) { return std::exp(noise * random.normal()); });
  // Shape 2, unit variance: the sum of two exponentials.
  constexpr double kGammaMedian = 1.6783469900166605;
  const auto gamma_time = [noise](const RunShape& shape) {
    // The density x e^-x on 0 to 40.
    constexpr double kFar = 40;
    return kFar * mean_over_uniform([&](double u) {
             const double x = kFar * u;
             return x * std::exp(-x) * time_of(1 + noise * x / std::sqrt(2.0), shape);
           });
  };
  add("gamma", 1 + noise * kGammaMedian / std::sqrt(2.0), gamma_time,
      [noise](Random& random, double) {
        return 1 -
               noise * std::log((1 - random.uniform()) * (1 - random.uniform())) / std::sqrt(2.0);
      });
  constexpr double kParetoShape = 1.5;
  // The mean of times is 1 + 2 noise; that of inverse rates by quadrature.
  const auto pareto_time = [noise](const RunShape& shape) {
    if (!shape.is_rate) return 1 + noise / (kParetoShape - 1);
    return mean_over_uniform(
        [&](double u) { return 1 / (1 + noise * (std::pow(u, -1 / kParetoShape) - 1)); });
  };
  add(
      "Pareto 1.5", 1 + noise * (std::pow(2, 1 / kParetoShape) - 1), pareto_time,
      [noise](Random& random, double) {
        return 1 + noise * (std::pow(1 - random.uniform(), -1 / kParetoShape) - 1);
      },
      [noise](double q) { return 1 + noise * (std::pow(1 - q, -1 / kParetoShape) - 1); });
  // 2 % of the samples ten times as large: the median is the rest's 0.5 / 0.98 quantile.
  const auto spikes_time = [noise](const RunShape& shape) {
    return 0.98 * normal_time(1, noise, shape) + 0.02 * time_of(10, shape);
  };
  add("spikes", median_of_two(1, 10, 0.02, noise), spikes_time, [noise](Random& random, double) {
    return random.uniform() < 0.02 ? 10 : 1 + noise * random.normal();
  });
  const auto bimodal_time = [noise](const RunShape& shape) {
    return time_of_two(1, 1 + kApart * noise, kUpperShare, noise, shape);
  };
  add(
      "bimodal", median_of_two(1, 1 + kApart * noise, kUpperShare, noise), bimodal_time,
      [noise](Random& random, double) {
        return 1 + (random.uniform() < kUpperShare ? kApart * noise : 0) + noise * random.normal();
      },
      [noise](double q) { return quantile_of_two(1, 1 + kApart * noise, kUpperShare, noise, q); });
  // Rounding keeps the order, so the median of the rounded is the rounded median.
  for (const double tick : {0.001, 0.02}) {
    constexpr double kOffGrid = 1.013;
    const auto value = [noise, tick](double x) {
      return std::round(kOffGrid * std::exp(noise * x) / tick) * tick;
    };
    add(
        fmt::format("quantised {}", tick), value(0),
        [value](const RunShape& shape) {
          return mean_over_normal([&](double x) { return time_of(value(x), shape); });
        },
        [value](Random& random, double) { return value(random.normal()); });
  }
}

void add_dependent(double noise, std::vector<SimulatedOperation>& out) {
  for (const double correlation : {0.5, 0.8, 0.9, 0.95, 0.99})
    out.push_back({.name = fmt::format("AR(1) {}", correlation),
                   .median = always(1),
                   .start =
                       [=](std::uint64_t seed, const RunShape&) {
                         return series(seed, [noise, chain = Autoregression{correlation}](
                                                 Random& random, double) mutable {
                           return 1 + noise * chain.next(random);
                         });
                       },
                   .mean_time = normal_time_at(noise),
                   .quantile = normal_quantile(noise)});
  // Stays 1.3 times the given share of the shortest run low, 0.7 times high, on average.
  for (const double stay : {0.02, 0.1, 0.3}) {
    const auto start = [=](std::uint64_t seed, const RunShape& shape) {
      const double length = std::max(2.0, stay * shape.shortest);
      return series(seed, [=, high = false](Random& random, double index) mutable {
        if (index == 0) high = random.uniform() < kUpperShare;
        const double value = 1 + (high ? kApart * noise : 0) + noise * random.normal();
        const double mean_stay = 2 * length * (high ? kUpperShare : 1 - kUpperShare);
        if (random.uniform() < 1 / mean_stay) high = !high;
        return value;
      });
    };
    out.push_back({.name = fmt::format("blocks of {} n0", stay),
                   .median = always(median_of_two(1, 1 + kApart * noise, kUpperShare, noise)),
                   .start = start,
                   .mean_time = [noise](const RunShape& shape) {
                     return time_of_two(1, 1 + kApart * noise, kUpperShare, noise, shape);
                   }});
  }
}

// Periods are no whole numbers, so that all phases occur.
void add_periodic(double noise, std::vector<SimulatedOperation>& out) {
  constexpr double kOdd = 0.1373;
  const auto mean_time = [noise](const RunShape& shape) {
    constexpr int kPhases = 200;
    double sum = 0;
    for (int i = 0; i < kPhases; ++i)
      sum += normal_time(1 + kMove * std::sin(2 * M_PI * i / kPhases), noise, shape);
    return sum / kPhases;
  };
  for (const double period : {0.1, 0.7, 2.0, 5.0}) {
    const auto start = [=](std::uint64_t seed, const RunShape& shape) {
      const double length = period * shape.shortest + kOdd;
      return series(seed, [=, phase = -1.0](Random& random, double index) mutable {
        if (phase < 0) phase = random.uniform();
        return 1 + kMove * std::sin(2 * M_PI * (index / length + phase)) + noise * random.normal();
      });
    };
    out.push_back({.name = fmt::format("period {} n0", period),
                   .median = always(1),
                   .start = start,
                   .mean_time = mean_time});
  }
}

// A straight line over the allowed time; the truth is its middle.
void add_drifting(double noise, std::vector<SimulatedOperation>& out) {
  const auto add = [&](const std::string& name, double change, double correlation) {
    const auto start = [=](std::uint64_t seed, const RunShape& shape) {
      return series(seed,
                    [=, chain = Autoregression{correlation}](Random& random, double index) mutable {
                      return 1 + change * index / shape.allowed + noise * chain.next(random);
                    });
    };
    const auto mean_time = [=](const RunShape& shape) {
      constexpr int kPlaces = 200;
      double sum = 0;
      for (int i = 0; i < kPlaces; ++i)
        sum += normal_time(1 + change * (i + 0.5) / kPlaces, noise, shape);
      return sum / kPlaces;
    };
    out.push_back(
        {.name = name, .median = always(1 + change / 2), .start = start, .mean_time = mean_time});
  };
  for (const double change : {0.004, 0.01, 0.02, 0.03, 0.05, 0.2})
    add(fmt::format("drift {} %", 100 * change), change, 0);
  add("AR(1) 0.5 + drift 2 %", 0.02, 0.5);
  add("AR(1) 0.8 + drift 5 %", 0.05, 0.8);
}

// One step up at `at(shape)` samples; the truth is the median of both levels over the allowed time.
void add_stepping(double noise, std::vector<SimulatedOperation>& out) {
  const auto add = [&](std::string name, bool is_beyond, bool is_placed_by_typical, auto at) {
    const auto median = [=](const RunShape& shape) {
      return median_of_two(1, 1 + kMove, 1 - at(shape) / shape.allowed, noise);
    };
    const auto start = [=](std::uint64_t seed, const RunShape& shape) {
      return series(seed, [=, place = at(shape)](Random& random, double index) {
        return 1 + (index >= place ? kMove : 0) + noise * random.normal();
      });
    };
    const auto mean_time = [=](const RunShape& shape) {
      return time_of_two(1, 1 + kMove, 1 - at(shape) / shape.allowed, noise, shape);
    };
    out.push_back({.name = std::move(name),
                   .median = median,
                   .start = start,
                   .mean_time = mean_time,
                   .is_beyond = is_beyond,
                   .is_placed_by_typical = is_placed_by_typical});
  };
  add("step at n0 / 2", false, false, [](const RunShape& shape) { return shape.shortest / 2; });
  add("step in the middle", false, true, [](const RunShape& shape) { return shape.typical / 2; });
  add("step after the end", true, true, [](const RunShape& shape) {
    return std::max(0.45 * shape.allowed, std::min(1.2 * shape.typical, 0.9 * shape.allowed));
  });
}

// The pauses of one operation.
struct Pauses {
  double ns = 0;
  double share = 0;
  bool is_random = false;
};

// Working time until the next pause counts down; a pause lengthens the sample in which it begins.
struct PausedSteps {
  Pauses pauses;
  double noise = 0;
  RunShape shape;
  double work_left_ns = -1;

  double gap(Random& random) const {
    const double mean_ns = pauses.ns * (1 - pauses.share) / pauses.share;
    return pauses.is_random ? -mean_ns * std::log(1 - random.uniform()) : mean_ns;
  }
  double operator()(Random& random, double index) {
    double ns = shape.sample_ns * time_of(1 + noise * random.normal(), shape);
    double left_ns = ns;
    const auto pause = [&](double length_ns) {
      ns += length_ns;
      if (shape.pauses_met != nullptr) ++*shape.pauses_met;
    };
    if (index == 0) {
      work_left_ns = random.uniform() * gap(random);
      if (pauses.is_random) work_left_ns = gap(random);
      if (random.uniform() < pauses.share) {
        pause(random.uniform() * pauses.ns);
        work_left_ns = gap(random);
      }
    }
    for (; work_left_ns < left_ns; work_left_ns = gap(random)) {
      left_ns -= work_left_ns;
      pause(pauses.ns);
    }
    work_left_ns -= left_ns;
    return shape.is_rate ? shape.sample_ns / ns : ns / shape.sample_ns;
  }
};

}  // namespace

std::vector<SimulatedOperation> paused_operations(double noise) {
  std::vector<SimulatedOperation> out;
  for (const bool is_random : {true, false})
    for (const double share : {0.01, 0.05, 0.2})
      for (const double ms : {2.0, 20.0, 100.0, 500.0}) {
        const Pauses pauses{.ns = ms * 1e6, .share = share, .is_random = is_random};
        out.push_back(
            {.name = fmt::format("{} % in {} pauses of {} ms", 100 * share,
                                 is_random ? "random" : "regular", ms),
             .median = {},
             .start =
                 [=](std::uint64_t seed, const RunShape& shape) {
                   return series(seed, PausedSteps{pauses, noise, shape});
                 },
             .mean_time =
                 [=](const RunShape& shape) { return normal_time(1, noise, shape) / (1 - share); },
             .noise = noise,
             .has_pauses = true});
      }
  return out;
}

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
