// Errors over many questions at once. Pure.
#pragma once

#include <span>
#include <vector>

namespace railgauge::analysis {

inline constexpr double kFalseDiscoveries = 0.05;  // share of the reported ones that may be false

// Simes' p that nothing of the family is there. 1 for none.
double simes_p(std::span<const double> p);

// Benjamini and Hochberg: which of `p` stand when a share of `q` may be false, in the order given.
std::vector<bool> benjamini_hochberg(std::span<const double> p, double q = kFalseDiscoveries);

// Families first (by Simes' p), then the members of those that stand: a quiet family costs nothing.
// Members are tested at q times the share of families that stood.
std::vector<std::vector<bool>> hierarchical(std::span<const std::vector<double>> families,
                                            double q = kFalseDiscoveries);

}  // namespace railgauge::analysis
