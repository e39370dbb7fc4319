// Converts an inventory into messages of the contract with the controller. Pure.
#pragma once

#include "agent/inventory/facts/inventory.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Replaces NICs, GPUs, facts and the stack of `hello`. NIC ports are sorted by device and port, at
// most kMaxNicPorts; GPUs by number.
void fill_hello(const Inventory& inventory, api::Hello& hello);

// Copies facts that only NVML reports, for the same GPUs (by address and UUID), from an earlier
// reading into one without NVML. False: the earlier reading lacks one of the GPUs.
bool keep_nvml(const Inventory& before, Inventory& now);

}  // namespace railgauge::agent
