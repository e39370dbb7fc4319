// NIC ports as sysfs shows them, without opening a device. A value without a file stays empty. The
// active MTU is not in sysfs and stays 0.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Reads `sysfs`, /sys on a node. Sorted by device and port; at most kMaxNicPorts. No RDMA on the
// machine gives an empty list.
std::vector<api::Nic> list_nics(const std::string& sysfs);
inline constexpr std::size_t kMaxNicPorts = 256;

// linux_kernel, cpu, rdma_core, gpu_driver: the readable ones. `root` precedes /proc, /sys and
// /usr.
std::map<std::string, std::string> node_facts(const std::string& root);

// "100 Gb/sec (4X EDR)" in bits per second; 0 when it says something else. Pure.
double parse_rate(const std::string& text);

}  // namespace railgauge::agent
