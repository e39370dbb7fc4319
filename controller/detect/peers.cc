#include "controller/detect/peers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "controller/stats/noise.h"
#include "kernels/core/base/result.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::analysis {

namespace {

constexpr int kMaxSweeps = 20;
constexpr double kSettledPeers = 1e-9;

// Median without the cells that were not measured; 0 where none was. Reorders and shortens
// `scratch`.
double median_of_present(std::vector<double>& scratch) {
  std::erase_if(scratch, [](double v) { return !std::isfinite(v); });
  return scratch.empty() ? 0 : median_in(scratch);
}

// Takes the median out of each line of the residuals and puts it into the line's effect. Returns
// the largest that was moved.
double sweep(std::vector<double>& residuals, std::vector<double>& effects, std::size_t across,
             std::size_t line_stride, std::size_t step) {
  double largest = 0;
  std::vector<double> line;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    line.clear();
    for (std::size_t j = 0; j < across; ++j) line.push_back(residuals[i * line_stride + j * step]);
    const double middle = median_of_present(line);
    for (std::size_t j = 0; j < across; ++j) residuals[i * line_stride + j * step] -= middle;
    effects[i] += middle;
    largest = std::max(largest, std::abs(middle));
  }
  return largest;
}

// Moves the median of the effects to `overall`, so that effects are relative to a usual node.
void centre(std::vector<double>& effects, double& overall) {
  if (effects.empty()) return;
  const double middle = median(effects);
  for (double& e : effects) e -= middle;
  overall += middle;
}

}  // namespace

Polish median_polish(std::span<const double> values, std::size_t rows, std::size_t columns) {
  RG_CHECK(values.size() == rows * columns);
  Polish out;
  out.rows.assign(rows, 0);
  out.columns.assign(columns, 0);
  out.residuals.assign(values.begin(), values.end());
  for (int round = 0; round < kMaxSweeps; ++round) {
    const double by_row = sweep(out.residuals, out.rows, columns, columns, 1);
    const double by_column = sweep(out.residuals, out.columns, rows, 1, columns);
    centre(out.rows, out.overall);
    centre(out.columns, out.overall);
    if (std::max(by_row, by_column) < kSettledPeers) break;
  }
  return out;
}

namespace {

// Z beyond which a member says nothing about its class.
constexpr double kDefect = 5;
// Members within so many deviations of the first wide estimate enter the refinement.
constexpr double kFarFromHalf = 3;
constexpr int kMaxRounds = 20;

// Location and scale of a class, in logarithms.
struct Class {
  double middle = 0;
  double spread = 0;
};

// The narrowest interval that holds half of the members: it does not move for up to as many
// defects.
Class densest_half(std::vector<double> logs, double floor) {
  std::ranges::sort(logs);
  const std::size_t half = logs.size() / 2 + 1;
  std::size_t best = 0;
  const auto width = [&](std::size_t i) { return logs[i + half - 1] - logs[i]; };
  for (std::size_t i = 1; i + half <= logs.size(); ++i)
    if (width(i) < width(best)) best = i;
  // Deviations that the half of a normal spans.
  constexpr double kHalfOfNormal = 2 * 0.6745;
  return {.middle = (logs[best] + logs[best + half - 1]) / 2,
          .spread = std::max(width(best) / kHalfOfNormal, floor)};
}

// Starts from the densest half, then repeats median and MAD over the members within kDefect
// deviations.
Class learn(const std::vector<double>& logs, double floor) {
  Class learned = densest_half(logs, floor);
  std::vector<double> kept;
  for (const double v : logs)
    if (std::abs(v - learned.middle) <= kFarFromHalf * learned.spread) kept.push_back(v);
  for (int round = 0; round < kMaxRounds; ++round) {
    learned.middle = median(kept);
    learned.spread = std::max(mad_scale(kept, learned.middle), floor);
    std::vector<double> next;
    for (const double v : logs)
      if (std::abs(v - learned.middle) <= kDefect * learned.spread) next.push_back(v);
    // More than half are never defects of the class; they are the class.
    if (next.size() == kept.size() || 2 * next.size() < logs.size()) break;
    kept = std::move(next);
  }
  return learned;
}

}  // namespace

std::vector<PeerScore> judge_peers(std::span<const Peer> peers, Better better, double floor) {
  std::vector<PeerScore> out(peers.size());
  std::vector<double> logs;
  for (const Peer& peer : peers)
    if (std::isfinite(peer.value) && peer.value > 0) logs.push_back(std::log(peer.value));
  if (logs.size() < kLeastPeers) return out;
  constexpr double kLeastFloor = 5e-4;
  const Class learned = learn(logs, std::max(floor, kLeastFloor));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!std::isfinite(peers[i].value) || !(peers[i].value > 0)) continue;
    const double away = oriented(better, std::log(peers[i].value) - learned.middle);
    PeerScore& standing = out[i];
    standing.judged = true;
    standing.z = away / learned.spread;
    standing.worse = worse_fraction(better, away);
  }
  return out;
}

bool pages(std::span<const double> nights, double worse_tonight, double delta) {
  if (nights.empty()) return false;
  const auto recent = nights.last(std::min<std::size_t>(3, nights.size()));
  const auto beyond = std::ranges::count_if(recent, [](double z) { return z > kPageZ; });
  const bool at_once = nights.back() > kPageAtOnceZ && worse_tonight > 2 * delta;
  return at_once || beyond >= 2;
}

namespace {

// Reports whether the figure was measured, between two different nodes.
bool is_there(const PairFigure& figure) {
  return std::isfinite(figure.value) && figure.value > 0 && figure.from != figure.to;
}

// Marks nodes with at least kLeastPartners partners. Removes other nodes with their figures, until
// all remaining nodes have enough partners.
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

// Returns logarithms by row (sender); a direction without figures gets those of the other one.
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
