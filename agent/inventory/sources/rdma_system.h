// Facts of the RDMA subsystem that only netlink reports.
#pragma once

#include <cstdint>
#include <span>

#include "agent/inventory/facts/fact.h"

namespace railgauge::agent {

// Numbers of Linux's netlink for RDMA, which never change: its client NLDEV (5) shifted by ten bits
// and its command SYS_GET (6); its attribute SYS_ATTR_NETNS_MODE, one byte.
inline constexpr std::uint16_t kRdmaSystemGet = (5U << 10U) + 6U;
inline constexpr std::uint16_t kRdmaNetnsMode = 66;

// "shared": every network namespace sees every RDMA device; "exclusive": a device is in one.
// Absent: this kernel has no RDMA subsystem loaded. Waits up to a second.
Fact<std::string> read_rdma_netns_mode();

// Parses the kernel's answer, one or more netlink messages. Pure.
Fact<std::string> rdma_netns_mode_of(std::span<const std::uint8_t> answer);

}  // namespace railgauge::agent
