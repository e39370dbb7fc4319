// Which lines of the kernel's log we look at: about GPUs, NICs, peer memory and PCIe errors.
// Nothing else of the log is kept or handed on.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace railgauge::agent {

inline constexpr std::size_t kMostLogLines = 400;  // the newest

inline bool is_wanted_log_line(std::string_view message) {
  constexpr std::array<std::string_view, 14> kWords{
      "NVRM", "nvidia",         "nv_peer_mem", "mlx5", "mlx4",   "infiniband",
      "AER:", "PCIe Bus Error", "pcieport",    "SXid", "gdrdrv", "disagrees about version",
      "bnxt", "irdma"};
  for (const std::string_view word : kWords)
    if (message.find(word) != std::string_view::npos) return true;
  return false;
}

}  // namespace railgauge::agent
