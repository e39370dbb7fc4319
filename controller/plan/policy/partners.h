// Choice of the known-good nodes with which a proof measures its nodes. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace railgauge::plan {

// A node as far as the choice goes.
struct PartnerNode {
  std::string name{};
  // Kind of hardware, a text that only compares equal.
  std::string hardware{};
  // "": not known.
  std::string leaf{};
};

// Partners of one kind of hardware that a proof wants: as many as nodes of it, between these two.
inline constexpr std::size_t kFewestPartners = 7;
inline constexpr std::size_t kMostPartners = 64;

// Chooses among `good` nodes, which may be used now: for each kind of hardware among `proved` as
// many of the same kind as are wanted, from all leaves in turn; then others, up to kFewestPartners.
// Equal input gives an equal answer, in the order of the choice. None of `proved` is chosen.
std::vector<std::string> choose_partners(std::span<const PartnerNode> proved,
                                         std::span<const PartnerNode> good);

}  // namespace railgauge::plan
