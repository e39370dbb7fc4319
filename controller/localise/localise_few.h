// The search among few nodes, where elements are nearly as many as figures. How far figures scatter
// is then known badly, and what befalls a host for a while bends all of its figures alike. So a
// side of a node is held against how much the sides of the nodes differ among themselves, by
// Student's t with as many degrees of freedom as there are of these, never against the noise of
// single figures. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "controller/localise/localise_search.h"

namespace railgauge::localise {

struct FewFindings {
  std::vector<Found> nodes{};   // steady ones; in the order of their weight
  std::vector<Found> pairs{};   // of what these leave
  PairData rest{};              // without the figures of `nodes`
  std::vector<double> noise{};  // of one figure of `rest`, as a share, by layer
};

// Parts that are slow in some tasks only, leaves, trunks and spines are not told from noise among
// so few, and are not named.
FewFindings find_few(const PairData& data, const Options& options);

}  // namespace railgauge::localise
