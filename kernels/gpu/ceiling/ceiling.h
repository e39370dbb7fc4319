// The most that a GPU's memory and its links to other GPUs can carry: a faster copy was measured
// wrong. The bound of the PCIe link is in link_ceiling.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"

namespace railgauge::gpu {

// A bound, and what sets it: "18 NVLinks of 26.6 GB/s". A figure and its facts carry both.
struct Ceiling {
  double bytes_per_second = 0;
  std::string words;
};

// A GPU's memory, as the driver describes it; 0 where it does not.
struct MemoryParts {
  double clock_hz = 0;
  int bus_bits = 0;
  std::uint64_t cache_bytes = 0;  // L2
};
// Returns the bound of copying `bytes` within this memory, bytes counted once. The memory moves
// 2 x bus_bits / 8 bytes a clock (double data rate: CUDA Programming Guide, theoretical bandwidth)
// and each byte twice, less what the cache may hold of both buffers from the copy before. Absent
// where a part is unknown, or both buffers may be in the cache. Pure.
std::optional<Ceiling> copy_ceiling(const MemoryParts& memory, std::uint64_t bytes);
// Reads the parts of this GPU by the driver's attributes.
Result<MemoryParts> memory_parts(const Gpu& gpu);

// A GPU's links towards other GPUs; 0 where unknown.
struct PeerParts {
  int links = 0;
  double link_bytes_per_second = 0;  // one NVLink, one direction
  double pcie_bytes_per_second = 0;  // one direction, at its best
};
// Returns the bound of one direction between GPUs with these ends: the narrowest end's NVLinks and
// PCIe link together, because the driver may use either. Absent where an end is unknown. Pure.
std::optional<Ceiling> peer_ceiling(std::span<const PeerParts> ends);
// Reads the parts of this GPU by NVML (NVML_FI_DEV_NVLINK_LINK_COUNT, ..._SPEED_MBPS_COMMON) and
// sysfs. Parts that neither reports are 0. Opens and closes NVML. Thread safe.
PeerParts peer_parts(const Gpu& gpu);

// Adds the facts of a figure beside its ceiling: ceiling_bytes_per_second, ceiling_of, and
// share_of_ceiling.
template <class Facts>
void add_ceiling_facts(const Ceiling& ceiling, double bytes_per_second, Facts& facts) {
  facts["ceiling_bytes_per_second"] = fmt::format("{:.4g}", ceiling.bytes_per_second);
  facts["ceiling_of"] = ceiling.words;
  facts["share_of_ceiling"] = fmt::format("{:.3f}", bytes_per_second / ceiling.bytes_per_second);
}

// Returns kDataLoss when `bytes_per_second` exceeds the ceiling; `name` is what was measured.
Status check_ceiling(const std::string& name, const std::optional<Ceiling>& ceiling,
                     double bytes_per_second);

}  // namespace railgauge::gpu
