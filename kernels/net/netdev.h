// Chooses the network interface and address of a rank: the ones of its RDMA port, by the rule for
// the port's GID, so that TCP and RDMA share a port.
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

// Returns every address of this host's interfaces that are up, in the kernel's order.
Result<std::vector<InterfaceAddress>> interface_addresses();

// A rank's request, from the task's endpoint and parameters.
struct Wanted {
  std::string endpoint{};  // "DEV:PORT", "DEV" or ""
  std::string netdev{};    // "" leaves it to the endpoint
  std::string address{};   // "" takes the netdev's
};
// The chosen interface and address.
struct Chosen {
  // The RDMA device, or "" when none was named.
  std::string device;
  std::string port;
  InterfaceAddress address;
};
// Chooses in this order: the given address; an address of the given netdev; an address of the
// netdev of the endpoint's port (for an empty endpoint, of the first RDMA port with a netdev). A
// netdev's IPv4 addresses come first, then global IPv6, then link-local. `sysfs` is "/sys", or a
// folder in its place. kNotFound and kInvalidArgument list the existing ones.
Result<Chosen> choose(const Wanted& wanted, std::span<const InterfaceAddress> addresses,
                      const std::string& sysfs);

// The folder of netdevs and RDMA devices; tests set another.
const std::string& sysfs_folder();
void set_sysfs_folder(std::string folder);

}  // namespace railgauge::net
