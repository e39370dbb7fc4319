// The search for the element that explains the figures best. Each explanation's weight is the log
// likelihood that it wins, less what must be won to stand out among all of its kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/localise/localise_elements.h"

namespace railgauge::localise {

// An element that explains figures, before it becomes a suspect.
struct Found {
  Element element{};
  // Indices of the layers that show it.
  std::vector<std::size_t> layers{};
  double weight = 0;
  // Weight less its price.
  double score = 0;
  // Share of the bandwidth that is missing, or of the latency that is added.
  double drop = 0;
  double share = 1;
  bool confirmed = true;
  // Why it is not confirmed, where it is not that it was seen once only.
  std::string doubt{};
};

// The best element of many pairs (all kinds but pairs and rails); absent when none is an outlier.
std::optional<Found> best_element(const Cells& cells, const Options& options);

// Single pairs that are slow although nothing above explains them, by weight, at most
// options.max_suspects.
std::vector<Found> slow_pairs(const Cells& cells, const Options& options);

// Rails that are slower than the others as a whole, by what is left of their figures.
std::vector<Found> slow_rails(const Cells& cells, Model model, const Options& options);

// The search among few nodes, where elements are nearly as many as figures. The scatter of figures
// is then known badly, and a temporary disturbance of a host bends all of its figures alike. So a
// side of a node is compared with the differences of the nodes' sides among themselves, by
// Student's t with as many degrees of freedom as there are of these, never with the noise of single
// figures.
struct FewFindings {
  // Steady ones; in the order of their weight.
  std::vector<Found> nodes{};
  // Slow pairs among the figures that `nodes` do not explain.
  std::vector<Found> pairs{};
  // The input without the figures of `nodes`.
  PairData rest{};
  // By layer: the noise of one figure of `rest`, as a share.
  std::vector<double> noise{};
};

// Parts that are slow in some tasks only, leaves, trunks and spines cannot be separated from noise
// among so few nodes, and are not named.
FewFindings find_few(const PairData& data, const Options& options);

}  // namespace railgauge::localise
