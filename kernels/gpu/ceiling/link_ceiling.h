// The upper bound of a GPU's PCIe link, from sysfs: a faster copy was measured wrong.
#pragma once

#include <optional>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"

namespace railgauge::gpu {

// A trained link. Equal links have equal speed and width.
struct PcieLink {
  double giga_transfers = 0;  // per second on one lane
  int lanes = 0;

  // Returns the rate of one direction: transfers times lanes, less the line code (8b/10b up to 5
  // GT/s, 128b/130b from 8 GT/s, none at 64 GT/s). Packet headers are not subtracted.
  [[nodiscard]] double bytes_per_second() const;
  bool operator==(const PcieLink&) const = default;
};

// Returns the present link of the device at `pci_address`; absent where sysfs does not report it,
// as in many virtual machines.
std::optional<PcieLink> present_link(const std::string& pci_address,
                                     const std::string& sysfs = "/sys");
// Returns the best link that both ends support: the device, and the port above it where that port
// is real. (Both ends of a real link report the same present link; an emulated port need not.)
std::optional<PcieLink> possible_link(const std::string& pci_address,
                                      const std::string& sysfs = "/sys");
// Formats "32 GT/s x16" or "2.5 GT/s x16 now, at most 32 GT/s x16"; "" where sysfs has no report.
std::string link_in_words(const std::string& pci_address, const std::string& sysfs = "/sys");

// Returns bytes per second of the present link in one direction; absent when unknown.
std::optional<double> link_bytes_per_second(const std::string& pci_address,
                                            const std::string& sysfs = "/sys");

// Returns the bound of every copy in bytes per second: the link at its best, because power saving
// trains an idle link down, perhaps both before and after a measurement. An observed link (`before`
// measuring, and now) counts when it is better. Absent when the present link is unknown.
std::optional<double> link_ceiling(const std::string& pci_address, std::optional<double> before,
                                   const std::string& sysfs = "/sys");

// Returns kDataLoss when `bytes_per_second` exceeds the link's ceiling. GPUs that reach the host's
// memory by other means than PCIe (coherent ones) have no ceiling.
Status check_link(const Gpu& gpu, std::optional<double> before, double bytes_per_second);

}  // namespace railgauge::gpu
