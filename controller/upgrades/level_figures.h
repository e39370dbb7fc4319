// Figures of pairs before an upgrade that no night measured itself: the levels of their two ends on
// each night, put together. Levels have no unit. The scale comes from pairs of controls after the
// upgrade, so that what changed for all nodes alike is not seen. Pure; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "controller/history/pair_figures.h"
#include "controller/parts/levels.h"
#include "controller/upgrades/upgrade_data.h"

namespace railgauge {

// The levels of one night before the change, by one series.
struct LeveledNight {
  std::string run_id{};
  double at = 0;             // unix seconds
  bool base_is_gpu = false;  // the night measured from GPU memory alone
  parts::Levels levels{};
};

// The rail of a port; -1: not known.
using RailOf = std::function<std::int32_t(const std::string& node, const std::string& port)>;

// Nights on which both ends of a pair have levels from which on they are its before side.
inline constexpr std::size_t kLeastLeveledNights = 5;
// Pairs of controls of one class (memory, distance, hardware, rail) from which on they give its
// scale.
inline constexpr std::size_t kLeastScalePairs = 3;

// The series of levels that the figures of `series` belong to; absent: it is of no pair of nodes,
// of both directions at once, or from one kind of memory into another.
std::optional<PairSeries> level_series_of(const store::SeriesRow& series);

// The kinds (kind_of()) of pairs with figures after the upgrade of which some changed place has no
// pair with enough figures of its own before.
std::set<std::string> kinds_without_before(const UpgradeData& sides);

// Replaces the before figures of the kind by those of the nights' levels. Returns how many of the
// nights gave some; 0: too few nights or pairs of controls, and nothing was replaced.
std::size_t take_level_figures(std::span<const LeveledNight> nights, const RailOf& rail_of,
                               const std::string& kind, UpgradeData& sides);

}  // namespace railgauge
