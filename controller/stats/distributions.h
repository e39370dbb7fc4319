// Chances by the distributions that the judge's files share: normal, chi-square, hypergeometric,
// and the one of a place that was chosen as the best of many. By Boost.Math, in double precision.
// Pure; thread safe (std::lgamma would write the process's `signgam`, and judging runs on several
// threads).
#pragma once

#include <cstddef>

namespace railgauge::analysis {

// P(Z > z) of a standard normal.
double normal_upper_tail(double z);

// The z with P(Z < z) = p. Outside (0, 1) it is the end of the scale: -40 for p <= 0, 40 for p
// >= 1.
double normal_quantile(double p);

// P(T > t) of Student's distribution with `dof` > 0 degrees of freedom, and the t with P(T < t) =
// p.
double student_upper_tail(double t, double dof);
double student_quantile(double p, double dof);

// P(chi-square with `dof` > 0 degrees of freedom > x). 1 where x is not above 0.
double chi_square_upper_tail(double x, double dof);

// Two-sided p of a 2 x 2 table (Fisher): `a` of `n` against `b` of `m`, whole numbers. The sum over
// all tables that are at most as likely as this one; likelihoods within 1e-9 of it count as ties.
double fisher_p(double a, double n, double b, double m);

// P(at least `k` of `drawn` are marked) when `drawn` are taken, none put back, of `all` things of
// which `marked` are marked.
double hypergeometric_upper_tail(std::size_t k, std::size_t drawn, std::size_t marked,
                                 std::size_t all);

// Two-sided p of the best split of `n` values when its standardised shift is `z` and splits leave
// at least `least` values on each side: Miller and Siegmund's tail of the maximally selected
// statistic (Biometrics 38, 1982). `n` counts independent values. In (0, 1].
double selected_split_p(double z, double n, double least);

}  // namespace railgauge::analysis
