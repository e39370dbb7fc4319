// The search for the element that explains the figures best. Each explanation's weight is the log
// likelihood that it wins, less what must be won to stand out among all of its kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/localise/localise_mixture.h"

namespace railgauge::localise {

struct Found {
  Element element{};
  std::vector<std::size_t> layers{};
  double weight = 0;
  double score = 0;  // weight less its price
  double drop = 0;
  double share = 1;
  bool confirmed = true;
  std::string doubt{};  // why it is not confirmed, where it is not that it was seen once only
};

// The best element of many pairs (all kinds but pairs and rails); absent when none is an outlier.
std::optional<Found> best_element(const Cells& cells, const Options& options);

// Single pairs that are slow although nothing above explains them, by weight, at most
// options.max_suspects.
std::vector<Found> slow_pairs(const Cells& cells, const Options& options);

// Rails that are slower than the others as a whole, by what is left of their figures.
std::vector<Found> slow_rails(const Cells& cells, Model model, const Options& options);

}  // namespace railgauge::localise
