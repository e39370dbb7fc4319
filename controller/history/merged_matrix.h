// One matrix of the runs that measure a fabric in slices.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "controller/api/archive.pb.h"

namespace railgauge {

// Merges matrices of one series, rail and memory. Each cell has the figure of the newest run that
// measured it. Not thread safe.
class MergedMatrix {
 public:
  // Most runs of one matrix.
  static constexpr std::size_t kMostRuns = 62;

  // `ended_at`: unix seconds.
  MergedMatrix(api::PairMatrix newest, double ended_at);

  // Fills the cells that no newer run measured, and adds the nodes that are new. Returns false, and
  // adds nothing, where the matrix has another series, rail or memory.
  bool add(const api::PairMatrix& older, double ended_at);
  [[nodiscard]] api::PairMatrix matrix() && { return std::move(matrix_); }

 private:
  void note_run(const api::PairMatrix& from, double ended_at);
  void add_nodes(const api::PairMatrix& from);

  api::PairMatrix matrix_;
  std::map<std::string, std::size_t> index_{};  // of nodes
  double newest_ended_at_;
};

}  // namespace railgauge
