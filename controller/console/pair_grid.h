// A pair matrix as the console draws it: an order of its nodes, what is expected of each pair, and
// coarser copies whose cells show the worst pair that they cover. Pure; immutable once made, so
// that threads may share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/archive.pb.h"
#include "controller/api/console.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::console {

// Bound of the cells of one tile: 512 x 512.
inline constexpr std::uint32_t kMostTileCells = 262'144;
// Bound of a matrix's pairs, 5,000 nodes: 11 bytes each, with the coarser copies.
inline constexpr std::size_t kMostPairs = 25'000'000;

class PairGrid {
 public:
  // Arranges `matrix` in `order`: "fabric", "name", "worst"; "" is fabric. The figure
  // that is expected of a pair is that in `against`, or without that the median of its class:
  // within a leaf, or across leaves. kInvalidArgument: an unknown order, a matrix of another
  // kernel, metric or size, or more than kMostPairs pairs. kDataLoss: the figures do not fit the
  // nodes.
  static Result<PairGrid> make(const api::PairMatrix& matrix, const std::string& order,
                               const api::PairMatrix* against);

  // All but the figures.
  [[nodiscard]] api::MatrixFrame frame() const;
  // kInvalidArgument: no such step, or more than kMostTileCells cells. Cells beyond the matrix are
  // left out.
  [[nodiscard]] Result<api::MatrixTile> tile(const api::MatrixTileRequest& request) const;
  [[nodiscard]] std::size_t pairs() const {
    return frame_.nodes_size() * std::size_t(frame_.nodes_size());
  }

 private:
  // The matrix with cells of step x step pairs.
  struct Level {
    std::uint32_t step = 1;
    std::size_t side = 0;         // cells
    std::vector<float> values{};  // of the worst pair; NaN: none
    std::vector<float> shares{};  // likewise
    std::vector<std::uint32_t> untested{};
  };
  void arrange(const api::PairMatrix& matrix, const std::vector<float>& expected);
  void coarsen();
  void describe_nodes();
  [[nodiscard]] bool is_worse(float share, float than) const;

  api::MatrixFrame frame_;
  std::vector<Level> levels_;  // the finest first; the last has few cells
};

}  // namespace railgauge::console
