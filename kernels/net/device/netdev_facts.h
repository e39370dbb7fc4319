// The facts of a network interface in sysfs: its driver, and whether its rate is hardware's.
#pragma once

#include <cstdint>
#include <string>

namespace railgauge::net {

// The kernel's facts of a netdev. An unreadable one is 0 or "unknown".
struct NetdevFacts {
  std::uint32_t mtu_bytes = 0;
  double rate_bits_per_second = 0;
  // "none" without a device behind the netdev.
  std::string driver;
  // True when hardware limits the rate; a virtual device merely reports one.
  bool is_rate_physical = false;
};
// Reads /sys/class/net/NETDEV under `sysfs`. Never fails.
NetdevFacts netdev_facts(const std::string& netdev, const std::string& sysfs);

}  // namespace railgauge::net
