// Bandwidth over several NICs of a node at once: which port of the one side talks to which of the
// other, one link a pair.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/verbs/link/operation.h"
#include "kernels/verbs/transport/peer.pb.h"

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

// "mlx5_0:1,mlx5_1:1". kInvalidArgument for an empty or repeated name.
Result<std::vector<std::string>> parse_devices(const std::string& text);
// A value for each of `count` devices: the one that `text` is, or its list's. kInvalidArgument
// names `parameter` where the list is of another length. Pure.
Result<std::vector<std::string>> one_for_each(std::string_view parameter, const std::string& text,
                                              std::size_t count);

// An RDMA device as its machine shows it.
struct DevicePlace {
  std::string name;
  std::string pci_address;  // "" where it is in no slot
};
// Reads all devices of this host. kFailedPrecondition where they cannot be listed.
Result<std::vector<DevicePlace>> device_places();
// The rail of device `name`: its position among them by PCI address, those in no slot last by name,
// as the planner counts them. kNotFound. Pure.
Result<std::uint32_t> rail_number(std::vector<DevicePlace> places, std::string_view name);
// "rail0", "rail1:2": a port other than 1 follows its number. Pure.
std::string rail_word(const RailPort& port);
// The name of several rails, or of one among several: "rails0-3+6", in their order, each once, runs
// joined. Pure.
std::string rails_words(std::span<const RailPort> ports);

// The kernel that a bandwidth kernel becomes when its parameter `devices` names some.
std::unique_ptr<Kernel> make_rails(Verb verb);

}  // namespace railgauge::verbs
