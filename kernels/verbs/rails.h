// Bandwidth over several NICs of a node at once: which port of the one side talks to which of the
// other, one link a pair.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/verbs/operation.h"

namespace railgauge::verbs {

// Positions in the two sides' lists of devices.
struct RailPair {
  std::size_t initiator = 0;
  std::size_t target = 0;
  bool operator==(const RailPair&) const = default;
};
// same: each with its own position; cross: each with the next one, the last with the first; all:
// each with each. Pure.
std::vector<RailPair> rail_pairs(std::string_view rails, std::size_t count);

// "mlx5_0:1,mlx5_1:1". kInvalidArgument for an empty name or one that stands there twice.
Result<std::vector<std::string>> parse_devices(const std::string& text);
// A value for each of `count` devices: the one that `text` is, or its list's. kInvalidArgument
// names `parameter` where the list is of another length. Pure.
Result<std::vector<std::string>> one_for_each(std::string_view parameter, const std::string& text,
                                              std::size_t count);

// The kernel that a bandwidth kernel becomes when its parameter `devices` names some.
std::unique_ptr<Kernel> make_rails(Verb verb);

}  // namespace railgauge::verbs
