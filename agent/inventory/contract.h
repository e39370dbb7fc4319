// An inventory in the messages of the contract with the controller. Pure.
#pragma once

#include "agent/inventory/facts/inventory.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Replaces NICs, GPUs, facts and the stack of `hello`. NIC ports by device and port, at most
// kMaxNicPorts; GPUs by number.
void fill_hello(const Inventory& inventory, api::Hello& hello);

// Copies facts that NVML alone reports, of the same GPUs (by address and UUID), from an earlier
// reading to one without NVML. False where the earlier reading lacks one of them.
bool keep_nvml(const Inventory& before, Inventory& now);

}  // namespace railgauge::agent
