#include "controller/verdict/testing/families.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "controller/detect/changes.h"

namespace railgauge::analysis {
namespace {

constexpr double kAbout = 100;
using Sizes = std::vector<std::size_t>;
const Sizes kAllLengths{12, 30, 60, 120, 365, 1000};
const Sizes kSomeLengths{30, 60, 120, 365};
const Sizes kLongLengths{60, 120, 365};

// Uniform in [low, high).
double between(double low, double high, Chance& chance) {
  return low + (high - low) * chance.uniform();
}

// A run in the middle half.
std::size_t middle_run(std::size_t runs, Chance& chance) {
  return static_cast<std::size_t>(static_cast<double>(runs) * between(0.25, 0.75, chance));
}

double sign(Chance& chance) { return chance.uniform() < 0.5 ? -1 : 1; }

// Adds a step of `size` and notes it; `taken` runs are between the two levels.
void add_step(Sample& sample, std::size_t at, double size, std::size_t taken = 0) {
  for (std::size_t i = at; i < sample.values.size(); ++i)
    sample.values[i] +=
        size * static_cast<double>(std::min(i - at, taken) + 1) / static_cast<double>(taken + 1);
  sample.truth.steps.push_back({.at = at, .size = size, .taken = taken});
}

// Takes values away, each with the given chance.
void lose_runs(Sample& sample, double share, Chance& chance) {
  for (double& v : sample.values)
    if (chance.uniform() < share) v = std::numeric_limits<double>::quiet_NaN();
}

Sample white(std::size_t runs, Chance& chance, double sigma = 1) {
  Sample out;
  out.values.resize(runs);
  for (double& v : out.values) v = kAbout + sigma * chance.normal();
  return out;
}

Sample correlated(std::size_t runs, double rho, Chance& chance) {
  Sample out{.values = correlated_noise(runs, rho, chance)};
  for (double& v : out.values) v += kAbout;
  return out;
}

// Shapes over x in [0, 1], from 0 to 1 or nearly so.
double linear(double x) { return x; }
double quadratic(double x) { return x * x; }
double saturating(double x) { return 1 - std::exp(-3 * x); }
double logistic(double x) { return 1 / (1 + std::exp(-12 * (x - 0.5))); }
double half_sine(double x) { return (1 - std::cos(0.9 * std::numbers::pi * x)) / 2; }

using Shape = double (*)(double);

// Adds a movement of `size` over the whole series. Its extent is where all but the first and the
// last 3 % of it happens.
void add_shape(Sample& sample, Shape shape, double size) {
  constexpr double kEdge = 0.03;
  const auto last = static_cast<double>(sample.values.size() - 1);
  std::size_t begin = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < sample.values.size(); ++i) {
    const double share = shape(static_cast<double>(i) / last);
    sample.values[i] += size * share;
    if (share <= kEdge * shape(1)) begin = i;
    if (share < (1 - kEdge) * shape(1)) end = i + 1;
  }
  sample.truth.drifts.push_back({.begin = begin, .end = end, .size = size * (shape(1) - shape(0))});
}

// Adds an even movement from run `begin` to run `end`.
void add_ramp(Sample& sample, std::size_t begin, std::size_t end, double size) {
  for (std::size_t i = begin; i < sample.values.size(); ++i)
    sample.values[i] +=
        size * static_cast<double>(std::min(i, end) - begin) / static_cast<double>(end - begin);
  sample.truth.drifts.push_back({.begin = begin, .end = end, .size = size});
}

// A trend of 8 to 30 deviations, or of so many that no noise is seen.
Family trend(std::string_view name, Shape shape, bool quiet) {
  return {name, kSomeLengths, [shape, quiet](std::size_t runs, Chance& chance) {
            Sample out = white(runs, chance, quiet ? 0.02 : 1);
            const double size = between(8, 30, chance) * sign(chance);
            add_shape(out, shape, size);
            return out;
          }};
}

Family noise_of(std::string_view name, double rho) {
  return {name, kAllLengths,
          [rho](std::size_t runs, Chance& chance) { return correlated(runs, rho, chance); }};
}

// A step of `size` deviations in AR(1) noise.
Family step_in(std::string_view name, double rho, double size) {
  return {name, kSomeLengths, [rho, size](std::size_t runs, Chance& chance) {
            Sample out = correlated(runs, rho, chance);
            add_step(out, middle_run(runs, chance), size * sign(chance));
            return out;
          }};
}

double student3(Chance& chance) {
  double square = 0;
  for (int i = 0; i < 3; ++i) square += std::pow(chance.normal(), 2);
  return chance.normal() / std::sqrt(square / 3);
}

Sample heavy(std::size_t runs, Chance& chance) {
  Sample out;
  out.values.resize(runs);
  for (double& v : out.values) v = kAbout + student3(chance);
  return out;
}

Sample walk(std::size_t runs, Chance& chance) {
  Sample out;
  double at = kAbout;
  for (std::size_t i = 0; i < runs; ++i) out.values.push_back(at += chance.normal());
  return out;
}

// A week: a sine of 3 deviations, or two low days of seven.
Sample week(std::size_t runs, Chance& chance, bool weekend) {
  Sample out = white(runs, chance);
  for (std::size_t i = 0; i < runs; ++i)
    out.values[i] += weekend ? (i % 7 >= 5 ? -6 : 0)
                             : 3 * std::sin(2 * std::numbers::pi * static_cast<double>(i) / 7);
  return out;
}

// Even runs `swing` above, odd ones below, from `begin` to `end`.
Sample alternating(std::size_t runs, Chance& chance, double swing, std::size_t end) {
  Sample out = white(runs, chance);
  for (std::size_t i = 0; i < end; ++i) out.values[i] += i % 2 == 0 ? swing : -swing;
  return out;
}

// Bursts of 3 to 6 runs, 8 deviations high, 1 of 40 runs begins one.
Sample bursts(std::size_t runs, Chance& chance) {
  Sample out = white(runs, chance);
  for (std::size_t i = 0; i < runs; ++i) {
    if (chance.uniform() > 1.0 / 40) continue;
    const auto length = static_cast<std::size_t>(between(3, 7, chance));
    for (std::size_t k = 0; k < length && i < runs; ++k, ++i) out.values[i] += 8;
  }
  return out;
}

Sample null_of(Null kind, std::size_t runs, Chance& chance) {
  return {.values = null_series(kind, runs, static_cast<std::uint64_t>(chance.uniform() * 1e15))};
}

void add_quiet_families(std::vector<Family>& out) {
  out.push_back(noise_of("AR(1) -0.9", -0.9));
  out.push_back(noise_of("AR(1) -0.6", -0.6));
  out.push_back(noise_of("AR(1) -0.3", -0.3));
  out.push_back(noise_of("white noise", 0));
  out.push_back(noise_of("AR(1) 0.3", 0.3));
  out.push_back(noise_of("AR(1) 0.6", 0.6));
  out.push_back(noise_of("AR(1) 0.9", 0.9));
  out.push_back({"random walk", kAllLengths, walk});
  out.push_back({"heavy tails (t3)", kAllLengths, heavy});
  out.push_back({"skewed", kAllLengths,
                 [](std::size_t n, Chance& chance) { return null_of(Null::kSkewed, n, chance); }});
  out.push_back({"quantised", kAllLengths, [](std::size_t n, Chance& chance) {
                   return null_of(Null::kQuantised, n, chance);
                 }});
  out.push_back({"two modes, independent", kAllLengths,
                 [](std::size_t n, Chance& chance) { return null_of(Null::kBimodal, n, chance); }});
  out.push_back({"two modes, sticky", kLongLengths,
                 [](std::size_t n, Chance& chance) { return null_of(Null::kSticky, n, chance); }});
  out.push_back({"bursts", kLongLengths, bursts});
  out.push_back({"one spike and a pair", kSomeLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   const std::size_t at = middle_run(n, chance);
                   for (const std::size_t i : {n / 6, at, at + 1}) sample.values[i] += 15;
                   return sample;
                 }});
  out.push_back({"week, sine", kSomeLengths,
                 [](std::size_t n, Chance& chance) { return week(n, chance, false); }});
  out.push_back({"week, weekends", kSomeLengths,
                 [](std::size_t n, Chance& chance) { return week(n, chance, true); }});
  out.push_back({"week, sine, missing runs", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = week(n, chance, false);
                   lose_runs(sample, between(0, 0.1, chance), chance);
                   return sample;
                 }});
  out.push_back({"week, weekends, missing runs", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = week(n, chance, true);
                   lose_runs(sample, between(0, 0.1, chance), chance);
                   return sample;
                 }});
  out.push_back({"alternation", kAllLengths,
                 [](std::size_t n, Chance& chance) { return alternating(n, chance, 4, n); }});
  out.push_back({"alternation stops", kSomeLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = alternating(n, chance, 4, middle_run(n, chance));
                   sample.truth.has_spread = true;
                   return sample;
                 }});
  out.push_back({"AR(1) -0.9 ends as white noise", kSomeLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = correlated(n, -0.9, chance);
                   for (std::size_t i = middle_run(n, chance); i < n; ++i)
                     sample.values[i] = kAbout + chance.normal();
                   sample.truth.has_spread = true;
                   return sample;
                 }});
  out.push_back({"spread grows fourfold", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   for (std::size_t i = middle_run(n, chance); i < n; ++i)
                     sample.values[i] = kAbout + 4 * (sample.values[i] - kAbout);
                   sample.truth.has_spread = true;
                   return sample;
                 }});
}

