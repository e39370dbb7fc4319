// Compares the growth of counters over time with the rules. Pure: readings and a time in, remarks
// out.
//
// A counter that falls has wrapped if it was near its end, else it was reset. Growth counts from
// the first reading. A device that is missing for kLooksMissing looks is reported, and so is its
// return; its counters continue from their last values.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/watch/counters.h"
#include "agent/watch/rules.h"

namespace railgauge::agent {

struct Remark {
  std::string kind;      // "counter", "device_vanished", "device_returned", "xid", "sxid", "watch"
  std::string severity;  // of severity.h
  std::string subject;   // device
  std::string text;      // one line
  bool operator==(const Remark&) const = default;
};

// Returns the growth of a counter of `bits` bits from `before` to `now`. A fall counts as a wrap
// near the counter's end, else as a reset to 0. Pure.
double growth(std::uint64_t before, std::uint64_t now, std::uint32_t bits);

class Tracker {
 public:
  static constexpr int kLooksMissing = 3;
  static constexpr std::size_t kBuckets = 12;    // parts of a window
  static constexpr double kAgainSeconds = 3600;  // period of reports while a limit stays exceeded

  // Takes all readings of one look. `now_seconds` must not fall from call to call.
  std::vector<Remark> update(const std::vector<Reading>& readings, double now_seconds);
  // The growth of one counter since its first reading.
  struct Total {
    std::string device;
    std::string counter;
    double growth = 0;
  };
  [[nodiscard]] std::vector<Total> totals() const;

 private:
  struct Window {  // of one rule
    std::vector<double> buckets = std::vector<double>(kBuckets, 0.0);
    double first_bucket = 0;  // number of the oldest
    double told_at = -1e18;
    bool beyond = false;
  };
  struct Series {
    std::uint64_t value = 0;
    double seen_at = 0;
    double total = 0;
    bool stuck = false;             // at its largest value, and reported
    std::vector<Window> windows{};  // one for each rule of the counter
  };
  struct Device {
    int missing = 0;
    bool told = false;
  };
  static double add(Window& window, const WatchRule& rule, double grown, double since,
                    double now_seconds);
  void take(const Reading& reading, double now_seconds, std::vector<Remark>& out);
  void judge(const Reading& reading, Series& series, double grown, double since, double now_seconds,
             std::vector<Remark>& out);
  void watch_devices(const std::vector<Reading>& readings, std::vector<Remark>& out);

  std::map<std::pair<std::string, std::string>, Series> series_;
  std::map<std::string, Device> devices_;
};

}  // namespace railgauge::agent
