#include "kernels/cuda/link_ceiling.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

namespace railgauge::cuda {

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
  return giga_transfers * 1e9 / 8 * lanes;
}

Status check_link(const gpu::Gpu& gpu, std::optional<double> before, double bytes_per_second) {
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

}  // namespace railgauge::cuda
