// How often a localisation names what is really wrong, over many modelled fabrics.
#pragma once

#include <cstdint>

#include "controller/sim/fabric.h"

namespace railgauge::simulator {

// One kind of fault on one kind of fabric.
struct Trial {
  FabricSpec fabric{};
  FaultKind kind = FaultKind::kNone;
  double drop = 0.1;
  // 0: all pairs.
  std::uint32_t quick_rounds = 0;
};

// Sums over the runs of a trial.
struct Score {
  std::uint32_t runs = 0;
  // Each fault among the first as many suspects; of no fault: no suspect.
  std::uint32_t right = 0;
  // Some confirmed suspect that is none of the faults.
  std::uint32_t wrong = 0;
};

// One fabric with that seed, its figures in `reused`'s memory: the same score whatever was there.
// Deterministic. Thread safe with one Figures for each thread.
Score score_of(const Trial& trial, std::uint64_t seed, Figures& reused);
Score score_of(const Trial& trial, std::uint64_t seed);

// The share of bandwidth that a fault of the table takes: 0.1, of a flapping part's slow tasks 0.5,
// of one slow pair 0.3.
// Drops of the table's main column; see deploy/docs/guide/localisation.md.
double usual_drop(FaultKind kind);

}  // namespace railgauge::simulator
