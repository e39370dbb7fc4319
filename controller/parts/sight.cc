#include "controller/parts/sight.h"

#include <algorithm>
#include <cmath>

#include "controller/parts/alarms.h"
#include "controller/parts/judge.h"

namespace railgauge::parts {
namespace {

// The share of a part's loss; 0 where the list has none. `gain`: the part of a loss that is seen.
double share_at(const std::vector<double>& losses, std::size_t part, double gain) {
  if (part >= losses.size() || losses[part] <= 0 || gain <= 0) return 0;
  return -std::expm1(-losses[part] / gain);
}

// The share of a small loss that the level of the part shows. Among pairs across leaves, the share
// 2 / leaves has an end in the leaf, and moves the centre. Links between two leaves are a part of
// all links of each of the two, whose ends take as much of the loss.
double gain_of(const Tables& tables, TableId id) {
  const auto leaves = static_cast<double>(tables.members().size());
  const bool is_leaf = id == TableId::kLeaf || id == TableId::kLeafRail;
  const bool is_trunk = id == TableId::kTrunk || id == TableId::kTrunkRail;
  if (is_leaf) return 1 - 2 / leaves;
  if (is_trunk && leaves > 2) return (1 - 1 / (leaves - 1)) * (1 - 1 / (leaves - 1));
  return 1;
}

// The parts of one table in the order of their numbers.
KindSight sight_of_table(const Tables& tables, TableId id) {
  const Table& table = tables.table(id);
  const TableAlarms alarms = alarms_of(table, tables.nights());
  const PartNames names = names_of(tables.last());
  const double gain = gain_of(tables, id);
  KindSight kind{.id = id};
  for (std::size_t part = 0; part < table.parts; ++part)
    kind.parts.push_back({.name = part_name(names, tables.part_of(id, part)),
                          .is_measured = table.at(tables.nights() - 1, part).known(),
                          .this_night = share_at(alarms.tonight_shows, part, gain),
                          .two_nights = share_at(alarms.two_show, part, gain)});
  return kind;
}

}  // namespace

std::vector<KindSight> sight_of(std::span<const Levels* const> nights) {
  if (nights.empty()) return {};
  if (nights.size() > kMostNightsJudged) nights = nights.last(kMostNightsJudged);
  const Tables tables(nights);
  std::vector<KindSight> kinds;
  for (std::size_t i = 0; i < kTables; ++i) {
    KindSight kind = sight_of_table(tables, static_cast<TableId>(i));
    if (std::ranges::any_of(kind.parts, &PartSight::is_measured)) kinds.push_back(std::move(kind));
  }
  return kinds;
}

}  // namespace railgauge::parts
