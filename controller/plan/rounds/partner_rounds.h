// Rounds of a proof: each proved node meets known-good partners, and the partners meet each other,
// so that the level of a proved node can be separated from that of its partners. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "controller/plan/rounds/pair_schedule.h"

namespace railgauge::plan {

// Partners that each proved node meets, as far as there are so many: a level by seven figures has a
// deviation of about half of that of one figure.
inline constexpr std::size_t kPartnersMet = 7;
// Each proved node meets so many of the proved nodes after it, in a ring, and each partner so many
// partners: all of five nodes meet, and both ends of a slow pair can be proved together.
inline constexpr std::size_t kPeersMet = 2;

// Lays out the pairs, each once, in no more rounds than twice the most pairs of a node. The numbers
// are different from each other. Without partners only proved nodes meet; no pair gives no round.
std::vector<std::vector<NodePair>> partner_rounds(std::span<const std::uint32_t> proved,
                                                  std::span<const std::uint32_t> partners);

}  // namespace railgauge::plan