void add_trend_families(std::vector<Family>& out) {
  out.push_back(trend("linear trend", linear, false));
  out.push_back(trend("quadratic trend", quadratic, false));
  out.push_back(trend("saturating trend", saturating, false));
  out.push_back(trend("logistic trend", logistic, false));
  out.push_back(trend("slow sine, 0.45 of a period", half_sine, false));
  out.push_back(trend("linear, hardly any noise", linear, true));
  out.push_back(trend("quadratic, hardly any noise", quadratic, true));
  out.push_back(trend("saturating, hardly any noise", saturating, true));
  out.push_back(trend("logistic, hardly any noise", logistic, true));
  out.push_back(trend("sine, hardly any noise", half_sine, true));
  out.push_back({"ramp between two levels", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   add_ramp(sample, n / 4, 3 * n / 4, between(8, 20, chance) * sign(chance));
                   return sample;
                 }});
  out.push_back({"trend in AR(1) 0.5", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = correlated(n, 0.5, chance);
                   add_shape(sample, linear, between(12, 30, chance) * sign(chance));
                   return sample;
                 }});
  out.push_back({"trend and week", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = week(n, chance, false);
                   add_shape(sample, linear, between(15, 40, chance) * sign(chance));
                   return sample;
                 }});
  out.push_back({"up, then down", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   const double size = between(10, 30, chance) * sign(chance);
                   add_ramp(sample, 0, n / 2, size);
                   add_ramp(sample, n / 2, n - 1, -size);
                   return sample;
                 }});
}

