// Tail probabilities for the judge: normal, Student, chi-square, hypergeometric, and the
// distribution of a split that was chosen as the best of many. By Boost.Math, in double precision.
// Pure; thread safe (std::lgamma would write the process's `signgam`, and judging runs on several
// threads).
#pragma once

#include <cstddef>

namespace railgauge::analysis {

// Returns P(Z > z) of a standard normal variable.
double normal_upper_tail(double z);

// Returns the z with P(Z < z) = p; -40 for p <= 0 and 40 for p >= 1.
double normal_quantile(double p);

// Return P(T > t) of Student's distribution with `dof` > 0 degrees of freedom, and the t with
// P(T < t) = p.
double student_upper_tail(double t, double dof);
double student_quantile(double p, double dof);

// Returns P(X > x) of a chi-square variable with `dof` > 0 degrees of freedom; 1 unless x > 0.
double chi_square_upper_tail(double x, double dof);

// Returns Fisher's two-sided p of a 2 x 2 table: `a` of `n` against `b` of `m`, whole numbers. Sums
// over all tables that are at most as likely; likelihoods within 1e-9 count as ties.
double fisher_p(double a, double n, double b, double m);

// Returns P(at least `k` of `drawn` items are marked) for draws without replacement from `all`
// items, `marked` of them marked.
double hypergeometric_upper_tail(std::size_t k, std::size_t drawn, std::size_t marked,
                                 std::size_t all);

// Returns the two-sided p, in (0, 1], of the best split of `n` independent values with the
// standardised shift `z` and at least `least` values on each side. By Miller and Siegmund's tail of
// the maximally selected statistic (Biometrics 38, 1982).
double selected_split_p(double z, double n, double least);

}  // namespace railgauge::analysis
