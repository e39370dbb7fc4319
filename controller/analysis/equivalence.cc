#include "controller/analysis/equivalence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

#include "controller/analysis/permutation.h"

namespace railgauge::analysis {
namespace {

constexpr double kOneSided = 0.05;         // of the 90 % interval
constexpr double kFarFromAgreeing = 0.15;  // p of the permutation test
constexpr double kOpen = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxMore = 200;  // runs or nodes that are worth asking for
constexpr double kPowerZ = 0.8416;     // 80 %
constexpr double kMedianLoss =
    std::numbers::pi / 3;  // variance of Hodges and Lehmann's shift over the mean's

struct Moments {
  double mean = 0;
  double error2 = 0;  // variance of the mean
  double n = 0;
};

Moments moments_of(std::span<const double> values) {
  Moments out;
  out.n = static_cast<double>(values.size());
  if (values.empty()) return out;
  out.mean = std::accumulate(values.begin(), values.end(), 0.0) / out.n;
  double sum = 0;
  for (const double v : values) sum += (v - out.mean) * (v - out.mean);
  out.error2 = values.size() > 1 ? sum / (out.n - 1) / out.n : kOpen;
  return out;
}

double t_quantile(double degrees, double p) {
  return boost::math::quantile(boost::math::students_t(degrees), p);
}

// P(T > t).
double t_upper_tail(double degrees, double t) {
  return boost::math::cdf(boost::math::complement(boost::math::students_t(degrees), t));
}

// One of all ways to turn signs, or to exchange labels.
double least_p(std::size_t changed, std::size_t controls) {
  const auto n = static_cast<double>(changed);
  const auto m = static_cast<double>(controls);
  if (controls == 0) return std::exp2(-n);
  return std::exp(std::lgamma(n + 1) + std::lgamma(m + 1) - std::lgamma(n + m + 1));
}

double design_error(const Design& design, double runs, double more_nodes) {
  const double pair = design.node_variance + design.run_variance * 2 / runs * kMedianLoss;
  double error2 = pair / (static_cast<double>(design.changed) + more_nodes);
  if (design.controls > 0) error2 += pair / (static_cast<double>(design.controls) + more_nodes);
  return std::sqrt(error2);
}

double design_degrees(const Design& design, double more_nodes) {
  const double groups = design.controls > 0 ? 2 : 1;
  return std::max(
      1.0, static_cast<double>(design.changed + design.controls) + groups * more_nodes - groups);
}

}  // namespace

std::string_view word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kRegressed:
      return "regressed";
    case Verdict::kInconclusive:
      return "inconclusive";
    case Verdict::kInvalid:
      break;
  }
  return "invalid";
}

CohortEffect cohort_effect(std::span<const double> changed, std::span<const double> controls,
                           std::uint64_t seed) {
  CohortEffect out;
  out.low = -kOpen;
  out.high = kOpen;
  const Moments a = moments_of(changed);
  const Moments b = moments_of(controls);
  out.controlled = controls.size() >= 2;  // one control has no spread: it would be taken for exact
  if (changed.empty()) return out;
  out.estimate = a.mean - (out.controlled ? b.mean : 0);
  if (changed.size() < 2) return out;
  const double error2 = a.error2 + (out.controlled ? b.error2 : 0);
  out.standard_error = std::sqrt(error2);
  out.degrees = a.n - 1;
  if (out.controlled && error2 > 0)
    out.degrees =
        error2 * error2 / (a.error2 * a.error2 / (a.n - 1) + b.error2 * b.error2 / (b.n - 1));
  if (out.standard_error <= 0) {  // every pair moved by the same: nothing to be unsure of
    out.low = out.high = out.estimate;
    out.p_worse = out.p_exchanged = out.estimate > 0 ? 0 : 1;
    return out;
  }
  const double half = t_quantile(out.degrees, 1 - kOneSided) * out.standard_error;
  out.low = out.estimate - half;
  out.high = out.estimate + half;
  out.p_worse = t_upper_tail(out.degrees, out.estimate / out.standard_error);
  if (out.low > 0)
    out.p_exchanged =
        out.controlled ? exchange_p(changed, controls, seed) : sign_flip_p(changed, seed);
  out.p_least = least_p(changed.size(), out.controlled ? controls.size() : 0);
  return out;
}

