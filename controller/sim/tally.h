// The detection table's counts, trial by trial: kept in a file that pieces of the table, made in
// other sessions or on other machines, add to; and the table that they give together.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/sim/score.h"
#include "kernels/core/base/result.h"

namespace railgauge::simulator {

// One cell of the table: all seeds of one trial.
struct Cell {
  std::uint32_t nodes = 0;
  std::uint32_t rails = 2;
  // 0: all pairs.
  std::uint32_t quick_rounds = 0;
  FaultKind kind = FaultKind::kNone;
  // Share of bandwidth that the fault takes, in percent; 0 without a fault.
  std::uint32_t takes_percent = 0;
  auto operator<=>(const Cell&) const = default;
};

// The table's fabrics: 64 nodes under 4 leaves and 4 spines, 1,024 under 32 leaves and 16 spines.
Trial trial_of(const Cell& cell);
// usual_drop() in percent; 0 without a fault.
std::uint32_t usual_percent(FaultKind kind);

// Result of one trial; see Score.
struct Outcome {
  bool right = false;
  bool wrong = false;
  bool operator==(const Outcome&) const = default;
};

// Outcomes by cell and seed. Not thread safe.
class Tally {
 public:
  // kAlreadyExists: that seed is there with another outcome, which the same code cannot give.
  Status add(const Cell& cell, std::uint64_t seed, const Outcome& outcome);
  // Whether the trial of this cell and seed was counted.
  [[nodiscard]] bool has(const Cell& cell, std::uint64_t seed) const;
  // Sums over the seeds of the cell; all 0 for a cell that was not run.
  [[nodiscard]] Score score(const Cell& cell) const;
  [[nodiscard]] const std::map<Cell, std::map<std::uint64_t, Outcome>>& cells() const {
    return cells_;
  }

 private:
  std::map<Cell, std::map<std::uint64_t, Outcome>> cells_;
};

// A short name of the answers that simulator and localisation give on a set of small fabrics:
// counts of code that answers otherwise must not be added up. Runs 78 small localisations.
std::string code_name();

// A file of counts: the header, then a line a trial. `code` is code_name() of what made them.
std::string csv_header();
// One line for one trial, with its end of line.
std::string csv_line(const Cell& cell, std::uint64_t seed, const Outcome& outcome,
                     std::string_view code);
// Adds a file's lines to `into`. An empty `code` becomes that of the first line; another one is
// kFailedPrecondition. A line that does not fit the header is kInvalidArgument, named by file and
// line. A last line without its end was cut off while it was written, and is left out.
Status read_csv(std::string_view text, std::string_view file, std::string& code, Tally& into);

// The table, with a row for all pairs and one for the quick scan; a cell that was not run is "-".
std::string table_of(const Tally& tally);
// Where the bar is missed with all pairs and the usual share, a line each: 95 % right, of no fault
// fewer than 1 % with a suspect.
std::vector<std::string> below_bar(const Tally& tally);

}  // namespace railgauge::simulator
