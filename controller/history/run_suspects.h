// The suspects of a run's pairs, with the retests that the run measured beyond its plan. Called on
// worker threads.
#pragma once

#include <vector>

#include "controller/history/pair_figures.h"
#include "controller/localise/retest/suspects_followup.h"

namespace railgauge {

struct RunSuspects {
  PairFigures figures{};
  localise::Localisation found{};
  // The tasks that would separate the suspects, and the answers of those that the run measured: at
  // most one for a suspect.
  std::vector<localise::FollowUp> wanted{};
  std::vector<localise::Retest> retests{};
};

// Errors are those of read_pair_figures() and find_suspects().
Result<RunSuspects> read_suspects(store::Store& store, const api::PairsRequest& request,
                                  const LeafSource& leaves);

// The same for what a person asks: also between GPUs, as read_shown_figures() chooses. Errors are
// its, and those of find_suspects().
Result<RunSuspects> read_shown_suspects(store::Store& store, const api::PairsRequest& request,
                                        const LeafSource& leaves);

}  // namespace railgauge
