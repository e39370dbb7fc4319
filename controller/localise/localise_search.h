// Search for the element that explains the figures best. An explanation's weight is its gain in log
// likelihood; its score subtracts the gain that chance yields among all elements of its kind.
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
  // Weight less its price: the gain that chance yields among all elements of the kind.
  double score = 0;
  // Share of the bandwidth that is missing, or of the latency that is added.
  double drop = 0;
  double share = 1;
  bool confirmed = true;
  // Reason why the element is not confirmed; "" when it was merely seen only once.
  std::string doubt{};
};

// Finds the best element of many pairs (every kind except pairs and rails); absent when none is an
// outlier.
std::optional<Found> best_element(const Cells& cells, const Options& options);

// Finds single slow pairs that no larger element explains, by weight, at most
// options.max_suspects.
std::vector<Found> slow_pairs(const Cells& cells, const Options& options);

// Finds rails that are slower than the others as a whole, from their unexplained figures.
std::vector<Found> slow_rails(const Cells& cells, Model model, const Options& options);

// Result of the search among few nodes, where elements are nearly as many as figures. The scatter
// of figures is then badly known, and a temporary disturbance of a host shifts all of its figures
// alike. The search therefore compares a side of a node with the differences between the nodes'
// sides, by Student's t with the degrees of freedom of these differences, and never with the noise
// of single figures.
struct FewFindings {
  // Nodes and ports that are slow in all their tasks, in the order in which they were found.
  std::vector<Found> nodes{};
  // Slow pairs among the figures that `nodes` do not explain.
  std::vector<Found> pairs{};
  // The input without the figures of `nodes`.
  PairData rest{};
  // By layer: the noise of one figure of `rest`, as a share.
  std::vector<double> noise{};
};

// Searches among few nodes. Does not name intermittent parts, leaves, trunks and spines: so few
// nodes cannot separate these from noise.
FewFindings find_few(const PairData& data, const Options& options);

}  // namespace railgauge::localise
