// Writes a run's pair matrices once it has ended: one for each rail, kernel, metric, meaning and
// size, from the sender (rows) to the receiver (columns), so that a matrix has both directions.
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

// Bound of a matrix's outliers; the worst are kept.
inline constexpr std::size_t kMaxOutliersOfMatrix = 1'000;
// Bound of a run's figures in memory, 32 bytes each. A night of 1,024 nodes and eight rails has six
// million.
inline constexpr std::size_t kMaxMatrixFigures = 16'000'000;

// Receives a matrix; an error ends the work.
using TakeMatrix = std::function<Status(store::PairMatrixRow)>;
// Makes the matrices of the points and passes each to `take`, so that only one is in memory. Rows
// and columns are "node/DEV:PORT" for host memory and "node/DEV:PORT+gpuN" for a GPU's, with "+gpu"
// alone where a parameter chose the GPU. Several figures of a cell become their median. Figures
// between two rails are in a matrix of rail -1. An outlier is worse than its class (inside a leaf,
// across leaves) by the least drop of a suspect path and by five deviations of the noise. Pure.
// Returns the first error of `take`.
Status make_matrices(const std::string& run_id, const std::vector<PairPoint>& points,
                     const PortMap& ports, const TakeMatrix& take);

// Reads the run's points and replaces its matrices in one transaction: a run that has any has all.
// Blocks; `ends`, where given, is read between figures and between matrices. kNotFound: no such
// run. kCancelled: `ends` became true, and nothing was written.
Status store_pair_matrices(store::Store& store, const std::string& run_id, const LeafSource& leaves,
                           const std::atomic<bool>* ends = nullptr);

// Builds matrices on a thread of its own, because reading the points of a large run takes seconds.
// Runs without matrices when it stops stay so; readers then use the points. It stops within one
// matrix.
class MatrixKeeper {
 public:
  MatrixKeeper(store::Store& store, LeafSource leaves)
      : store_(store), leaves_(std::move(leaves)) {}
  ~MatrixKeeper() { ending_ = true; }
  MatrixKeeper(const MatrixKeeper&) = delete;
  MatrixKeeper& operator=(const MatrixKeeper&) = delete;

  // Sets the function that is called when a run's matrices are written, or will not be. It is
  // called on the keeper's thread, or on that of want() where the queue is full. Set it before the
  // first want(); what it uses outlives the keeper.
  void on_done(std::function<void(const std::string& run_id)> report) {
    report_ = std::move(report);
  }
  // Queues a run that has ended, or that received figures later. Any thread. A queued run is done
  // once.
  void want(const std::string& run_id);
  // As want(), and on_done()'s function is not called for it unless want() comes too.
  void want_quietly(const std::string& run_id);
  // Whether no run waits for its matrices. Any thread.
  [[nodiscard]] bool is_idle() { return queue_.is_idle(); }
  // The number of runs whose matrices were written. Any thread.
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  void queue(const std::string& run_id);
  // Writes the matrices of one run and logs a failure.
  void keep(const std::string& run_id);
  // Reports a run, unless it was wanted quietly alone.
  void report(const std::string& run_id);

  store::Store& store_;
  const LeafSource leaves_;
  std::function<void(const std::string&)> report_ = [](const std::string&) {};
  std::mutex quiet_lock_{};
  std::set<std::string> quiet_{};
  std::atomic<bool> ending_ = false;
  std::atomic<std::uint64_t> done_ = 0;
  // The last member: its thread uses all members above.
  fleet::RunQueue queue_{[this](const std::string& run_id) { keep(run_id); }};
};

}  // namespace railgauge
