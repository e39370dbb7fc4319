#include "kernels/gpu/link_ceiling.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace railgauge::gpu {
namespace {

// The part of the bits on a lane that carry data.
double coded(double giga_transfers) {
  constexpr double kLast8b10b = 5;
  constexpr double kLast128b130b = 32;
  if (giga_transfers <= kLast8b10b) return 8.0 / 10;
  return giga_transfers <= kLast128b130b ? 128.0 / 130 : 1;
}

}  // namespace

std::optional<double> link_bytes_per_second(const std::string& pci_address,
                                            const std::string& sysfs) {
  const std::string folder = sysfs + "/bus/pci/devices/" + pci_address;
  std::ifstream speed_file(folder + "/current_link_speed");
  std::ifstream width_file(folder + "/current_link_width");
  double giga_transfers = 0;  // "32.0 GT/s PCIe"; "Unknown" does not parse
  std::string unit;
  int lanes = 0;
  if (!(speed_file >> giga_transfers >> unit) || unit != "GT/s" || giga_transfers <= 0)
    return std::nullopt;
  constexpr int kMostLanes = 32;
  if (!(width_file >> lanes) || lanes < 1 || lanes > kMostLanes) return std::nullopt;
  return giga_transfers * 1e9 / 8 * coded(giga_transfers) * lanes;
}

Status check_link(const Gpu& gpu, std::optional<double> before, double bytes_per_second) {
  if (gpu.attribute(cu::kUsesHostPageTables) != 0) return {};
  const auto now = link_bytes_per_second(gpu.pci_address());
  if (!before || !now) return {};
  const double ceiling = std::max(*before, *now);
  if (bytes_per_second <= ceiling) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: measured {:.1f} GB/s, above the {:.1f} GB/s of its PCIe link as it "
                          "is trained, so the figure cannot be right",
                          gpu.name(), bytes_per_second / 1e9, ceiling / 1e9));
}

}  // namespace railgauge::gpu
