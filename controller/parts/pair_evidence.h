// The figures of one night for and against a slow part. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/localise/localise.h"
#include "controller/parts/night_figures.h"

namespace railgauge::parts {

// A figure of the part, with its loss against the median of like figures: equal memory, rail and
// distance. A share.
struct PartFigure {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t rail = 0;
  bool gpu = false;
  double loss = 0;
};

// The figures that use a part.
struct PairEvidence {
  // Those that show half of the loss or more, and the others.
  std::size_t slow = 0;
  std::size_t others = 0;
  // The largest losses, at most kMostShown.
  std::vector<PartFigure> worst{};
};
inline constexpr std::size_t kMostShown = 8;

// Reports whether the figure uses the part. A spine is used by none that is known.
bool uses(const NightFigures& night, const localise::Element& element, const Figure& figure);

// Counts the figures of the part. `loss`: the part's, a share. Figures that are no measurement are
// left out. Time and memory are linear in the figures.
PairEvidence pairs_of(const NightFigures& night, const localise::Element& element, double loss);

}  // namespace railgauge::parts
