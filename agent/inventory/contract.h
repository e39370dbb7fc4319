// Converts an inventory into messages of the contract with the controller. Pure.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"
#include "controller/api/agent.pb.h"

namespace railgauge::agent {

// Replaces NICs, GPUs, facts and the stack of `hello`. NIC ports are sorted by device and port, at
// most kMaxNicPorts; GPUs by number.
void fill_hello(const Inventory& inventory, api::Hello& hello);

// Brings what the node says about itself within the bounds of the contract, beyond which the
// controller refuses it: control characters become "?", a long text is cut, of two devices in one
// slot the first stays, and so do the first parts and facts that fit. Returns what was left out, in
// words; "" for nothing.
std::string fit_hello(api::Hello& hello);

// Writes the kernels into the Hello, brought within the bounds as fit_hello() does. Returns what
// was left out, in words; "" for nothing.
std::string declare_kernels(KernelList kernels, api::Hello& hello);

// Copies facts that only NVML reports, for the same GPUs (by address and UUID), from an earlier
// reading into one without NVML. False: the earlier reading lacks one of the GPUs.
bool keep_nvml(const Inventory& before, Inventory& now);

}  // namespace railgauge::agent
