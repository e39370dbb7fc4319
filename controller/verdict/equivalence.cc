#include "controller/verdict/equivalence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/distributions/students_t.hpp>

#include "controller/stats/permutation.h"
#include "controller/stats/selection.h"
#include "controller/verdict/shift.h"

namespace railgauge::analysis {
namespace {

constexpr double kFarFromAgreeing = 0.15;  // p of the permutation test
constexpr double kOpen = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxMore = 200;  // runs or nodes that are worth asking for
constexpr double kPowerZ = 0.8416;     // 80 %

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
  return std::exp(-log_choose(n + m, n));
}

std::size_t runs_after(const Design& design) {
  return design.after == 0 ? design.runs : design.after;
}

double design_error(const Design& design, double after, double more_nodes) {
  const double of_runs =
      design.run_variance * (1 / static_cast<double>(design.runs) + 1 / after) * kMedianLoss;
  double error2 =
      (design.node_variance + of_runs) / (static_cast<double>(design.changed) + more_nodes);
  if (design.controls > 0)
    error2 +=
        (design.node_variance + of_runs) / (static_cast<double>(design.controls) + more_nodes);
  return std::sqrt(error2);
}

double design_degrees(const Design& design, double after, double more_nodes) {
  // A single node is bounded by its own runs.
  if (design.changed == 1 && more_nodes == 0) {
    const double of_runs = static_cast<double>(design.runs) + after - 2;
    return std::max(1.0, design.controls > 0
                             ? std::min(of_runs, static_cast<double>(design.controls) - 1)
                             : of_runs);
  }
  const double groups = design.controls > 0 ? 2 : 1;
  return std::max(
      1.0, static_cast<double>(design.changed + design.controls) + groups * more_nodes - groups);
}

// From estimate and error to interval and p.
void bound(CohortEffect& effect, double one_sided) {
  if (effect.standard_error <= 0) {  // every pair moved by the same: nothing to be unsure of
    effect.low = effect.high = effect.estimate;
    effect.p_worse = effect.p_exchanged = effect.estimate > 0 ? 0 : 1;
    return;
  }
  const double half = t_quantile(effect.degrees, 1 - one_sided) * effect.standard_error;
  effect.low = effect.estimate - half;
  effect.high = effect.estimate + half;
  effect.p_worse = t_upper_tail(effect.degrees, effect.estimate / effect.standard_error);
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

CohortEffect cohort_effect(const Group& changed, const Group& controls, std::uint64_t seed,
                           double one_sided) {
  CohortEffect out;
  out.low = -kOpen;
  out.high = kOpen;
  const MeanSpread a = spread_of(changed);
  const MeanSpread b = spread_of(controls);
  out.controlled = b.degrees > 0;  // one control has no spread: it would be taken for exact
  if (changed.shifts.empty()) return out;
  out.estimate = a.mean - (out.controlled ? b.mean : 0);
  if (!(a.degrees > 0)) return out;
  const double error2 = a.error2 + (out.controlled ? b.error2 : 0);
  out.standard_error = std::sqrt(error2);
  out.degrees = a.degrees;
  if (out.controlled && error2 > 0)
    out.degrees =
        error2 * error2 / (a.error2 * a.error2 / a.degrees + b.error2 * b.error2 / b.degrees);
  bound(out, one_sided);
  if (out.standard_error <= 0) return out;
  if (out.low > 0)
    out.p_exchanged = out.controlled ? exchange_p(changed.shifts, controls.shifts, seed)
                                     : sign_flip_p(changed.shifts, seed);
  out.p_least = least_p(changed.shifts.size(), out.controlled ? controls.shifts.size() : 0);
  return out;
}

CohortEffect cohort_effect(std::span<const double> changed, std::span<const double> controls,
                           std::uint64_t seed) {
  return cohort_effect(Group{.shifts = {changed.begin(), changed.end()}},
                       Group{.shifts = {controls.begin(), controls.end()}}, seed);
}

CohortEffect lone_effect(const Group& changed, const Group& controls, double run_degrees,
                         double one_sided) {
  CohortEffect out;
  const MeanSpread b = spread_of(controls);
  out.controlled = b.degrees > 0;
  out.estimate = spread_of(changed).mean - (out.controlled ? b.mean : 0);
  out.low = -kOpen;
  out.high = kOpen;
  if (!(run_degrees > 0) || changed.shifts.empty()) return out;
  double one = changed.run_error2 / static_cast<double>(changed.shifts.size());
  // It drifts as those do that did not change, though nothing shows by how much of its own.
  if (out.controlled) one = std::max(one, b.error2 * static_cast<double>(controls.shifts.size()));
  out.standard_error = std::sqrt(one + (out.controlled ? b.error2 : 0));
  out.degrees = out.controlled ? std::min(run_degrees, b.degrees) : run_degrees;
  bound(out, one_sided);
  if (out.standard_error > 0) out.p_exchanged = out.p_worse;  // there is nothing to exchange with
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

Need needed(const Design& design, const CohortEffect& effect, double delta, std::size_t questions) {
  Need need;
  if (design.changed == 0 || design.runs == 0) return need;
  const auto asked = static_cast<double>(std::max<std::size_t>(1, questions));
  // The side that the estimate is nearer to, if it stays where it is. A single node must lose more
  // than the bound for sure, since it may drift.
  const double half = design.changed == 1 ? std::abs(delta - effect.estimate)
                                          : std::max(delta - effect.estimate, effect.estimate);
  const auto r = static_cast<double>(runs_after(design));
  // Scatter beyond the design's comes from nodes, not from runs: a lone node's drift, ends that
  // pairs share. Without it an open verdict would count as settled.
  const auto pairs = static_cast<double>(design.changed);
  const double unforeseen = std::max(
      0.0, effect.standard_error * effect.standard_error - std::pow(design_error(design, r, 0), 2));
  const auto settles = [&](double after, double nodes, double one_sided) {
    const double error = std::hypot(design_error(design, after, nodes),
                                    std::sqrt(unforeseen * pairs / (pairs + nodes)));
    double degrees = design_degrees(design, after, nodes);
    if (nodes == 0 && effect.degrees > 0) degrees = std::min(degrees, effect.degrees);
    return t_quantile(degrees, 1 - one_sided / asked) * error < half;
  };
  for (std::size_t more = 1; more <= kMaxMore && need.runs == 0; ++more)
    if (settles(r + static_cast<double>(more), 0, kOneSidedAgain)) need.runs = more;
  for (std::size_t more = 1; more <= kMaxMore && need.nodes == 0; ++more)
    if (settles(r, static_cast<double>(more), kOneSided)) need.nodes = more;
  return need;
}

double visible_loss(const Design& design) {
  if (design.changed == 0 || design.runs == 0) return kOpen;
  const auto after = static_cast<double>(runs_after(design));
  return (t_quantile(design_degrees(design, after, 0), 1 - kOneSided) + kPowerZ) *
         design_error(design, after, 0);
}

double smallest_loss(const Design& design, double delta) {
  return visible_loss(design) + (design.changed == 1 ? delta : 0);
}

}  // namespace railgauge::analysis
