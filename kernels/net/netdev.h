// Which network interface and address a rank measures with: those of its RDMA port, chosen as the
// port's GID is, so that TCP and RDMA share a port.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::net {

// One address of one interface.
struct InterfaceAddress {
  std::string netdev{};
  std::string text{};  // numeric, without a scope
  bool is_ipv6 = false;
  bool is_link_local = false;
};

// Every address of this host's interfaces that are up, in the kernel's order.
Result<std::vector<InterfaceAddress>> interface_addresses();

// A rank's wishes, from the task's endpoint and parameters.
struct Wanted {
  std::string endpoint{};  // "DEV:PORT", "DEV" or ""
  std::string netdev{};    // "" leaves it to the endpoint
  std::string address{};   // "" takes the netdev's
};
// The result of the rule.
struct Chosen {
  // The RDMA device, or "" where none was named.
  std::string device;
  std::string port;
  InterfaceAddress address;
};
// The rule: a given address; else the given netdev's, or that of the endpoint's port (the first
// RDMA port with one where the endpoint is empty). Among a netdev's addresses IPv4 first, then
// global IPv6, then link-local. `sysfs` is "/sys", or a folder used in its place. kNotFound and
// kInvalidArgument list the present ones.
Result<Chosen> choose(const Wanted& wanted, std::span<const InterfaceAddress> addresses,
                      const std::string& sysfs);

// The kernel's facts of a netdev. An unreadable one is 0 or "unknown".
struct NetdevFacts {
  std::uint32_t mtu_bytes = 0;
  double rate_bits_per_second = 0;
  // "none" without a device behind it.
  std::string driver;
  // Whether hardware bounds the rate; a virtual device only names one.
  bool is_rate_physical = false;
};
// From /sys/class/net/NETDEV under `sysfs`. Never fails.
NetdevFacts netdev_facts(const std::string& netdev, const std::string& sysfs);

// The folder that netdevs and RDMA devices are read from; tests set another.
const std::string& sysfs_folder();
void set_sysfs_folder(std::string folder);

}  // namespace railgauge::net
