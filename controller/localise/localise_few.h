// The search among few nodes, where elements are nearly as many as figures. The scatter of figures
// is then known badly, and a temporary disturbance of a host bends all of its figures alike. So a
// side of a node is compared with the differences of the nodes' sides among themselves, by
// Student's t with as many degrees of freedom as there are of these, never with the noise of single
// figures. Pure.
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

// Parts that are slow in some tasks only, leaves, trunks and spines cannot be separated from noise
// among so few nodes, and are not named.
FewFindings find_few(const PairData& data, const Options& options);

}  // namespace railgauge::localise
