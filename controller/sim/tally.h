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
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the comparison with 0 for a pointer
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
  // Adds an outcome. kAlreadyExists: the seed has another outcome, which equal code cannot yield.
  Status add(const Cell& cell, std::uint64_t seed, const Outcome& outcome);
  // Reports whether the trial of this cell and seed was counted.
  [[nodiscard]] bool has(const Cell& cell, std::uint64_t seed) const;
  // Sums over the seeds of the cell; all 0 for a cell that was not run.
  [[nodiscard]] Score score(const Cell& cell) const;
  [[nodiscard]] const std::map<Cell, std::map<std::uint64_t, Outcome>>& cells() const {
    return cells_;
  }

 private:
  std::map<Cell, std::map<std::uint64_t, Outcome>> cells_;
};

// Returns a short name of this code, from the answers of simulator and localisation on a set of
// small fabrics: counts of code with other answers must not be added. Runs 78 small localisations.
std::string code_name();

// Returns the header of a file of counts, which has one line for each trial.
std::string csv_header();
// Returns the line of one trial, with its end of line. `code`: code_name() of the code that ran it.
std::string csv_line(const Cell& cell, std::uint64_t seed, const Outcome& outcome,
                     std::string_view code);
// Adds the lines of a file to `into`. An empty `code` becomes the code of the first line.
// kFailedPrecondition: a line of other code. kInvalidArgument, with file and line: a line that does
// not fit the header. A last line without its end was cut off during the write and is left out.
Status read_csv(std::string_view text, std::string_view file, std::string& code, Tally& into);

// Renders the table, with rows for all pairs and for the quick scan; "-": the cell was not run.
std::string table_of(const Tally& tally);
// Returns a line for each cell with all pairs and the usual share that misses its bound: 95 % right
// with a fault, fewer than 1 % with a suspect without one.
std::vector<std::string> below_bar(const Tally& tally);

}  // namespace railgauge::simulator
