#include "controller/detect/pair_peers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "controller/stats/polish.h"
#include "kernels/core/base/result.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {
namespace {

// Whether the figure was measured, between two different nodes.
bool is_there(const PairFigure& figure) {
  return std::isfinite(figure.value) && figure.value > 0 && figure.from != figure.to;
}

// Nodes that are in enough figures, after the others have gone, whose figures go with them.
std::vector<bool> well_connected(std::span<const PairFigure> figures, std::size_t nodes) {
  std::vector<bool> kept(nodes, true);
  for (bool again = true; again;) {
    again = false;
    std::vector<std::set<std::size_t>> partners(nodes);
    for (const PairFigure& figure : figures) {
      if (!is_there(figure) || !kept[figure.from] || !kept[figure.to]) continue;
      partners[figure.from].insert(figure.to);
      partners[figure.to].insert(figure.from);
    }
    for (std::size_t i = 0; i < nodes; ++i)
      if (kept[i] && partners[i].size() < kLeastPartners) {
        kept[i] = false;
        again = true;
      }
  }
  return kept;
}

// Logarithms by row (sender); a direction that nobody measured is as the other one.
std::vector<double> matrix_of(std::span<const PairFigure> figures, std::size_t nodes,
                              const std::vector<bool>& kept) {
  std::vector<std::vector<double>> cells(nodes * nodes);
  for (const PairFigure& figure : figures)
    if (is_there(figure) && kept[figure.from] && kept[figure.to])
      cells[figure.from * nodes + figure.to].push_back(std::log(figure.value));
  std::vector<double> matrix(nodes * nodes, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t a = 0; a < nodes; ++a)
    for (std::size_t b = 0; b < nodes; ++b) {
      const auto& own = cells[a * nodes + b];
      const auto& other = cells[b * nodes + a];
      if (!own.empty() || !other.empty()) matrix[a * nodes + b] = median(own.empty() ? other : own);
    }
  return matrix;
}

}  // namespace

PairScores judge_pairs(std::span<const PairFigure> figures, std::size_t nodes, Better better,
                       double floor) {
  PairScores out;
  for (const PairFigure& figure : figures) RG_CHECK(figure.from < nodes && figure.to < nodes);
  const std::vector<bool> kept = well_connected(figures, nodes);
  if (static_cast<std::size_t>(std::ranges::count(kept, true)) < kLeastPeers) return out;
  const Polish polish = median_polish(matrix_of(figures, nodes, kept), nodes, nodes);
  out.apart = true;
  // A node's effect is that of its worse direction.
  const auto worse_of = [&](std::size_t i) {
    const bool as_row = oriented(better, polish.rows[i]) > oriented(better, polish.columns[i]);
    return as_row ? polish.rows[i] : polish.columns[i];
  };
  std::vector<Peer> ends(nodes);
  for (std::size_t i = 0; i < nodes; ++i)
    if (kept[i]) ends[i].value = std::exp(worse_of(i));
  out.nodes = judge_peers(ends, better, floor);
  std::vector<Peer> paths(figures.size());
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const PairFigure& figure = figures[i];
    if (!is_there(figure) || !kept[figure.from] || !kept[figure.to]) continue;
    paths[i].value = std::exp(std::log(figure.value) - polish.overall - polish.rows[figure.from] -
                              polish.columns[figure.to]);
  }
  out.paths = judge_peers(paths, better, floor);
  return out;
}

}  // namespace railgauge::analysis
