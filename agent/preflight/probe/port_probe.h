// Facts of a port that only the verbs report, read by railgauge-runner: the agent opens no device.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"

namespace railgauge::agent {

inline constexpr double kPortProbeSeconds = 1.5;  // for all ports of a node

// Fills in the MTUs of InfiniBand's ports that are up, and beside GPUs whether NICs register
// dma-bufs. When a runner dies or hangs, the ports it had not answered for are unknown, with the
// reason.
void ask_ports(const std::string& runner, Inventory& node, double seconds = kPortProbeSeconds);

// The runner's lines put in place; what is no answer is left out. Pure.
void take_port_lines(const std::string& text, Inventory& node);

}  // namespace railgauge::agent
