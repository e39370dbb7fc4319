// The slow part of an element's figures: all of them, or some.
#pragma once

#include <cstddef>

#include "controller/localise/localise_shape.h"

namespace railgauge::localise {

// Some of the element's tasks are slow by `drop`, the others are as expected.
struct Mixture {
  double weight = 0;  // log likelihood won over "all as expected"
  double proof = 0;   // the same over "all a little wider spread than thought": never more
  double drop = 0;    // as a share
  double share = 0;   // of the tasks that are slow
  double tasks = 0;
};
Mixture mixture_of(const Cells& cells, const LayerSet& set, const Element& element);

// The tasks of an element, counted one by one, which sums cannot show.
struct Census {
  double tasks = 0;
  double slow = 0;               // nearer to the slow figure than to the expected one
  std::size_t slow_senders = 0;  // distinct nodes, as the two below
  std::size_t slow_receivers = 0;
  std::size_t slow_partners = 0;  // other than the element's first node
  // Whether chance may decide which tasks are slow, by how they lie over nodes and over pairs of
  // leaves; not when some of these always are.
  bool even = true;
};
Census census_of(const Cells& cells, const LayerSet& set, const Element& element, double drop);

}  // namespace railgauge::localise
