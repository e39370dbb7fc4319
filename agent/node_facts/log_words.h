// The filter of the kernel's log: lines about GPUs, NICs, peer memory and PCIe errors. No other
// line is kept or passed on.
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

// Whether the message contains one of the words.
inline bool has_one_of(std::string_view message, const auto& words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return message.find(word) != std::string_view::npos; });
}

// Whether a line is kept.
inline bool is_wanted_log_line(std::string_view message) {
  constexpr std::array<std::string_view, 15> kWords{
      "NVRM", "nvidia",         "nv_peer_mem",        "mlx5", "mlx4",   "infiniband",
      "AER:", "PCIe Bus Error", "pcieport",           "SXid", "gdrdrv", "disagrees about version",
      "bnxt", "irdma",          "railgauge: repaired"};
  return has_one_of(message, kWords);
}

// Whether a line can decide a check. Other lines are context and are dropped first.
inline bool is_decisive_log_line(std::string_view message) {
  constexpr std::array<std::string_view, 5> kWords{"Xid (", "limited by", "disagrees about version",
                                                   "Unknown symbol", "railgauge: repaired"};
  return has_one_of(message, kWords);
}

// The kept lines, and whether a decisive line was lost: dropped here, or overwritten in the
// kernel's ring before it was read. The first record since boot has number 0.
class KeptLogLines {
 public:
  // Takes the first record of the log: "6,1234,5678,-;message".
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
  // Records that lines were lost.
  void lose() { is_cut_ = true; }
  [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }
  [[nodiscard]] bool is_cut() const { return is_cut_; }

 private:
  std::deque<std::string> lines_;
  bool is_cut_ = false;
};

}  // namespace railgauge::agent