// Movements and steps in one series, and movements with gaps.
void add_mixed_families(std::vector<Family>& out) {
  out.push_back({"step of 6 inside a trend", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   add_shape(sample, linear, between(15, 30, chance) * sign(chance));
                   add_step(sample, middle_run(n, chance), 6 * sign(chance));
                   return sample;
                 }});
  out.push_back({"step of 6, later a ramp", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   add_step(sample, n / 4, 6 * sign(chance));
                   add_ramp(sample, n / 2, n - 1, between(10, 20, chance) * sign(chance));
                   return sample;
                 }});
  out.push_back({"step of 6, 3 to 8 runs before a trend's end", kLongLengths,
                 [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   add_shape(sample, linear, between(15, 30, chance) * sign(chance));
                   const auto left = static_cast<std::size_t>(between(3, 9, chance));
                   add_step(sample, n - left, 6 * sign(chance));
                   return sample;
                 }});
  out.push_back(
      {"rise of 12, fall of 5 at its end", kLongLengths, [](std::size_t n, Chance& chance) {
         Sample sample = white(n, chance, 0.5);
         const double way = sign(chance);
         add_ramp(sample, 0, 3 * n / 4, 12 * way);
         add_ramp(sample, 3 * n / 4, n - 1, -5 * way);
         return sample;
       }});
  out.push_back({"trend with a gap", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   add_shape(sample, linear, between(12, 30, chance) * sign(chance));
                   const std::size_t at = middle_run(n, chance);
                   for (std::size_t i = at; i < at + n / 6; ++i)
                     sample.values[i] = std::numeric_limits<double>::quiet_NaN();
                   return sample;
                 }});
}

