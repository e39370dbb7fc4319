// The most that a GPU's PCIe link can carry, from sysfs: a faster copy was measured wrong.
#pragma once

#include <optional>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"

namespace railgauge::gpu {

// A trained link. Equal links have equal speed and width.
struct PcieLink {
  double giga_transfers = 0;  // a second on one lane
  int lanes = 0;

  // In one direction: transfers times lanes, less the line code (8b/10b up to 5 GT/s, 128b/130b
  // from 8 GT/s; 64 GT/s has none). Packet headers are not taken off.
  [[nodiscard]] double bytes_per_second() const;
  bool operator==(const PcieLink&) const = default;
};

// The link of the device at `pci_address` as it is trained now. Nothing where sysfs does not report
// it, as in many virtual machines.
std::optional<PcieLink> present_link(const std::string& pci_address,
                                     const std::string& sysfs = "/sys");
// The best that both ends of the link can do: the device, and the port above it where that is a
// real one. (Both ends of a real link report the same present link; an emulated port need not.)
std::optional<PcieLink> possible_link(const std::string& pci_address,
                                      const std::string& sysfs = "/sys");
// "32 GT/s x16", "2.5 GT/s x16 now, at most 32 GT/s x16"; "" where sysfs does not report it.
std::string link_in_words(const std::string& pci_address, const std::string& sysfs = "/sys");

// Bytes per second of the present link in one direction; nothing where it is unknown.
std::optional<double> link_bytes_per_second(const std::string& pci_address,
                                            const std::string& sysfs = "/sys");

// The bound of every copy in bytes per second. It is the link at its best: an idle link is trained
// down to save power, perhaps both before and after a measurement. An observed link (`before`
// measuring, and now) counts where it is better. Nothing where the present link is unknown.
std::optional<double> link_ceiling(const std::string& pci_address, std::optional<double> before,
                                   const std::string& sysfs = "/sys");

// kDataLoss when `bytes_per_second` is above the link's ceiling. GPUs that do not reach the host's
// memory over PCIe (coherent ones) have no such ceiling.
Status check_link(const Gpu& gpu, std::optional<double> before, double bytes_per_second);

}  // namespace railgauge::gpu
