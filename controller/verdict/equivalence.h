// Bounds the common shift of a group from the shifts of its nodes, and decides by the bound. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace railgauge::analysis {

// The shifts of the changed nodes, or of the controls.
struct Group {
  // One shift for each node: the mean of its pairs as a logarithm; positive is worse.
  std::vector<double> shifts{};
  // Variance of a shift that the spread of its runs alone explains.
  double run_error2 = 0;
  // By shift: the numbers of the nodes at the ends of its pairs, each with its share of the pairs.
  // Empty: no two shifts share a node.
  std::vector<std::vector<std::pair<std::size_t, double>>> ends{};
};

struct MeanSpread {
  double mean = 0;
  // Variance of the mean; infinite when nothing bounds the mean.
  double error2 = 0;
  // Degrees of freedom of that variance; 0: nothing bounds the mean.
  double degrees = 0;
  // Factor on the drift's part of the variance, relative to shifts that share no node.
  double widening = 1;
};

// Returns the mean of the shifts with its error. A node's drift is part of each pair at the node,
// so shifts that share a node move together: their spread contains less of the drift than their
// mean. The correction follows from the ends alone, after the spread of single runs, which no two
// shifts share, is removed. Shifts of one and the same pair bound nothing, nor does a single shift.
MeanSpread spread_of(const Group& group);

// Answer about one metric or upgrade.
enum class Verdict { kPass, kRegressed, kInconclusive, kInvalid };
// Returns "pass", "regressed", "inconclusive" or "invalid".
std::string_view word(Verdict verdict);

// One-sided chance of error: of the 90 % interval, and of the wider interval of a repeated look
// with more runs.
inline constexpr double kOneSided = 0.05;
inline constexpr double kOneSidedAgain = 0.02;

// The mean shift of the changed nodes relative to that of the controls, with its interval.
// `controlled` is false when there are too few controls: then the shift is absolute.
struct CohortEffect {
  double estimate = 0;
  // -infinity and infinity when the nodes are too few to bound the estimate.
  double low = 0;
  double high = 0;
  double standard_error = 0;
  // Degrees of freedom of `standard_error`.
  double degrees = 0;
  // One-sided p of Welch's t.
  double p_worse = 1;
  // One-sided p of the permutation test (turned signs or exchanged labels); computed if low > 0.
  double p_exchanged = 1;
  // Smallest p that the permutation test can reach with so few nodes.
  double p_least = 0;
  bool controlled = false;
};
CohortEffect cohort_effect(const Group& changed, const Group& controls, std::uint64_t seed,
                           double one_sided = kOneSided);
// Estimates the effect on a single changed node or pair. The error is the spread of its runs, with
// `run_degrees` degrees of freedom, or the controls' scatter when that is larger.
CohortEffect lone_effect(const Group& changed, const Group& controls, double run_degrees,
                         double one_sided = kOneSided);

// Verdict from one interval, with flags for the report.
struct Decision {
  Verdict verdict = Verdict::kInconclusive;
  // True for a pass whose interval is above 0.
  bool loss_is_real = false;
  // True when Welch's t shows a loss and the permutation test does not: the verdict stays open.
  bool tests_disagree = false;
};
// Decides by one interval: its upper end tests non-inferiority, its lower end a loss. Pass: the
// upper end is below `delta` (a logarithm). Otherwise regressed: the lower end is above 0, and the
// permutation test does not clearly disagree. Otherwise inconclusive.
Decision decide(const CohortEffect& effect, double delta);

// The measurements that would settle an inconclusive verdict.
struct Need {
  // Further runs of each pair after the upgrade; 0: no number of runs settles the verdict.
  std::size_t runs = 0;
  // Further changed nodes, with as many further controls if there are any; 0: no number settles it.
  std::size_t nodes = 0;
};
struct Design {
  // Runs of each pair before the upgrade.
  std::size_t runs = 0;
  // Numbers of changed and control pairs.
  std::size_t changed = 0;
  std::size_t controls = 0;
  // Variance of the logarithm of one run.
  double run_variance = 0;
  // Variance of a pair's shift beyond that of its runs.
  double node_variance = 0;
  // Runs after; 0: as many as before.
  std::size_t after = 0;
};
// Returns the further measurements that would settle an inconclusive verdict. Runs can only be
// added after the upgrade; they are a second look with the wider interval. `questions`: number of
// metrics judged together, among which a single one must be significant.
Need needed(const Design& design, const CohortEffect& effect, double delta,
            std::size_t questions = 1);

// Returns the smallest loss (logarithm) that a design detects with a chance of 80 %; infinite for
// an empty design. With a single changed node the loss must certainly exceed `delta`.
double smallest_loss(const Design& design, double delta);

}  // namespace railgauge::analysis
