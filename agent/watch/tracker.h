// Growth of counters over time, compared with the rules. Pure: readings and a time in, remarks out.
//
// A counter that falls was reset, or wrapped where it was near its end; counting starts at its
// first value. A device that is gone for three looks is reported, and so is its return; a counter
// that comes and goes with it continues from its last value.
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
  std::string severity;  // "info", "warn", "fail"
  std::string subject;   // device
  std::string text;      // one line
  bool operator==(const Remark&) const = default;
};

// How much a counter of so many bits grew between two values. Pure.
double growth(std::uint64_t before, std::uint64_t now, std::uint32_t bits);

class Tracker {
 public:
  static constexpr int kLooksMissing = 3;
  static constexpr std::size_t kBuckets = 12;    // a window has so many parts
  static constexpr double kAgainSeconds = 3600;  // a limit that stays passed is reported again

  // `now_seconds` grows from call to call. All readings of one look.
  std::vector<Remark> update(const std::vector<Reading>& readings, double now_seconds);
  // The growth of each counter since the tracker began, by device and counter.
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
    bool stuck = false;             // reported that it keeps its largest value
    std::vector<Window> windows{};  // as its rules are
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
