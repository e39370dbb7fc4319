#include "agent/watch/counters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "agent/inventory/facts/files.h"
#include "agent/watch/rules.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kMostCounterBytes = 64;
constexpr std::size_t kMostAerBytes = 4096;
constexpr std::size_t kMostPciDevices = 4096;
constexpr std::size_t kMostPorts = 16;

// Adds a counter if its file has a number.
void add(std::vector<Reading>& readings, const std::string& device, std::string_view counter,
         std::optional<std::uint64_t> value) {
  if (value) readings.push_back({valid_utf8(device), std::string(counter), *value});
}

// The counters and hw_counters of one RDMA port.
void read_port(const fs::path& device, const std::string& port, std::vector<Reading>& readings) {
  const fs::path folder = device / "ports" / port;
  const std::string name = device.filename().string() + ":" + port;
  for (const WatchRule& rule : watch_rules()) {
    if (rule.place != WatchPlace::kPort && rule.place != WatchPlace::kPortHardware) continue;
    if (!readings.empty() && readings.back().device == name &&
        readings.back().counter == rule.counter)
      continue;  // a second limit of the same counter
    const char* where = rule.place == WatchPlace::kPort ? "counters" : "hw_counters";
    add(readings, name, rule.counter,
        parse_counter(small_file((folder / where / rule.counter).string(), kMostCounterBytes)));
  }
}

// Adds the PCI devices on the path from the root to a link's target, the target last.
void add_path(const fs::path& link, std::set<std::string>& addresses) {
  std::error_code error;
  const fs::path path = fs::canonical(link, error);  // a loop is an error
  if (error) return;
  for (const fs::path& part : path)
    if (is_pci_address(part.string())) addresses.insert(part.string());
}

bool is_gpu(const fs::path& device) {
  const std::string kind = small_file((device / "class").string(), kMostCounterBytes);
  return small_file((device / "vendor").string(), kMostCounterBytes).starts_with("0x10de") &&
         (kind.starts_with("0x0300") || kind.starts_with("0x0302"));
}

// The AER totals of these PCI functions.
void read_aer(const fs::path& sysfs, const std::set<std::string>& addresses,
              std::vector<Reading>& readings) {
  constexpr std::array<std::string_view, 3> kFiles{"aer_dev_correctable", "aer_dev_nonfatal",
                                                   "aer_dev_fatal"};
  std::size_t count = 0;
  for (const std::string& address : addresses) {
    if (++count > kMostWatchedDevices) return;
    for (const std::string_view file : kFiles)
      add(readings, address, file,
          parse_aer_total(
              small_file((sysfs / "bus/pci/devices" / address / file).string(), kMostAerBytes)));
  }
}
}  // namespace

std::optional<std::uint64_t> parse_counter(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_aer_total(std::string_view text) {
  std::optional<std::uint64_t> sum;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t blank = line.rfind(' ');
    if (blank == std::string_view::npos) continue;
    const auto value = parse_counter(line.substr(blank + 1));
    if (!value) continue;
    if (line.starts_with("TOTAL_ERR")) return value;
    const std::uint64_t before = sum.value_or(0);
    sum = *value > ~before ? ~0ULL : before + *value;
  }
  return sum;
}

// All watched counters of the node. A missing counter is left out.
std::vector<Reading> read_counters(const std::string& sysfs) {
  const fs::path devices = sysfs + "/class/infiniband";
  std::vector<Reading> readings;
  std::set<std::string> addresses;
  std::set<std::string> netdevs;
  for (const std::string& device : names_in(devices, kMostWatchedDevices)) {
    add_path(devices / device / "device", addresses);
    for (const std::string& port : names_in(devices / device / "ports", kMostPorts)) {
      read_port(devices / device, port, readings);
      const std::string netdev = line_of(devices / device / "ports" / port / "gid_attrs/ndevs/0");
      if (!netdev.empty() && netdev.find('/') == std::string::npos) netdevs.insert(netdev);
    }
  }
  for (const std::string& netdev : netdevs)
    add(readings, netdev, "carrier_changes",
        parse_counter(small_file(fmt::format("{}/class/net/{}/carrier_changes", sysfs, netdev),
                                 kMostCounterBytes)));
  const fs::path pci = sysfs + "/bus/pci/devices";
  for (const std::string& address : names_in(pci, kMostPciDevices))
    if (is_pci_address(address) && is_gpu(pci / address)) add_path(pci / address, addresses);
  read_aer(sysfs, addresses, readings);
  return readings;
}

}  // namespace railgauge::agent
