// The needs of TCP data that arrives in a GPU's memory (devmem TCP), and which of them this host
// lacks: a kernel, an interface that splits headers from data, and the right to bind its queues.
#pragma once

#include <cstdint>
#include <string>

namespace railgauge::net {

// Whether an interface puts headers and data of TCP into separate buffers, as its driver says.
enum class HeaderSplit : std::uint8_t { kUnknown, kOff, kOn };

// Asks the kernel by netlink, as `ethtool -g` does. kUnknown where it, or the driver, does not
// answer.
HeaderSplit header_split(const std::string& netdev);

// Returns why GPU memory cannot be measured over this interface: one clause, the first lack in the
// order kernel, interface, rights.
std::string devmem_lack(const std::string& netdev);

}  // namespace railgauge::net
