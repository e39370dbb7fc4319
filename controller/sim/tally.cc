#include "controller/sim/tally.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace railgauge::simulator {
namespace {

constexpr double kLeastRight = 0.95;
// Largest share of fault-free runs that may accuse a part.
constexpr double kMostWrong = 0.01;
// Fabrics with more nodes have larger leaves and more spines.
constexpr std::uint32_t kLargeFabric = 256;

// One decimal; "-" without runs.
std::string percent(std::uint32_t part, std::uint32_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f}", 100.0 * part / whole);
}

// A row of the table, but for the share of bandwidth.
using Row = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, FaultKind>;
Row row_of(const Cell& cell) { return {cell.nodes, cell.rails, cell.quick_rounds, cell.kind}; }

// Reports whether the cell has the share of bandwidth that the table shows for its kind.
bool is_usual(const Cell& cell) { return cell.takes_percent == usual_percent(cell.kind); }

// One row of the table: the usual share first, then a column for each other share.
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

// A repeated trial must agree with the first one.
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

// Counts are small, so they are added up on each call.
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

// Columns for the shares that any cell has; rows in the order of Row.
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

// Quick scans have no bar: they only select suspects for a retest.
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

// The file of counts, and the name of the code that made them.

namespace {

constexpr std::string_view kHeader =
    "synthetic,code,nodes,rails,quick_rounds,fault,takes_percent,seed,right,wrong";
constexpr std::size_t kColumns = 10;
constexpr std::size_t kMostLines = 10'000'000;

// Parts between separators; an empty text has one empty part.
std::vector<std::string_view> parts_of(std::string_view text, char between) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(between);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Accepts decimal digits only, up to `most`.
template <class Number>
bool read_number(std::string_view text, Number most, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc{} && end == text.data() + text.size() && into <= most;
}

// The inverse of fault_word().
bool read_kind(std::string_view text, FaultKind& into) {
  for (int kind = 0; kind < kFaultKinds; ++kind)
    if (fault_word(static_cast<FaultKind>(kind)) == text) {
      into = static_cast<FaultKind>(kind);
      return true;
    }
  return false;
}

// One line of the file of counts.
// Views refer to the text of the file.
struct Line {
  std::string_view code{};
  Cell cell{};
  std::uint64_t seed = 0;
  Outcome outcome{};
};

// Empty: read; else the name of the column that does not fit.
std::string_view read_line(const std::vector<std::string_view>& columns, Line& line) {
  constexpr std::uint32_t kOne = 1;
  std::uint32_t right = 0;
  std::uint32_t wrong = 0;
  if (columns.size() != kColumns) return "count of columns";
  line.code = columns[1];
  if (columns[0] != "1") return "synthetic";
  if (line.code.empty()) return "code";
  if (!read_number(columns[2], static_cast<std::uint32_t>(localise::kMaxNodes), line.cell.nodes))
    return "nodes";
  if (!read_number(columns[3], static_cast<std::uint32_t>(localise::kMaxLayers), line.cell.rails))
    return "rails";
  if (!read_number(columns[4], UINT32_MAX, line.cell.quick_rounds)) return "quick_rounds";
  if (!read_kind(columns[5], line.cell.kind)) return "fault";
  if (!read_number(columns[6], 100U, line.cell.takes_percent)) return "takes_percent";
  if (!read_number(columns[7], UINT64_MAX, line.seed)) return "seed";
  if (!read_number(columns[8], kOne, right)) return "right";
  if (!read_number(columns[9], kOne, wrong)) return "wrong";
  line.outcome = {.right = right == 1, .wrong = wrong == 1};
  return "";
}

// FNV-1a, over what a person would read.
std::uint64_t mixed(std::uint64_t hash, std::string_view text) {
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  return hash;
}

}  // namespace

std::string code_name() {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (int kind = 0; kind < kFaultKinds; ++kind)
    for (const double drop : {0.03, 0.1, 0.3}) {
      Fabric fabric({.nodes = 32, .nodes_per_leaf = 8});
      for (const Fault& fault : fabric.random_faults(static_cast<FaultKind>(kind), drop))
        fabric.inject(fault);
      for (const localise::PairData& data : {fabric.all_pairs(), fabric.quick_scan(4)}) {
        const auto found = localise::find_suspects(data);
        hash = mixed(hash, found ? fmt::format("{:.4g}", found->noise) : found.error().message);
        if (!found) continue;
        for (const localise::Suspect& suspect : found->suspects)
          hash = mixed(hash, fmt::format("{} {:.4g} {}", suspect.sentence, suspect.weight,
                                         suspect.confirmed));
      }
    }
  return fmt::format("{:016x}", hash);
}

std::string csv_header() { return fmt::format("{}\n", kHeader); }

std::string csv_line(const Cell& cell, std::uint64_t seed, const Outcome& outcome,
                     std::string_view code) {
  return fmt::format("1,{},{},{},{},{},{},{},{},{}\n", code, cell.nodes, cell.rails,
                     cell.quick_rounds, fault_word(cell.kind), cell.takes_percent, seed,
                     outcome.right ? 1 : 0, outcome.wrong ? 1 : 0);
}

// The last line is dropped when it has no end: a run that was killed wrote a part of it.
Status read_csv(std::string_view text, std::string_view file, std::string& code, Tally& into) {
  const std::size_t end = text.rfind('\n');
  std::vector<std::string_view> lines =
      parts_of(text.substr(0, end == std::string_view::npos ? 0 : end), '\n');
  if (lines.front() != kHeader)
    return fail(Code::kInvalidArgument,
                fmt::format("{} line 1: read: is no header of a file of counts", file));
  if (lines.size() > kMostLines)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: read: {} lines; {} are allowed", file, lines.size(), kMostLines));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Line line;
    if (const std::string_view column = read_line(parts_of(lines[i], ','), line); !column.empty())
      return fail(Code::kInvalidArgument, fmt::format("{} line {}: read: {} does not fit: {}", file,
                                                      i + 1, column, lines[i]));
    if (code.empty()) code = line.code;
    if (line.code != code)
      return fail(Code::kFailedPrecondition,
                  fmt::format("{} line {}: add up: made by code {}, the others by {}; run these "
                              "seeds again with one build",
                              file, i + 1, line.code, code));
    if (auto added = into.add(line.cell, line.seed, line.outcome); !added)
      return fail(added.error().code,
                  fmt::format("{} line {}: add up: {}", file, i + 1, added.error().message));
  }
  return {};
}

}  // namespace railgauge::simulator
