// What a GPU's PCIe link can carry at most, from sysfs: a faster copy was measured wrong.
#pragma once

#include <optional>
#include <string>

#include "kernels/core/result.h"
#include "kernels/gpu/device.h"

namespace railgauge::gpu {

// Bytes per second in one direction of the link of the device at `pci_address` as it is trained
// now: transfers a second of a lane, times lanes, less the line code (8b/10b up to 5 GT/s,
// 128b/130b from 8 GT/s; 64 GT/s has none). Packet headers are not taken off. Nothing where sysfs
// does not say, as in many virtual machines.
std::optional<double> link_bytes_per_second(const std::string& pci_address,
                                            const std::string& sysfs = "/sys");

// kDataLoss when `bytes_per_second` is above the link's rate. `before` was read before measuring:
// an idle link may be trained down, so the faster of then and now counts. GPUs that do not reach
// the host's memory over PCIe (coherent ones) have no such ceiling.
Status check_link(const Gpu& gpu, std::optional<double> before, double bytes_per_second);

}  // namespace railgauge::gpu
