// Bandwidth over several NICs of a node at once: pairs the two sides' ports, one link a pair.
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
// Pairs ports. same: equal positions; cross: each with the next, the last with the first; all: each
// with each. Pure.
std::vector<RailPair> rail_pairs(std::string_view rails, std::size_t count);

// Parses "mlx5_0:1,mlx5_1:1". kInvalidArgument for an empty or repeated name.
Result<std::vector<std::string>> parse_devices(const std::string& text);
// Returns a value for each of `count` devices: the single value of `text`, or its list.
// kInvalidArgument names `parameter` when the list has another length. Pure.
Result<std::vector<std::string>> one_for_each(std::string_view parameter, const std::string& text,
                                              std::size_t count);

// An RDMA device as its machine shows it.
struct DevicePlace {
  std::string name;
  std::string pci_address;  // "" where it is in no slot
};
// Lists all devices of this host. kFailedPrecondition when they cannot be listed.
Result<std::vector<DevicePlace>> device_places();
// Returns the rail of device `name`, as the planner counts: its position by PCI address, devices
// without a slot last by name. kNotFound. Pure.
Result<std::uint32_t> rail_number(std::vector<DevicePlace> places, std::string_view name);
// Formats "rail0", or "rail1:2" for a port other than 1. Pure.
std::string rail_word(const RailPort& port);
// Formats the name of several rails: "rails0-3+6", sorted, without repeats, runs joined. Pure.
std::string rails_words(std::span<const RailPort> ports);

// Makes the kernel that replaces a bandwidth kernel when the parameter `devices` is set.
std::unique_ptr<Kernel> make_rails(Verb verb);

}  // namespace railgauge::verbs
