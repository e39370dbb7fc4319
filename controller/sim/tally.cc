#include "controller/sim/tally.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace railgauge::simulator {
namespace {

constexpr double kLeastRight = 0.95;
constexpr double kMostWrong = 0.01;  // of fault-free runs
constexpr std::uint32_t kLargeFabric = 256;

std::string percent(std::uint32_t part, std::uint32_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f}", 100.0 * part / whole);
}

// A row of the table, but for the share of bandwidth.
using Row = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, FaultKind>;
Row row_of(const Cell& cell) { return {cell.nodes, cell.rails, cell.quick_rounds, cell.kind}; }

bool is_usual(const Cell& cell) { return cell.takes_percent == usual_percent(cell.kind); }

std::string row_text(const Tally& tally, Cell cell, const std::set<std::uint32_t>& curve) {
  cell.takes_percent = usual_percent(cell.kind);
  const Score usual = tally.score(cell);
  std::uint32_t least = usual.runs > 0 ? usual.runs : UINT32_MAX;
  std::uint32_t most = usual.runs;
  std::string shares;
  for (const std::uint32_t percents : curve) {
    cell.takes_percent = percents;
    const Score score = tally.score(cell);
    shares += fmt::format(" {} |", percent(score.right, score.runs));
    if (score.runs == 0) continue;
    least = std::min(least, score.runs);
    most = std::max(most, score.runs);
  }
  const std::string input = cell.quick_rounds == 0
                                ? "all pairs"
                                : fmt::format("quick scan, {} rounds", cell.quick_rounds);
  const std::string seeds =
      least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
  return fmt::format("| {} | {} | {} | {} | {} % | {} | {} | {} |{}\n", cell.nodes, cell.rails,
                     input, fault_word(cell.kind), usual_percent(cell.kind), seeds,
                     percent(usual.right, usual.runs), percent(usual.wrong, usual.runs), shares);
}

}  // namespace

std::uint32_t usual_percent(FaultKind kind) {
  return kind == FaultKind::kNone ? 0
                                  : static_cast<std::uint32_t>(std::lround(usual_drop(kind) * 100));
}

Trial trial_of(const Cell& cell) {
  const bool large = cell.nodes > kLargeFabric;
  return {.fabric = {.nodes = cell.nodes,
                     .nodes_per_leaf = large ? 32U : 16U,
                     .spines = large ? 16U : 4U,
                     .rails = cell.rails},
          .kind = cell.kind,
          .drop = cell.takes_percent / 100.0,
          .quick_rounds = cell.quick_rounds};
}

Status Tally::add(const Cell& cell, std::uint64_t seed, const Outcome& outcome) {
  const auto [at, is_new] = cells_[cell].try_emplace(seed, outcome);
  if (is_new || at->second == outcome) return {};
  return fail(Code::kAlreadyExists,
              fmt::format("{} nodes, {}, {} %, seed {}: was {}right before and is {}right now; one "
                          "of the files was made by other code",
                          cell.nodes, fault_word(cell.kind), cell.takes_percent, seed,
                          at->second.right ? "" : "not ", outcome.right ? "" : "not "));
}

bool Tally::has(const Cell& cell, std::uint64_t seed) const {
  const auto found = cells_.find(cell);
  return found != cells_.end() && found->second.contains(seed);
}

Score Tally::score(const Cell& cell) const {
  Score sum;
  const auto found = cells_.find(cell);
  if (found == cells_.end()) return sum;
  for (const auto& [seed, outcome] : found->second) {
    ++sum.runs;
    sum.right += outcome.right ? 1 : 0;
    sum.wrong += outcome.wrong ? 1 : 0;
  }
  return sum;
}

std::string table_of(const Tally& tally) {
  std::set<std::uint32_t> curve;
  std::map<Row, Cell> rows;
  for (const auto& [cell, seeds] : tally.cells()) {
    rows.try_emplace(row_of(cell), cell);
    if (!is_usual(cell)) curve.insert(cell.takes_percent);
  }
  std::string head =
      "| nodes | rails | input | fault | takes | seeds | right, % | wrong suspect, % |";
  std::string line = "|---|---|---|---|---|---|---|---|";
  for (const std::uint32_t percents : curve) {
    head += fmt::format(" right at {} % |", percents);
    line += "---|";
  }
  std::string text = "SYNTHETIC: a model's figures; host and GPU memory, 2 % noise\n\n";
  text += head + "\n" + line + "\n";
  for (const auto& [row, cell] : rows) text += row_text(tally, cell, curve);
  return text;
}

std::vector<std::string> below_bar(const Tally& tally) {
  std::vector<std::string> lines;
  for (const auto& [cell, seeds] : tally.cells()) {
    if (cell.quick_rounds != 0 || !is_usual(cell)) continue;
    const Score score = tally.score(cell);
    const bool healthy = cell.kind == FaultKind::kNone;
    const bool met =
        healthy ? score.wrong < kMostWrong * score.runs : score.right >= kLeastRight * score.runs;
    if (!met)
      lines.push_back(fmt::format(
          "{} nodes, {}, {} %: {} of {} {}; the bar is {}", cell.nodes, fault_word(cell.kind),
          cell.takes_percent, healthy ? score.wrong : score.right, score.runs,
          healthy ? "accuse somebody" : "right", healthy ? "fewer than 1 %" : "95 %"));
  }
  return lines;
}

}  // namespace railgauge::simulator
