// Figures of copies between the GPUs of one host as pairs, so that a slow GPU is found as a slow
// node is. An end is "n1 gpu3", its group is the host, and a layer is a way of copying. Called on
// worker threads; figures_of_gpus() is pure.
#pragma once

#include <vector>

#include "controller/history/pair_figures.h"

namespace railgauge {

// Reports whether the kernel's points are about pairs of GPUs.
bool is_between_gpus(const std::string& kernel);

// Arranges the figures of one series, the one with most figures, as figures_of_points() does.
// Ignores rows without a pair of GPUs, and attempts that did not pass. kNotFound: there is none.
Result<PairFigures> figures_of_gpus(const std::string& run_id,
                                    const std::vector<store::ResultRow>& rows);

// Reads the run's figures between GPUs that the request matches. kNotFound: no such run, or one
// without them. kInvalidArgument: too many, or a wrong node set.
Result<PairFigures> read_gpu_figures(store::Store& store, const api::PairsRequest& request);

// Reads the figures between nodes, or between GPUs where the request names such a kernel or the
// run has no others. Errors as of read_pair_figures().
Result<PairFigures> read_shown_figures(store::Store& store, const api::PairsRequest& request,
                                       const LeafSource& leaves = {});

}  // namespace railgauge
