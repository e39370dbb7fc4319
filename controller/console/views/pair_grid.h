// A pair matrix as the console draws it: an order of its nodes, what is expected of each pair, and
// coarser copies whose cells show the worst pair that they cover. A large matrix has only coarse
// copies here; its finer cells are made from a block of its figures. Pure; immutable once made,
// so that threads may share it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/archive.pb.h"
#include "controller/api/console.pb.h"
#include "controller/console/views/node_place.h"
#include "kernels/core/base/result.h"

namespace railgauge::console {

// Bound of the cells of one tile: 512 x 512.
inline constexpr std::uint32_t kMostTileCells = 262'144;
// Bound of a matrix's pairs, 5,000 nodes: 11 bytes each, with the coarser copies.
inline constexpr std::size_t kMostPairs = 25'000'000;

class PairGrid {
 public:
  // Arranges `matrix` in `order`, a word of kOrderWords; "" is fabric. The figure
  // that is expected of a pair is that in `against`, or without that the median of its class:
  // within a leaf, or across leaves. `hop` leaves pairs of one class, "within_leaf" or
  // "across_leaves"; the others count neither as measured nor as untested. `places` are those of an
  // order by place. kInvalidArgument: an
  // unknown order or class, a matrix of another kernel, metric or size, or more than kMostPairs
  // pairs. kDataLoss: the figures do not fit the nodes.
  static Result<PairGrid> make(const api::PairMatrix& matrix, const std::string& order,
                               const api::PairMatrix* against, const std::string& hop = "",
                               const NodePlaces& places = {});

  // Takes the order and the coarse cells from `overview`, whose lists fit its nodes.
  static PairGrid of_overview(const api::MatrixOverview& overview);

  // All but the figures.
  [[nodiscard]] api::MatrixFrame frame() const;
  // kInvalidArgument: no such step, or more than kMostTileCells cells. Cells beyond the matrix are
  // left out.
  [[nodiscard]] Result<api::MatrixTile> tile(const api::MatrixTileRequest& request) const;
  // The figures that fine_tile() needs for this request; absent: tile() answers it. Errors as of
  // tile().
  [[nodiscard]] Result<std::optional<api::MatrixBlockRequest>> block_for(
      const api::MatrixTileRequest& request) const;
  // Makes a tile of the block of block_for(). kDataLoss: the block is of another size.
  [[nodiscard]] Result<api::MatrixTile> fine_tile(const api::MatrixTileRequest& request,
                                                  const api::MatrixBlock& block) const;
  // Cells of the finest copy, which most of the memory is for.
  // Whether figures of single pairs are read in blocks, by their places here.
  [[nodiscard]] bool has_blocks() const { return levels_.front().step > 1; }
  [[nodiscard]] std::size_t cells() const { return levels_.front().side * levels_.front().side; }

 private:
  // The matrix with cells of step x step pairs.
  struct Level {
    std::uint32_t step = 1;
    std::size_t side = 0;         // cells
    std::vector<float> values{};  // of the worst pair; NaN: none
    std::vector<float> shares{};  // likewise
    std::vector<std::uint32_t> untested{};
    // Ages of the figures, for a grid of several runs.
    std::vector<float> ages{};  // days, of the oldest pair; NaN: none. Empty: figures of one run
  };
  // A rectangle of cells of one step, cut at the matrix's end.
  struct Cells {
    std::uint32_t step = 1;
    std::size_t row = 0;
    std::size_t rows = 0;
    std::size_t column = 0;
    std::size_t columns = 0;
  };
  // The cells of the request, at a step that the grid has. kInvalidArgument: no such step, or more
  // than kMostTileCells cells.
  [[nodiscard]] Result<Cells> cells_of(const api::MatrixTileRequest& request) const;
  // A tile of these cells, without figures.
  [[nodiscard]] static api::MatrixTile tile_of(const Cells& cells);
  // The share of a figure that is expected in its class; NaN: nothing is.
  [[nodiscard]] float share_in_class(std::size_t from, std::size_t to, float value) const;
  void arrange(const api::PairMatrix& matrix, const std::vector<float>& expected,
               const std::vector<int>& leaves, const std::string& hop, const NodePlaces& places);
  // The shares of a node's pairs, as sender and as receiver; NaN: none was tested.
  struct RowShares {
    float worst = std::numeric_limits<float>::quiet_NaN();
    double sum = 0;
    double pairs = 0;
    [[nodiscard]] float worst_share() const { return worst; }
    // In steps of 0.01 %, so that the order of the sum is no matter.
    [[nodiscard]] float mean_share() const {
      return static_cast<float>(std::round(sum / pairs * 1e4));
    }
  };
  [[nodiscard]] std::vector<int> order_rows(const api::PairMatrix& matrix,
                                            const std::vector<RowShares>& shares,
                                            const NodePlaces& places) const;
  void coarsen();
  // Names the steps of the frame: finer cells than the first copy are made on request.
  void list_steps();
  // Sets the scatter of the shares of the finest copy.
  void measure_scatter();
  void describe_nodes();
  [[nodiscard]] bool is_worse(float share, float than) const;

  api::MatrixFrame frame_;
  std::vector<Level> levels_;  // the finest first; the last has few cells
  std::vector<int> leaf_of_;   // of the nodes, as numbers; of an overview alone
};

}  // namespace railgauge::console
