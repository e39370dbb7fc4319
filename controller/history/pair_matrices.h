// Writes a run's pair matrices once it has ended: one for each rail, kernel, metric, meaning and
// size, from the sender (rows) to the receiver (columns), so that both directions stand in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "controller/fleet/leaf_map.h"
#include "controller/fleet/worker_pool.h"
#include "controller/history/pair_figures.h"
#include "controller/store/store.h"

namespace railgauge {

inline constexpr std::size_t kMaxOutliersOfMatrix = 1'000;  // the worst ones

// Rows and columns are "node/DEV:PORT" for host memory, "node/DEV:PORT+gpuN" for a GPU's, with
// "+gpu" alone where a parameter chose the GPU. Several figures of a cell become their median.
// Figures between two rails are in a matrix of rail -1. Outliers are figures that are worse than is
// expected of their class (inside a leaf, across leaves) by what a single pair must differ to be a
// suspect, and by five deviations of the noise. Pure. They are handed over as they are made: only
// one is in memory. The first error of `take` ends it.
using TakeMatrix = std::function<Status(store::PairMatrixRow)>;
Status make_matrices(const std::string& run_id, std::vector<PairPoint> points, const PortMap& ports,
                     const TakeMatrix& take);

// Reads the run's points and writes its matrices, in place of what it had, all at once: a run that
// has any has all, so whoever finds one needs no other sign. Blocks.
Status store_pair_matrices(store::Store& store, const std::string& run_id,
                           const LeafSource& leaves);

// Builds matrices on a thread of its own, because reading the points of a large run takes seconds.
// Runs without matrices when it stops stay so; readers then use the points.
class MatrixKeeper {
 public:
  MatrixKeeper(store::Store& store, LeafSource leaves)
      : store_(store), leaves_(std::move(leaves)) {}
  ~MatrixKeeper() { ending_ = true; }
  MatrixKeeper(const MatrixKeeper&) = delete;
  MatrixKeeper& operator=(const MatrixKeeper&) = delete;

  // The run has ended, or figures of it came later. Any thread; asked twice is done once.
  void want(const std::string& run_id);
  // Grows with each run whose matrices were written. Any thread.
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  void keep(const std::string& run_id);

  store::Store& store_;
  const LeafSource leaves_;
  std::atomic<bool> ending_ = false;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex mutex_;
  std::set<std::string> waiting_;
  fleet::WorkerPool pool_{1};  // last: its thread uses all above
};

}  // namespace railgauge
