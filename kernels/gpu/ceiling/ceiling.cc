// Bounds from what the driver, NVML and sysfs say of memory and links.
#include "kernels/gpu/ceiling/ceiling.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/dl/nvml_devices.h"
#include "kernels/gpu/ceiling/link_ceiling.h"

namespace railgauge::gpu {
namespace {

// CUdevice_attribute: kHz, and bits.
constexpr int kMemoryClockRate = 36;
constexpr int kMemoryBusWidth = 37;
// NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON, in 10^6 bytes per second, and _LINK_COUNT.
constexpr unsigned kFieldLinkSpeed = 90;
constexpr unsigned kFieldLinkCount = 91;
// NVML_FI_DEV_NVLINK_GET_SPEED, of the link that is the scope: newer drivers know no common speed.
constexpr unsigned kFieldSpeedOfLink = 164;

// The value of a field, or 0.
double number_of(const ml::FieldValue& value) {
  if (value.returned != ml::kSuccess) return 0;
  // The low half of the union has the whole number of an unsigned int.
  constexpr unsigned long long kLowHalf = 0xffffffff;
  return static_cast<double>(value.type == ml::kTypeUnsigned ? value.bits & kLowHalf : value.bits);
}

// The NVLinks that are up, of a GPU in NVML's list.
int links_up(const Nvml& nvml, ml::Device device, int count) {
  if (nvml.device_get_link_state == nullptr) return count;
  int up = 0;
  for (unsigned link = 0; link < static_cast<unsigned>(count); ++link) {
    int state = 0;
    if (nvml.device_get_link_state(device, link, &state) == ml::kSuccess && state == ml::kEnabled)
      ++up;
  }
  return up;
}

// The speed of the fastest of `count` links, in 10^6 bytes per second; 0 where none is known.
double fastest_link(const Nvml& nvml, ml::Device device, int count) {
  std::vector<ml::FieldValue> values(static_cast<std::size_t>(std::max(0, count)));
  for (std::size_t link = 0; link < values.size(); ++link) {
    values[link].field = kFieldSpeedOfLink;
    values[link].scope = static_cast<unsigned>(link);
    values[link].returned = ml::kUnknown;
  }
  if (values.empty() || nvml.device_get_field_values(device, count, values.data()) != ml::kSuccess)
    return 0;
  double fastest = 0;
  for (const ml::FieldValue& value : values) fastest = std::max(fastest, number_of(value));
  return fastest;
}

void read_nvlinks(const Gpu& gpu, PeerParts& out) {
  const auto use = use_nvml();
  if (!use) return;
  const Nvml& nvml = loaded_nvml();
  const auto gpus = nvml_gpus(nvml);
  if (!gpus || nvml.device_get_field_values == nullptr) return;
  const auto found = std::ranges::find(*gpus, gpu.pci_address(), &NvmlGpu::pci_address);
  if (found == gpus->end()) return;
  std::array<ml::FieldValue, 2> values{};
  values[0].field = kFieldLinkSpeed;
  values[1].field = kFieldLinkCount;
  for (ml::FieldValue& value : values) value.returned = ml::kUnknown;
  if (nvml.device_get_field_values(found->device, static_cast<int>(values.size()), values.data()) !=
      ml::kSuccess)
    return;
  constexpr double kMost = ml::kMostLinks;
  const auto count = static_cast<int>(std::min(kMost, number_of(values[1])));
  const double common = number_of(values[0]);
  out.link_bytes_per_second =
      1e6 * (common > 0 ? common : fastest_link(nvml, found->device, count));
  out.links = links_up(nvml, found->device, count);
}

}  // namespace

std::optional<Ceiling> copy_ceiling(const MemoryParts& memory, std::uint64_t bytes) {
  if (memory.clock_hz <= 0 || memory.bus_bits <= 0) return std::nullopt;
  const double peak = memory.clock_hz * 2 * memory.bus_bits / 8;
  const double moved = 2 * static_cast<double>(bytes);
  const double from_memory = moved - static_cast<double>(memory.cache_bytes);
  if (from_memory <= 0) return std::nullopt;
  return Ceiling{
      peak * static_cast<double>(bytes) / from_memory,
      fmt::format("{}-bit memory at {:.4g} GHz, {:.4g} GB/s, which reads and writes each "
                  "byte, and {} of cache",
                  memory.bus_bits, memory.clock_hz / 1e9, peak / 1e9,
                  canonical_bytes(memory.cache_bytes))};
}

Result<MemoryParts> memory_parts(const Gpu& gpu) {
  const int kilohertz = RG_TRY(gpu.attribute(kMemoryClockRate));
  const int bits = RG_TRY(gpu.attribute(kMemoryBusWidth));
  const int cache = RG_TRY(gpu.attribute(cu::kL2CacheBytes));
  return MemoryParts{.clock_hz = kilohertz * 1e3,
                     .bus_bits = bits,
                     .cache_bytes = static_cast<std::uint64_t>(std::max(0, cache))};
}

// Without NVLinks the PCIe link alone bounds; with them an unknown PCIe link leaves no bound, since
// it might carry a part.
std::optional<Ceiling> peer_ceiling(std::span<const PeerParts> ends) {
  std::optional<Ceiling> least;
  for (const PeerParts& end : ends) {
    const double links = end.links * end.link_bytes_per_second;
    if (end.pcie_bytes_per_second <= 0 || (end.links > 0 && links <= 0)) return std::nullopt;
    const double sum = links + end.pcie_bytes_per_second;
    if (least && least->bytes_per_second <= sum) continue;
    const std::string pcie =
        fmt::format("a PCIe link of {:.3g} GB/s", end.pcie_bytes_per_second / 1e9);
    least = Ceiling{sum, end.links == 0 ? pcie
                                        : fmt::format("{} NVLinks of {:.3g} GB/s and {}", end.links,
                                                      end.link_bytes_per_second / 1e9, pcie)};
  }
  return least;
}

PeerParts peer_parts(const Gpu& gpu) {
  PeerParts out;
  const auto best = possible_link(gpu.pci_address());
  const auto present = link_bytes_per_second(gpu.pci_address());
  if (present) out.pcie_bytes_per_second = std::max(*present, best ? best->bytes_per_second() : 0);
  read_nvlinks(gpu, out);
  return out;
}

Status check_ceiling(const std::string& name, const std::optional<Ceiling>& ceiling,
                     double bytes_per_second) {
  if (!ceiling || bytes_per_second <= ceiling->bytes_per_second) return {};
  return fail(
      Code::kDataLoss,
      fmt::format("{}: measured {:.1f} GB/s, above the {:.1f} GB/s that {} can carry at "
                  "most, so the figure cannot be right",
                  name, bytes_per_second / 1e9, ceiling->bytes_per_second / 1e9, ceiling->words));
}

}  // namespace railgauge::gpu
