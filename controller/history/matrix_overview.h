// A large pair matrix in coarse cells, which show the worst pair that they cover, and rectangles of
// its figures: what a reader needs to look at it from afar and to come closer, without the whole
// matrix in any memory or message.
#pragma once

#include <cstddef>

#include "controller/api/archive.pb.h"
#include "controller/history/pair_figures.h"
#include "controller/store/store.h"

namespace railgauge {

// A matrix of more rows has an overview; others are read as a whole.
inline constexpr std::size_t kLeastWideRows = 1'025;
// Pairs along a side of a cell of the overview.
inline constexpr std::uint32_t kOverviewStep = 16;
// Bound of the figures of one block, 16 MiB.
inline constexpr std::size_t kMostBlockFigures = 4'194'304;

// Orders the rows of a matrix without values by the leaves of their nodes, then by name.
void order_by_leaf(store::PairMatrixRow& matrix, const PortMap& ports);
// Makes the overview of a matrix whose rows are in that order, and keeps it in the matrix, as bytes
// of api::MatrixOverview. Does nothing for a matrix of fewer than kLeastWideRows rows, or with
// several rows of a node, or with rows of several kinds of memory.
void add_overview(store::PairMatrixRow& matrix, const PortMap& ports);

// Reads the overview of the matrix that the request selects: of bandwidth before latency, then of
// the largest size, then of the first rail. kNotFound: no such run, or none of its matrices that
// fit has one. kInvalidArgument: the request is for a node set or several runs. kDataLoss: the
// stored overview is damaged.
Result<api::MatrixOverview> read_overview(store::Store& store, const api::PairsRequest& request);
// Reads figures of such a matrix. kInvalidArgument: more than kMostBlockFigures, or a rectangle
// beyond the matrix. kNotFound: no such matrix.
Result<api::MatrixBlock> read_block(store::Store& store, const api::MatrixBlockRequest& request);

}  // namespace railgauge