void add_step_families(std::vector<Family>& out) {
  out.push_back(step_in("step of 1", 0, 1));
  out.push_back(step_in("step of 2", 0, 2));
  out.push_back(step_in("step of 3", 0, 3));
  out.push_back(step_in("step of 5", 0, 5));
  out.push_back(step_in("step of 10", 0, 10));
  out.push_back(step_in("step of 1 in AR(1) -0.9", -0.9, 1));
  out.push_back(step_in("step of 1 in AR(1) -0.6", -0.6, 1));
  out.push_back(step_in("step of 2 in AR(1) -0.6", -0.6, 2));
  out.push_back(step_in("step of 3 in AR(1) 0.5", 0.5, 3));
  out.push_back(step_in("step of 6 in AR(1) 0.9", 0.9, 6));
  out.push_back({"step of 3 in alternation of 4", kAllLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = alternating(n, chance, 4, n);
                   add_step(sample, n / 2, 3 * sign(chance));
                   return sample;
                 }});
  out.push_back({"alternation moves, no noise", {16, 24, 40, 100}, [](std::size_t n, Chance&) {
                   Sample sample{.values = std::vector<double>(n, 1)};
                   for (std::size_t i = 1; i < n; i += 2) sample.values[i] = 2;
                   add_step(sample, n / 2, 1);
                   return sample;
                 }});
  out.push_back({"step of 5 in a week", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = week(n, chance, false);
                   add_step(sample, middle_run(n, chance), 5 * sign(chance));
                   return sample;
                 }});
  out.push_back({"step of 5 in heavy tails", kSomeLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = heavy(n, chance);
                   add_step(sample, middle_run(n, chance), 5 * sign(chance));
                   return sample;
                 }});
  out.push_back({"two steps of 4 the same way", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   const double size = 4 * sign(chance);
                   add_step(sample, n / 3, size);
                   add_step(sample, 2 * n / 3, size);
                   return sample;
                 }});
  out.push_back({"step of 5 and its end", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   const double size = 5 * sign(chance);
                   add_step(sample, n / 3, size);
                   add_step(sample, 2 * n / 3, -size);
                   return sample;
                 }});
  out.push_back({"step of 5, missing runs", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   const std::size_t at = middle_run(n, chance);
                   add_step(sample, at, 5 * sign(chance));
                   const double first = sample.values[at];
                   lose_runs(sample, 0.2, chance);
                   sample.values[at] = first;
                   return sample;
                 }});
  out.push_back({"step of 8 in 1 to 6 runs", kLongLengths, [](std::size_t n, Chance& chance) {
                   Sample sample = white(n, chance);
                   const auto taken = static_cast<std::size_t>(between(1, 7, chance));
                   add_step(sample, middle_run(n, chance), 8 * sign(chance), taken);
                   return sample;
                 }});
  out.push_back(
      {"stairs of 5 every 20, little noise", {100, 140, 200}, [](std::size_t n, Chance& chance) {
         Sample sample = white(n, chance, 0.1);
         const double size = 5 * sign(chance);
         for (std::size_t at = 20; at + 3 <= n; at += 20) add_step(sample, at, size);
         return sample;
       }});
}

