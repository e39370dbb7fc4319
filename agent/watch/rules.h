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
      bits;  // width of the counter, which wraps or, on InfiniBand, keeps its largest value
  double window_seconds;
  double most;           // largest growth within the window that is not reported
  bool rate;             // after a pause longer than the window, its mean growth per window counts
  const char* severity;  // of severity.h; "": the counter is shown and never reported
  const char* meaning;   // why it matters, in a few words
};

// Returns all rules. The rules of one counter are adjacent, the strictest first.
std::span<const WatchRule> watch_rules();

// Returns the severity of an XID: kCritical for faulty hardware, kInfo for an error of the program,
// kWarning for all others. Pure.
const char* xid_severity(unsigned xid);

}  // namespace railgauge::agent
