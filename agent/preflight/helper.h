// What railgauge-node-facts, if it is installed, adds to an inventory that an ordinary user read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/inventory/inventory.h"
#include "kernels/core/result.h"

namespace railgauge::agent {

using ConfigSpaces = std::map<std::string, std::vector<std::uint8_t>>;  // by PCI address

struct NodeFacts {
  ConfigSpaces spaces{};
  std::optional<std::vector<std::string>> kernel_log{};  // absent: it could not be read
};

// Its lines; what is none is left out. Pure.
NodeFacts parse_node_facts(const std::string& text);
// Replaces what was not known of devices' configuration spaces and of the kernel's log; what was
// known stays. Pure.
void add_node_facts(const NodeFacts& facts, Inventory& node);

// What the service behind a unix socket tells until it closes. Errors: kNotFound: nobody is there;
// kDeadlineExceeded, kResourceExhausted: it told too slowly or more than `most` bytes;
// kUnavailable.
Result<std::string> read_socket(const std::string& path, double seconds, std::size_t most);

// Asks the helper where something is not known: its service, else the program beside this one.
// Without either nothing changes.
void ask_node_facts(Inventory& node);

}  // namespace railgauge::agent