CohortEffect lone_effect(double changed, std::span<const double> controls, double run_variance,
                         std::size_t runs) {
  CohortEffect out;
  const Moments b = moments_of(controls);
  out.controlled = controls.size() >= 2;
  out.estimate = changed - (out.controlled ? b.mean : 0);
  out.low = -kOpen;
  out.high = kOpen;
  if (runs < 2) return out;
  const auto r = static_cast<double>(runs);
  out.standard_error =
      std::sqrt(run_variance * 2 / r * kMedianLoss + (out.controlled ? b.error2 : 0));
  out.degrees = out.controlled ? std::min(2 * r - 2, b.n - 1) : 2 * r - 2;
  if (out.standard_error <= 0) {
    out.low = out.high = out.estimate;
    out.p_worse = out.p_exchanged = out.estimate > 0 ? 0 : 1;
    return out;
  }
  const double half = t_quantile(out.degrees, 1 - kOneSided) * out.standard_error;
  out.low = out.estimate - half;
  out.high = out.estimate + half;
  out.p_worse = t_upper_tail(out.degrees, out.estimate / out.standard_error);
  out.p_exchanged = out.p_worse;  // one node has nothing to exchange with
  return out;
}

Decision decide(const CohortEffect& effect, double delta) {
  Decision out;
  if (effect.high < delta) {
    out.verdict = Verdict::kPass;
    out.loss_is_real = effect.low > 0;
    return out;
  }
  if (effect.low <= 0) return out;
  // Two or three nodes can agree no better than that: it is Welch's few degrees that guard them.
  constexpr double kRounding = 1 + 1e-9;
  out.tests_disagree = effect.p_exchanged > std::max(kFarFromAgreeing, effect.p_least * kRounding);
  if (!out.tests_disagree) out.verdict = Verdict::kRegressed;
  return out;
}

Need needed(const Design& design, const CohortEffect& effect, double delta) {
  Need need;
  if (design.changed == 0 || design.runs == 0) return need;
  // Whichever side the estimate lies nearer to being shown, if it stays where it is.
  const double half = std::max(delta - effect.estimate, effect.estimate);
  const auto settles = [&](double runs, double nodes) {
    return t_quantile(design_degrees(design, nodes), 1 - kOneSided) *
               design_error(design, runs, nodes) <
           half;
  };
  const auto r = static_cast<double>(design.runs);
  for (std::size_t more = 1; more <= kMaxMore && need.runs == 0; ++more)
    if (settles(r + static_cast<double>(more), 0)) need.runs = more;
  for (std::size_t more = 1; more <= kMaxMore && need.nodes == 0; ++more)
    if (settles(r, static_cast<double>(more))) need.nodes = more;
  return need;
}

double visible_loss(const Design& design) {
  if (design.changed == 0 || design.runs == 0) return kOpen;
  const double error = design_error(design, static_cast<double>(design.runs), 0);
  return (t_quantile(design_degrees(design, 0), 1 - kOneSided) + kPowerZ) * error;
}

double smallest_loss(const Design& design, double delta) {
  if (design.changed != 1 || design.runs < 2) return visible_loss(design);
  const auto r = static_cast<double>(design.runs);
  double error2 = design.run_variance * 2 / r * kMedianLoss;
  if (design.controls > 0) error2 *= 1 + 1 / static_cast<double>(design.controls);
  return delta + (t_quantile(2 * r - 2, 1 - kOneSided) + kPowerZ) * std::sqrt(error2);
}

}  // namespace railgauge::analysis
