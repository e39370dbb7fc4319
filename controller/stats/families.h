// Corrections for many tests at once. Pure.
#pragma once

#include <span>
#include <vector>

namespace railgauge::analysis {

// The false discovery rate of all reports of one night: the share of reports that may be false.
inline constexpr double kFalseDiscoveries = 0.05;

// Returns Simes' p of a family: the chance under no effect in any member; 1 for an empty family.
double simes_p(std::span<const double> p);

// Marks the significant elements of `p` at the false discovery rate `q`, one result for each p.
// Source: Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995).
std::vector<bool> benjamini_hochberg(std::span<const double> p, double q = kFalseDiscoveries);

// Tests families by Simes' p, then the members of significant families, so that a quiet family
// costs no power. Members are tested at q times the share of significant families. The result has
// the shape of `families`.
std::vector<std::vector<bool>> hierarchical(std::span<const std::vector<double>> families,
                                            double q = kFalseDiscoveries);

}  // namespace railgauge::analysis
