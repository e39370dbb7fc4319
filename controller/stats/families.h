// Errors over many questions at once. Pure.
#pragma once

#include <span>
#include <vector>

namespace railgauge::analysis {

// Share of the reported ones that may be false.
// The false discovery rate that all reports of one night share.
inline constexpr double kFalseDiscoveries = 0.05;

// Simes' p that nothing of the family is there. 1 for none.
double simes_p(std::span<const double> p);

// Benjamini and Hochberg: which of `p` stand when a share of `q` may be false, in the order given.
// Source: Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995). The result has an element for
// each p.
std::vector<bool> benjamini_hochberg(std::span<const double> p, double q = kFalseDiscoveries);

// Tests families first, by Simes' p, then the members of those that are significant, so that a
// quiet family costs nothing. Members are tested at q times the share of significant families. The
// result has the shape of `families`.
std::vector<std::vector<bool>> hierarchical(std::span<const std::vector<double>> families,
                                            double q = kFalseDiscoveries);

}  // namespace railgauge::analysis
