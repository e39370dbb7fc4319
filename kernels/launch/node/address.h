// Where a node is on the data network: the one that the site declares for what is no control.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// One IPv4 address of this host.
struct HostAddress {
  std::string interface;
  std::string address;
  unsigned prefix_bits = 0;
};

// This node's place on the data network.
struct DataAddress {
  std::string address;                     // of this node
  std::string network;                     // "192.0.2.0/24"
  std::string interface;                   // "eth0"
  std::vector<std::string> own_addresses;  // the same, and what the interface itself is called
};

// This host's addresses that are up.
std::vector<HostAddress> host_addresses();
// Network devices of RDMA ports, below /sys.
std::vector<std::string> rdma_netdevs(const std::string& sysfs = "/sys");
// "mlx5_0:1" of each RDMA port, below /sys.
std::vector<std::string> rdma_ports(const std::string& sysfs = "/sys");

// Whether the address ("192.0.2.7") is in the network ("192.0.2.0/24").
bool in_network(const std::string& address, const std::string& network);

// `declared`: an interface, a network ("192.0.2.0/24"), or "" for the first of `netdevs` that has
// an address. `own`: this node's address where the network alone does not say ("" otherwise); it
// must be one that the interface of the network answers to. Pure. kInvalidArgument, and
// kFailedPrecondition where this host has nothing on that network.
Result<DataAddress> data_address(const std::string& declared, const std::string& own,
                                 const std::vector<HostAddress>& addresses,
                                 const std::vector<std::string>& netdevs);

}  // namespace railgauge
