// A node's address on the data network, which the site declares for all traffic except control.
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
  std::vector<std::string> own_addresses;  // `address`, and the interface's own if it differs
};

// Returns the IPv4 addresses of this host's interfaces that are up.
std::vector<HostAddress> host_addresses();
// Returns the network devices of RDMA devices (port 1, GID 0), sorted by RDMA device.
std::vector<std::string> rdma_netdevs(const std::string& sysfs = "/sys");
// Returns "mlx5_0:1" for each RDMA port, sorted.
std::vector<std::string> rdma_ports(const std::string& sysfs = "/sys");

// Whether the address ("192.0.2.7") is in the network ("192.0.2.0/24"). False if one does not
// parse.
bool in_network(const std::string& address, const std::string& network);

// Chooses this node's data address. `declared`: an interface, a network ("192.0.2.0/24"), or "" for
// the first address on one of `netdevs`. `own`: this node's address on the network if declared,
// else ""; it must be in the subnet of the chosen interface. kInvalidArgument: a text does not
// parse or fit. kFailedPrecondition: this host has no address on the network. Pure.
Result<DataAddress> data_address(const std::string& declared, const std::string& own,
                                 const std::vector<HostAddress>& addresses,
                                 const std::vector<std::string>& netdevs);

}  // namespace railgauge
