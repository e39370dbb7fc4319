// From shifts of single pairs to a statement with a bound about all of them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace railgauge::analysis {

// The nodes that changed, or those that did not.
struct Group {
  // One a node: the mean of its pairs, logarithms, positive is worse.
  std::vector<double> shifts{};
  // Variance of a shift that the spread of its runs alone explains.
  double run_error2 = 0;
  // By shift: the nodes at the ends of its pairs, by number, and in what share of them each is.
  // Empty: every shift has a node of its own.
  std::vector<std::vector<std::pair<std::size_t, double>>> ends{};
};

struct MeanSpread {
  double mean = 0;
  // Variance of the mean; infinite where nothing bounds it.
  double error2 = 0;
  // Degrees of freedom of that variance; 0: nothing bounds the mean.
  double degrees = 0;
  // Factor on the part of the drift, relative to shifts that share no node.
  double widening = 1;
};

// Each node's drift enters once for each end, so shifts that share a node move together: their
// spread shows less of the drift than their mean holds. By how much follows from the ends alone;
// the spread of single runs, which nobody shares, is taken out first. Shifts that are all of one
// and the same pair bound nothing, as a single one.
MeanSpread spread_of(const Group& group);

// Answer about one metric or upgrade.
enum class Verdict { kPass, kRegressed, kInconclusive, kInvalid };
// "pass", "regressed", "inconclusive", "invalid".
std::string_view word(Verdict verdict);

// Chance of an error to one side: of the 90 % interval, and of the wider one of a verdict that was
// looked at again with more runs.
inline constexpr double kOneSided = 0.05;
inline constexpr double kOneSidedAgain = 0.02;

// The mean shift of `changed` pairs, less that of `controls` where there are any, with the interval
// of Welch's t (two-sided, 90 % unless `one_sided` says otherwise).
struct CohortEffect {
  double estimate = 0;
  // -infinity and infinity where the pairs are too few to bound it.
  double low = 0;
  double high = 0;
  double standard_error = 0;
  // Degrees of freedom of `standard_error`.
  double degrees = 0;
  // One-sided p of Welch's t.
  double p_worse = 1;
  // The same by turned signs or exchanged labels; asked when low > 0.
  double p_exchanged = 1;
  // That so few pairs can give in that way at all.
  double p_least = 0;
  bool controlled = false;
};
CohortEffect cohort_effect(const Group& changed, const Group& controls, std::uint64_t seed,
                           double one_sided = kOneSided);
// The same where the changed shifts are of a single node, or of a single pair: bounded by the
// spread of its runs, known with `run_degrees` of freedom, or what the controls scatter by, where
// that is more.
CohortEffect lone_effect(const Group& changed, const Group& controls, double run_degrees,
                         double one_sided = kOneSided);

// Verdict from one interval, with the reasons that a report states.
struct Decision {
  Verdict verdict = Verdict::kInconclusive;
  // A pass whose interval is above 0.
  bool loss_is_real = false;
  // Welch says worse and the permutation does not: no verdict.
  bool tests_disagree = false;
};
// One interval answers both questions: its upper end tests non-inferiority, its lower end a loss.
// In this order: upper end below `delta`: pass. Else lower end above 0: regressed, unless the
// permutation test is far from agreeing. Else inconclusive. `delta` as a logarithm.
Decision decide(const CohortEffect& effect, double delta);

// The measurements that would settle an inconclusive verdict.
struct Need {
  // More runs of each pair after the upgrade; 0 when they cannot settle it.
  std::size_t runs = 0;
  // More changed nodes, and as many controls where there are any.
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
// More runs are more after the upgrade: the before side is over. They are a second look, which has
// the wider interval. `questions`: metrics that are asked at once, of which one alone must stand
// out.
Need needed(const Design& design, const CohortEffect& effect, double delta,
            std::size_t questions = 1);

// The smallest loss that a design will call with a chance of 80 % (logarithm). A single changed
// node must lose more than `delta` for sure.
double smallest_loss(const Design& design, double delta);

}  // namespace railgauge::analysis
