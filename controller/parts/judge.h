// The parts that explain the losses of several nights. A sliced night measures a port with other
// partners than the night before; the levels of its sides can be compared all the same. Pure: equal
// nights give an equal answer.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/localise/localise.h"
#include "controller/parts/alarms.h"
#include "controller/parts/levels.h"

namespace railgauge::parts {

// A part that is slower than it should be.
struct PartFinding {
  // Its numbers are those of the last night's nodes and leaves. A GPU is the port with memory
  // "gpu".
  localise::Element element{};
  // True when several nights show it; false: a candidate, which should be measured again.
  bool confirmed = false;
  // True when the part was better before; false when it is merely worse than its peers.
  bool is_change = false;
  // The part's own level before, a logarithm (see Level); 0 unless is_change.
  double before = 0;
  // Share of the figure that is missing or added, with its 95 % interval.
  double loss = 0;
  double low = 0;
  double high = 0;
  // Chance of such a loss in any healthy part of the kind.
  double chance = 1;
  // Nights that show it, among the last nights that measured the part.
  std::size_t bad_nights = 0;
  std::size_t nights = 0;
  // One phrase for each part beside it that is as expected.
  std::vector<std::string> ruled_out{};
  // One line for an operator.
  std::string sentence{};
};

// The smallest loss, as a share, that is seen with 95 % in a part of the kind.
struct PartPower {
  TableId id = TableId::kPort;
  std::size_t parts = 0;
  // 0: not known, there are too few nights or parts.
  double in_two_nights = 0;
  double in_four_nights = 0;
};

// The answer about the last night.
struct Judgement {
  // Confirmed ones first, the coarsest first.
  std::vector<PartFinding> findings{};
  std::vector<PartPower> power{};
};

// Nights that a judgement looks at; older ones are left out.
inline constexpr std::size_t kMostNightsJudged = 35;

// Judges the last of the nights, which are of one metric and in the order of time. Nodes, leaves
// and rails are matched by name. Empty without nights.
Judgement judge_parts(std::span<const Levels* const> nights);

// Names by number, of nodes and leaves.
struct PartNames {
  std::vector<std::string> nodes{};
  std::vector<std::string> leaves{};
};
PartNames names_of(const Levels& levels);
// The name of the part, for example "n12 rail 3" or "leaf l4 and leaf l7, all rails".
std::string part_name(const PartNames& names, const localise::Element& element);
std::string part_name(const Levels& levels, const localise::Element& element);
// The name that the part keeps while its side, its way or its share of nights changes: that of both
// sides, of a leaf for its links to the spines, of the two leaves or nodes in the order of their
// names.
std::string lasting_name(const PartNames& names, localise::Element element);

}  // namespace railgauge::parts
