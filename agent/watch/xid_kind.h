// THE list of the GPU driver's Xids that indicate faulty hardware or a faulty program. Used by
// preflight and the watch.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace railgauge::agent {

enum class XidKind : std::uint8_t { kHardware, kProgram, kOther };

inline XidKind xid_kind(unsigned xid) {
  // Hardware faults: the union of imbue's and Azure's health checks, and from NVIDIA's list the
  // newer 140 (unrecovered ECC error) and 143 (the GPU did not start). First and last of each
  // range.
  constexpr std::array<std::pair<unsigned, unsigned>, 12> kHardware{{{48, 48},
                                                                     {56, 58},
                                                                     {62, 65},
                                                                     {68, 77},
                                                                     {79, 86},
                                                                     {88, 89},
                                                                     {92, 92},
                                                                     {94, 105},
                                                                     {110, 120},
                                                                     {122, 125},
                                                                     {140, 140},
                                                                     {143, 143}}};
  // Faults of a program: illegal access, page fault, stopped channel, and the clean-up after it.
  constexpr std::array<unsigned, 4> kPrograms{13, 31, 43, 45};
  if (std::ranges::find(kPrograms, xid) != kPrograms.end()) return XidKind::kProgram;
  const bool is_hardware = std::ranges::any_of(
      kHardware, [xid](const auto& range) { return xid >= range.first && xid <= range.second; });
  return is_hardware ? XidKind::kHardware : XidKind::kOther;
}

}  // namespace railgauge::agent
