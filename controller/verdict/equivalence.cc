#include "controller/verdict/equivalence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "controller/stats/distributions.h"
#include "controller/stats/permutation.h"
#include "controller/verdict/shift.h"

namespace railgauge::analysis {
namespace {

// Least part of the drift that a spread must show, as a share.
constexpr double kNothing = 1e-9;

// The products of the shifts' loads, n by n: drift's covariance but for a factor. With C the matrix
// that subtracts the mean.
struct Products {
  double trace = 0;
  // Trace of C G.
  double centred = 0;
  // Trace of C G C G.
  double centred_square = 0;
  // Sum of all over n.
  double mean_row = 0;
};

// Sparse: shifts share few nodes, so the Gram matrix has few entries off its diagonal.
Products products_of(const Group& group) {
  std::map<std::size_t, std::vector<std::pair<std::size_t, double>>> by_node;
  for (std::size_t i = 0; i < group.ends.size(); ++i)
    for (const auto& [node, share] : group.ends[i]) by_node[node].emplace_back(i, share);
  std::map<std::pair<std::size_t, std::size_t>, double> gram;
  for (const auto& [node, shifts] : by_node)
    for (const auto& [i, a] : shifts)
      for (const auto& [j, b] : shifts) gram[{i, j}] += a * b;
  const auto n = static_cast<double>(group.ends.size());
  Products out;
  double squares = 0;
  std::vector<double> rows(group.ends.size(), 0.0);
  for (const auto& [at, value] : gram) {
    if (at.first == at.second) out.trace += value;
    squares += value * value;
    rows[at.first] += value;
  }
  double row_squares = 0;
  for (const double row : rows) row_squares += row * row;
  out.mean_row = std::accumulate(rows.begin(), rows.end(), 0.0) / n;
  out.centred = out.trace - out.mean_row;
  out.centred_square = squares - 2 * row_squares / n + out.mean_row * out.mean_row;
  return out;
}

// Sets error2, degrees and widening for shifts that share nodes. The drift is the spread beyond
// that of the runs; it is scaled by the ratio of its part in the mean to its part in the spread.
void widen(const Group& group, double spread, MeanSpread& out) {
  const auto n = static_cast<double>(group.shifts.size());
  const Products g = products_of(group);
  // Spread that a drift of 1 would show.
  const double shown = g.centred / (n - 1);
  if (shown <= kNothing * g.trace / n) {
    out.error2 = std::numeric_limits<double>::infinity();
    out.degrees = 0;
    return;
  }
  out.widening = g.mean_row / shown;
  if (out.widening <= 1 + kNothing) return;
  const double drift = std::max(0.0, spread - group.run_error2);
  const double of_runs = std::max(spread, group.run_error2) - drift;
  const double mean = out.widening * drift + of_runs;
  out.error2 = mean / n;
  // Satterthwaite: what the spread of correlated shifts is worth as degrees of freedom.
  const double unit = drift / shown;
  const double variance =
      unit * unit * g.centred_square + 2 * unit * of_runs * g.centred + of_runs * of_runs * (n - 1);
  if (variance > 0)
    out.degrees = std::clamp(
        mean * mean * (n - 1) * (n - 1) / (out.widening * out.widening * variance), 1.0, n - 1);
}

}  // namespace

// The plain standard error for shifts of separate nodes; widen() corrects it where they share
// nodes.
MeanSpread spread_of(const Group& group) {
  MeanSpread out;
  const auto n = static_cast<double>(group.shifts.size());
  out.error2 = std::numeric_limits<double>::infinity();
  if (group.shifts.empty()) return out;
  out.mean = std::accumulate(group.shifts.begin(), group.shifts.end(), 0.0) / n;
  if (group.shifts.size() < 2) return out;
  double sum = 0;
  for (const double v : group.shifts) sum += (v - out.mean) * (v - out.mean);
  const double spread = sum / (n - 1);
  out.error2 = spread / n;
  out.degrees = n - 1;
  if (!group.ends.empty()) widen(group, spread, out);
  return out;
}

namespace {

// Largest p of the permutation test that still agrees with Welch's t.
constexpr double kFarFromAgreeing = 0.15;
constexpr double kOpen = std::numeric_limits<double>::infinity();
// Runs or nodes that are worth asking for.
constexpr std::size_t kMaxMore = 200;
// Normal quantile of 80 % power.
constexpr double kPowerZ = 0.8416;

// ln of n over k. std::lgamma would write the process's `signgam`, and judging runs on several
// threads.
double log_choose(double n, double k) {
  int sign = 0;
  return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

// One of all ways to turn signs, or to exchange labels.
double least_p(std::size_t changed, std::size_t controls) {
  const auto n = static_cast<double>(changed);
  const auto m = static_cast<double>(controls);
  if (controls == 0) return std::exp2(-n);
  return std::exp(-log_choose(n + m, n));
}

// Runs of the after side; as many as before where the design does not say.
std::size_t runs_after(const Design& design) {
  return design.after == 0 ? design.runs : design.after;
}

// Standard error that the design would have with `after` runs and `more_nodes` further nodes on
// each side.
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

// Degrees of freedom that the design would have.
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
  // Every pair moved by the same: nothing to be unsure of.
  if (effect.standard_error <= 0) {
    effect.low = effect.high = effect.estimate;
    effect.p_worse = effect.p_exchanged = effect.estimate > 0 ? 0 : 1;
    return;
  }
  const double half = student_quantile(1 - one_sided, effect.degrees) * effect.standard_error;
  effect.low = effect.estimate - half;
  effect.high = effect.estimate + half;
  effect.p_worse = student_upper_tail(effect.estimate / effect.standard_error, effect.degrees);
}

}  // namespace

std::string_view word(Verdict verdict) {
  static constexpr std::array<std::string_view, 4> kWords{"pass", "regressed", "inconclusive",
                                                          "invalid"};
  return kWords.at(static_cast<std::size_t>(verdict));
}

// Welch's t for the interval, a permutation test as a check that does not assume a normal
// distribution.
CohortEffect cohort_effect(const Group& changed, const Group& controls, std::uint64_t seed,
                           double one_sided) {
  CohortEffect out;
  out.low = -kOpen;
  out.high = kOpen;
  const MeanSpread a = spread_of(changed);
  const MeanSpread b = spread_of(controls);
  // One control has no spread: it would be taken for exact.
  out.controlled = b.degrees > 0;
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

// The spread between nodes is unknown here; the spread of the controls is the only substitute.
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
  // The node is assumed to drift as the controls do; nothing shows its own drift.
  if (out.controlled) one = std::max(one, b.error2 * static_cast<double>(controls.shifts.size()));
  out.standard_error = std::sqrt(one + (out.controlled ? b.error2 : 0));
  out.degrees = out.controlled ? std::min(run_degrees, b.degrees) : run_degrees;
  bound(out, one_sided);
  // A single shift has no labels to exchange.
  if (out.standard_error > 0) out.p_exchanged = out.p_worse;
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

// Tries more runs, then more nodes, one by one: the width of the interval falls slowly, and the
// loop is short.
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
    return student_quantile(1 - one_sided / asked, degrees) * error < half;
  };
  for (std::size_t more = 1; more <= kMaxMore && need.runs == 0; ++more)
    if (settles(r + static_cast<double>(more), 0, kOneSidedAgain)) need.runs = more;
  for (std::size_t more = 1; more <= kMaxMore && need.nodes == 0; ++more)
    if (settles(r, static_cast<double>(more), kOneSided)) need.nodes = more;
  return need;
}

// Two-sided half width plus the quantile for 80 % power.
double smallest_loss(const Design& design, double delta) {
  if (design.changed == 0 || design.runs == 0) return kOpen;
  const auto after = static_cast<double>(runs_after(design));
  return (student_quantile(1 - kOneSided, design_degrees(design, after, 0)) + kPowerZ) *
             design_error(design, after, 0) +
         (design.changed == 1 ? delta : 0);
}

}  // namespace railgauge::analysis
