// Which lines of the kernel's log we look at: about GPUs, NICs, peer memory and PCIe errors.
// Nothing else of the log is kept or handed on.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

namespace railgauge::agent {

inline constexpr std::size_t kMostLogLines = 400;  // the newest

inline bool has_one_of(std::string_view message, const auto& words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return message.find(word) != std::string_view::npos; });
}

inline bool is_wanted_log_line(std::string_view message) {
  constexpr std::array<std::string_view, 15> kWords{
      "NVRM", "nvidia",         "nv_peer_mem",        "mlx5", "mlx4",   "infiniband",
      "AER:", "PCIe Bus Error", "pcieport",           "SXid", "gdrdrv", "disagrees about version",
      "bnxt", "irdma",          "railgauge: repaired"};
  return has_one_of(message, kWords);
}

// The words that decide a check; the others are context.
inline bool is_decisive_log_line(std::string_view message) {
  constexpr std::array<std::string_view, 5> kWords{"Xid (", "limited by", "disagrees about version",
                                                   "Unknown symbol", "railgauge: repaired"};
  return has_one_of(message, kWords);
}

// The lines that are kept, and whether one that could decide was lost: by us, or because the
// kernel had written over the ring before we came. Its first record since boot is number 0.
class KeptLogLines {
 public:
  // "6,1234,5678,-;message", the first record that there is.
  void begin(std::string_view record) {
    const std::size_t comma = record.find(',');
    if (comma == std::string_view::npos || record.substr(comma + 1, 2) != "0,") is_cut_ = true;
  }
  void take(std::string message) {
    if (!is_wanted_log_line(message)) return;
    lines_.push_back(std::move(message));
    if (lines_.size() <= kMostLogLines) return;
    const auto least = std::ranges::find_if_not(lines_, is_decisive_log_line);
    is_cut_ = is_cut_ || least == lines_.end();
    lines_.erase(least == lines_.end() ? lines_.begin() : least);
  }
  void lose() { is_cut_ = true; }
  [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  std::deque<std::string> lines_;
  bool is_cut_ = false;
};

}  // namespace railgauge::agent
