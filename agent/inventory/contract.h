// An inventory as the agent tells it to the controller. Pure.
#pragma once

#include "agent/inventory/facts/inventory.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Replaces NICs, GPUs, facts and the stack of `hello`. NIC ports by device and port, at most
// kMaxNicPorts; GPUs by number.
void fill_hello(const Inventory& inventory, api::Hello& hello);

// Facts that NVML alone tells, of the same GPUs (by address and UUID) in an earlier reading: for a
// reading that did not ask it. False where that reading lacks one of them.
bool keep_nvml(const Inventory& before, Inventory& now);

}  // namespace railgauge::agent
