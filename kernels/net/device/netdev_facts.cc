#include "kernels/net/device/netdev_facts.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace railgauge::net {
namespace {

namespace fs = std::filesystem;

// Returns the first value of a file, or `otherwise` without one.
template <class Value>
Value first_in(const fs::path& file, Value otherwise) {
  Value value{};
  std::ifstream stream(file);
  return stream >> value ? value : otherwise;
}

}  // namespace

// A virtual device reports a speed without enforcing it, so its rate is not a bound.
NetdevFacts netdev_facts(const std::string& netdev, const std::string& sysfs) {
  const fs::path folder = fs::path(sysfs) / "class/net" / netdev;
  NetdevFacts facts;
  facts.mtu_bytes = first_in<std::uint32_t>(folder / "mtu", 0);
  // Mb/s, as ethtool shows it; -1 where it is unknown.
  const auto megabits = first_in<std::int64_t>(folder / "speed", 0);
  if (megabits > 0) facts.rate_bits_per_second = static_cast<double>(megabits) * 1e6;
  std::error_code error;
  if (!fs::exists(folder / "device", error)) {
    facts.driver = "none";
    return facts;
  }
  const fs::path driver = fs::read_symlink(folder / "device/driver", error);
  facts.driver = error ? "unknown" : driver.filename().string();
  // Drivers of paravirtual devices, whose speed is a constant.
  constexpr std::array<std::string_view, 6> kVirtual{"virtio_net", "vmxnet3",      "hv_netvsc",
                                                     "vif",        "xen-netfront", "netvsc"};
  facts.is_rate_physical =
      facts.rate_bits_per_second > 0 && std::ranges::find(kVirtual, facts.driver) == kVirtual.end();
  return facts;
}

}  // namespace railgauge::net
