// Which parts of one table are outside the others, tonight or over nights. All scatter is measured
// on the site itself, across parts of the same kind and on the same statistic, so that differences
// between healthy parts, correlated noise and heavy tails count as they are. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/parts/tables.h"

namespace railgauge::parts {

// The figure that is compared between parts.
enum class Statistic : std::uint8_t {
  // The loss of the last night: a candidate, no finding.
  kTonight,
  // The lesser loss of the last two nights: one bad night is not enough.
  kTwoNights,
  // The mean of the last four nights without the worst.
  kFourNights,
  // The mean of the last eight nights without the worst.
  kEightNights,
  // The second largest loss of six nights: flapping.
  kSecondOfSix,
};
inline constexpr std::size_t kStatistics = 5;

// A part outside the others.
struct Alarm {
  std::size_t part = 0;
  // The statistic that shows it best.
  Statistic statistic = Statistic::kTonight;
  // True: against the part's own past; false: against the other parts.
  bool is_change = false;
  // Logarithm; see Level.
  double loss = 0;
  // Standard error of the loss, by the scatter of the other parts.
  double error = 0;
  // The part's own level before; 0 unless is_change.
  double before = 0;
  // The loss over its standard error.
  double z = 0;
  // Chance of such a loss in any healthy part of the table.
  double chance = 1;
};

// The answer for one table.
struct TableAlarms {
  // By several nights; one a part, the clearest.
  std::vector<Alarm> confirmed{};
  // By the last night alone.
  std::vector<Alarm> tonight{};
  // Smallest loss that two and that four nights show with 95 %, of a part with usual noise; 0: not
  // known.
  double visible_in_two = 0;
  double visible_in_four = 0;
  // The same by part, with its own noise and scatter: of the last night alone, where it is a
  // candidate, and of the last two; 0: not known, or the part was not measured.
  std::vector<double> tonight_shows{};
  std::vector<double> two_show{};
};

// Least loss that is worth a finding: smaller ones are differences between machines.
inline constexpr double kLeastLoss = 0.015;
// Share of nights with a false finding anywhere that the thresholds are made for. They share it
// among tables and statistics.
inline constexpr double kFalseNights = 0.002;

// Returns the alarms of the table in the order of parts.
TableAlarms alarms_of(const Table& table, std::size_t nights);

}  // namespace railgauge::parts
