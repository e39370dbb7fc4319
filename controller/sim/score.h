// Score of localisations: how often they name the injected fault, over many modelled fabrics.
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
  // Runs whose first confirmed suspects, as many as faults, are the faults; without a fault: runs
  // without a confirmed suspect.
  std::uint32_t right = 0;
  // Runs with a confirmed suspect that is none of the faults.
  std::uint32_t wrong = 0;
};

// Scores one fabric with that seed; `reused` holds the figures and does not change the score.
// Deterministic. Thread safe with one Figures for each thread.
Score score_of(const Trial& trial, std::uint64_t seed, Figures& reused);
Score score_of(const Trial& trial, std::uint64_t seed);

// Returns the share of bandwidth that a fault takes in the table's main column: 0.1; 0.5 of the
// slow tasks of a flapping part; 0.3 of one slow pair. See deploy/docs/guide/localisation.md.
double usual_drop(FaultKind kind);

}  // namespace railgauge::simulator
