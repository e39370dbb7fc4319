// Facts of a port that only verbs report, read by railgauge-runner: the agent opens no device.
#pragma once

#include <string>

#include "agent/inventory/facts/inventory.h"
#include "agent/os/confinement.h"

namespace railgauge::agent {

inline constexpr double kPortProbeSeconds = 1.5;  // for all ports of a node

// Fills in the MTUs of active InfiniBand ports and, on nodes with GPUs, whether NICs register
// dma-bufs. When the runner dies or hangs, ports without an answer are unknown, with the reason.
void ask_ports(const std::string& runner, Inventory& node, double seconds = kPortProbeSeconds,
               const Confinement* confinement = nullptr);

// Parses the runner's lines into `node`; skips lines that are no answer. Pure.
void take_port_lines(const std::string& text, Inventory& node);

}  // namespace railgauge::agent
