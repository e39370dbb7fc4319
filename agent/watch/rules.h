// The limits of the counter watch, in one table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace railgauge::agent {

enum class WatchPlace { kPort, kPortHardware, kNetdev, kPci, kGpu };

struct WatchRule {
  WatchPlace place;
  const char* counter;
  std::uint32_t
      bits;  // of the counter: where it wraps or, as InfiniBand's do, keeps its largest value
  double window_seconds;
  double most;           // growth within the window beyond which the rule speaks
  bool rate;             // a long look back counts by its mean, not as if it were one window
  const char* severity;  // "warn", "fail"; "" is for a counter that is only shown
  const char* meaning;   // why it matters, in a few words
};

// A counter may have several rules; they stand beside each other.
std::span<const WatchRule> watch_rules();

// The meaning of an XID of the GPU driver for the hardware: "fail", "warn", or "info" for a
// program's own error. Pure.
const char* xid_severity(unsigned xid);

}  // namespace railgauge::agent
