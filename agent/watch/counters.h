// The counters of a node that mean trouble when they grow, as sysfs shows them below a root. A
// missing file, or bytes that are no number, are left out: the tracker sees the counter vanish.
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

// Ports' counters and hw_counters, carrier changes of their netdevs, and AER totals of every NIC
// and GPU and of the bridges above them. At most kMostWatchedDevices of each kind.
std::vector<Reading> read_counters(const std::string& sysfs);

// "42\n"; nothing for all else. Pure.
std::optional<std::uint64_t> parse_counter(std::string_view text);
// The total of an aer_dev_* file: its own line where it has one, else the sum of the others; no
// line of a name and a number is nothing. Pure.
std::optional<std::uint64_t> parse_aer_total(std::string_view text);

}  // namespace railgauge::agent
