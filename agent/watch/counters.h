// The counters of a node whose growth means trouble, read from sysfs below a root. A missing file,
// or a file without a number, is left out, so the tracker sees the counter vanish.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::agent {

struct Reading {
  std::string device;   // "mlx5_0:1", a PCI address, a netdev
  std::string counter;  // a name of watch_rules()
  std::uint64_t value = 0;
  bool operator==(const Reading&) const = default;
};

inline constexpr std::size_t kMostWatchedDevices = 256;

// Reads counters and hw_counters of RDMA ports, carrier changes of their netdevs, and AER totals of
// NICs, GPUs and the bridges above them. At most kMostWatchedDevices of each kind.
std::vector<Reading> read_counters(const std::string& sysfs);

// Parses the text of a counter file, "42\n"; absent for any other text. Pure.
std::optional<std::uint64_t> parse_counter(std::string_view text);
// Returns the total of an aer_dev_* file: its TOTAL line if it has one, else the sum of the others.
// Absent if no line has a name and a number. Pure.
std::optional<std::uint64_t> parse_aer_total(std::string_view text);

}  // namespace railgauge::agent
