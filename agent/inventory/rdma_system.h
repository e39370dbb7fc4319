// What only netlink tells of the RDMA subsystem.
#pragma once

#include <cstdint>
#include <span>

#include "agent/inventory/fact.h"

namespace railgauge::agent {

// "shared": every network namespace sees every RDMA device; "exclusive": a device is in one.
// Absent: this kernel has no RDMA subsystem loaded. Waits up to a second.
Fact<std::string> read_rdma_netns_mode();

// Of the kernel's answer, one or more netlink messages. Pure.
Fact<std::string> rdma_netns_mode_of(std::span<const std::uint8_t> answer);

}  // namespace railgauge::agent