// Runs between a step and its report.
constexpr std::size_t kBesideStep = 2;
// Ends of a drift are placed within this share of the series.
constexpr double kNearDrift = 0.2;
// Share of its size by which a change may be larger or smaller.
constexpr double kNearSize = 0.3;
// Runs of a least segment.
constexpr std::size_t kLeastSegment = 3;

std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

// Reports whether the change goes the way of `size` and as far.
bool is_sized(const Change& change, double size) {
  const double moved = change.after - change.before;
  return std::abs(moved - size) <= kNearSize * std::abs(size) && (change.effect > 0) == (size > 0);
}

bool is_placed(const Truth& truth, const std::vector<Change>& steps,
               const std::vector<Change>& drifts, std::size_t runs) {
  const auto reach = static_cast<std::size_t>(kNearDrift * static_cast<double>(runs)) + kBesideStep;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const TrueStep& step = truth.steps[i];
    if (steps[i].index + kBesideStep < step.at ||
        steps[i].index > step.at + step.taken + kBesideStep || !is_sized(steps[i], step.size))
      return false;
  }
  for (std::size_t i = 0; i < drifts.size(); ++i) {
    const TrueDrift& drift = truth.drifts[i];
    if (distance(drifts[i].index, drift.begin) > reach ||
        distance(drifts[i].last, drift.end) > reach || !is_sized(drifts[i], drift.size))
      return false;
  }
  return true;
}

void count(const Sample& sample, Answers& answers) {
  const Findings found = detect_changes(sample.values, {});
  std::vector<Change> steps;
  std::vector<Change> drifts;
  for (const Change& change : found.changes) {
    if (change.kind == ChangeKind::kStep) steps.push_back(change);
    if (change.kind == ChangeKind::kDrift) drifts.push_back(change);
  }
  const Truth& truth = sample.truth;
  const std::size_t told = steps.size() + drifts.size();
  const std::size_t true_ones = truth.steps.size() + truth.drifts.size();
  const bool right = steps.size() == truth.steps.size() && drifts.size() == truth.drifts.size();
  ++answers.series;
  answers.right += right ? 1 : 0;
  answers.placed += right && is_placed(truth, steps, drifts, sample.values.size()) ? 1 : 0;
  answers.staircase += !truth.drifts.empty() && steps.size() >= truth.steps.size() + 2 ? 1 : 0;
  answers.nothing += told == 0 && true_ones > 0 ? 1 : 0;
  answers.extra += told > true_ones ? 1 : 0;
  const bool spread = std::ranges::count(found.changes, ChangeKind::kVariance, &Change::kind) > 0;
  answers.spread += spread && !truth.has_spread ? 1 : 0;
  bool crowded = false;
  for (std::size_t k = 1; k < found.changes.size(); ++k)
    crowded = crowded || found.changes[k].index < found.changes[k - 1].index + kLeastSegment;
  answers.crowded += crowded ? 1 : 0;
}

}  // namespace

std::vector<double> correlated_noise(std::size_t runs, double rho, Chance& chance) {
  std::vector<double> out(runs);
  double carried = chance.normal();
  for (double& v : out) {
    v = carried;
    carried = rho * carried + std::sqrt(1 - rho * rho) * chance.normal();
  }
  return out;
}

Answers ask_detector(const Family& family, std::size_t series, std::uint64_t seed) {
  Answers answers;
  for (std::size_t i = 0; i < series; ++i) {
    Chance chance(seed + i);
    count(family.make(family.lengths[i % family.lengths.size()], chance), answers);
  }
  return answers;
}

std::vector<Family> all_families() {
  std::vector<Family> out;
  add_quiet_families(out);
  add_trend_families(out);
  add_mixed_families(out);
  add_step_families(out);
  return out;
}

}  // namespace railgauge::analysis
