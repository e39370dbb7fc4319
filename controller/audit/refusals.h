// Bounds the rows that refused calls make, so that a peer cannot fill the disk with them: a peer
// has kRows rows a minute for each reason, then one row with the number of the others. Pure; not
// thread safe. Times are seconds of one clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/audit_rows.h"

namespace railgauge::audit {

class Refusals {
 public:
  static constexpr std::uint32_t kRows = 6;
  static constexpr double kWindowSeconds = 60;
  // Peers and reasons with a window of their own; all others share one.
  static constexpr std::size_t kMaxWindows = 64;
  // The same for strangers, whose number and addresses nobody limits.
  static constexpr std::size_t kMaxStrangers = 8;

  explicit Refusals(std::size_t max_windows = kMaxWindows) : max_windows_(max_windows) {}

  // Returns whether the refused call gets a row of its own; otherwise it is counted.
  bool admit(const store::AuditRow& row, double now);
  // Counts a call whose row could not be stored.
  void add_lost(const store::AuditRow& row, double now);
  // Returns a row for each window that has ended, or for all with `all`, in which calls were
  // counted. Their time is left to the caller.
  std::vector<store::AuditRow> take_ended(double now, bool all = false);

 private:
  struct Window {
    double begun = 0;
    std::uint32_t rows = 0;
    std::uint32_t counted = 0;
    store::AuditRow sample{};  // the last that was counted
  };
  Window& window_of(const store::AuditRow& row, double now);

  std::size_t max_windows_;
  std::map<std::string, Window> windows_;  // by peer and reason
};

// Returns the address without its port: "ipv4:192.0.2.1:40000" is "ipv4:192.0.2.1". Another text is
// unchanged.
std::string_view host_of(std::string_view address);

}  // namespace railgauge::audit
