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
  std::uint32_t bits;  // of the counter: where it wraps or, as InfiniBand's do, stands still
  double window_seconds;
  double most;           // growth within the window beyond which the rule speaks
  bool rate;             // a long look back counts by its mean, not as if it were one window
  const char* severity;  // "warn", "fail"; "" is for a counter that is only shown
  const char* meaning;   // why it matters, in a few words
};

// A counter may have several rules; they stand beside each other.
std::span<const WatchRule> watch_rules();

// What an XID of the GPU driver means for the hardware: "fail", "warn", or "info" for what a
// program did wrong. Pure.
const char* xid_severity(unsigned xid);

}  // namespace railgauge::agent
