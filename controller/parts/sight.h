// The smallest loss that the judge of parts would have seen at each single part. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "controller/parts/levels.h"
#include "controller/parts/tables.h"

namespace railgauge::parts {

// One part with the losses that could be seen at it. Losses are shares of the figure; 0: not known.
struct PartSight {
  std::string name{};
  bool is_measured = false;  // in the last night
  // Called in 95 of 100 cases: as a candidate by the last night alone, and as a confirmed finding
  // where the last two nights show the loss. A loss of the part and of all its peers is none.
  double this_night = 0;
  double two_nights = 0;
};

// The parts of one kind.
struct KindSight {
  TableId id = TableId::kPort;
  std::vector<PartSight> parts{};
};

// The kinds of which the last night measured a part, the coarsest first. `nights`: as for
// judge_parts(). Empty without nights.
std::vector<KindSight> sight_of(std::span<const Levels* const> nights);

}  // namespace railgauge::parts
