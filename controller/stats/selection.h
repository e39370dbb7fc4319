// Chances of what was chosen as the largest of many. Pure.
#pragma once

namespace railgauge::analysis {

// ln of n over k. std::lgamma would write the process's `signgam`, and judging runs on several
// threads.
double log_choose(double n, double k);

// Two-sided p of the best split of `n` values when its standardised shift is `z` and splits leave
// at least `least` values on each side: Miller and Siegmund's tail of the maximally selected
// statistic (Biometrics 38, 1982). `n` counts independent values. In (0, 1].
double selected_split_p(double z, double n, double least);

// P(chi-square with `dof` degrees of freedom > x).
double chi_square_upper_tail(double x, double dof);

// Two-sided p of a 2 x 2 table (Fisher): `a` of `n` against `b` of `m`.
double fisher_p(double a, double n, double b, double m);

}  // namespace railgauge::analysis
