#include "agent/watch/tracker.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "kernels/core/base/severity.h"

namespace railgauge::agent {
namespace {
constexpr std::size_t kMostSeries = 16'384;
constexpr double kAnyAgainSeconds = 60;

// The rules for a counter.
std::vector<const WatchRule*> rules_of(const std::string& counter) {
  std::vector<const WatchRule*> rules;
  for (const WatchRule& rule : watch_rules())
    if (counter == rule.counter) rules.push_back(&rule);
  return rules;
}

// The largest value of a counter of that width.
std::uint64_t largest(std::uint32_t bits) { return bits >= 64 ? ~0ULL : (1ULL << bits) - 1; }

std::string duration(double seconds) {
  if (seconds >= 3600) return fmt::format("{:.0f} h", seconds / 3600);
  if (seconds >= 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.0f} s", seconds);
}

std::string limit_text(const WatchRule& rule) {
  if (rule.most == 0) return "any is too much";
  return fmt::format("the limit is {:.0f} in {}", rule.most, duration(rule.window_seconds));
}
}  // namespace

// A counter counts as wrapped if it was in the last quarter of its range and is in the first now.
double growth(std::uint64_t before, std::uint64_t now, std::uint32_t bits) {
  if (now >= before) return static_cast<double>(now - before);
  const std::uint64_t top = largest(bits);
  const bool wrapped = bits < 64 && before <= top && before > top - top / 4 && now < top / 4;
  return wrapped ? static_cast<double>(top - before) + 1 + static_cast<double>(now)
                 : static_cast<double>(now);  // reset: the count since then
}

// The growth within the window, this growth included.
double Tracker::add(Window& window, const WatchRule& rule, double grown, double since,
                    double now_seconds) {
  const double part = rule.window_seconds / static_cast<double>(kBuckets);
  const double newest = std::floor(now_seconds / part);
  const double first = newest - static_cast<double>(kBuckets) + 1;
  for (double bucket = std::max(window.first_bucket, first - static_cast<double>(kBuckets));
       bucket < first; ++bucket)
    window.buckets[static_cast<std::size_t>(std::fmod(bucket + 1e3 * kBuckets, kBuckets))] = 0;
  window.first_bucket = first;
  const bool long_look = rule.rate && since > rule.window_seconds;
  const double share = long_look ? rule.window_seconds / since : 1;
  window.buckets[static_cast<std::size_t>(std::fmod(newest + 1e3 * kBuckets, kBuckets))] +=
      grown * share;
  double sum = 0;
  for (const double bucket : window.buckets) sum += bucket;
  return sum;
}

// Compares the growth with every rule of the counter.
void Tracker::judge(const Reading& reading, Series& series, double grown, double since,
                    double now_seconds, std::vector<Remark>& out) {
  const auto rules = rules_of(reading.counter);
  bool told = false;  // one report a look: the first rule is the strictest
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const WatchRule& rule = *rules[i];
    Window& window = series.windows[i];
    const double sum = add(window, rule, grown, since, now_seconds);
    const bool beyond = sum > rule.most;
    const bool again = now_seconds - window.told_at >= kAgainSeconds && grown > 0;
    // A counter that may not grow at all is reported on each growth, at most once in
    // kAnyAgainSeconds.
    const bool grew = rule.most == 0 && now_seconds - window.told_at >= kAnyAgainSeconds;
    const bool news = beyond && grown > 0 && (!window.beyond || again || grew);
    window.beyond = beyond;
    if (!news || told || *rule.severity == '\0') continue;
    told = true;
    window.told_at = now_seconds;
    out.push_back(
        {"counter", rule.severity, reading.device,
         fmt::format("{} {}: {:.0f} within {}, {}: {}", reading.device, reading.counter, sum,
                     duration(rule.window_seconds), limit_text(rule), rule.meaning)});
  }
  const bool stuck =
      !rules.empty() && rules[0]->bits < 32 && reading.value == largest(rules[0]->bits);
  if (stuck && !series.stuck)
    out.push_back({"counter", severity::kWarning, reading.device,
                   fmt::format("{} {}: is at {}, the most it can count; nothing more is seen of "
                               "it until it is cleared (perfquery -R)",
                               reading.device, reading.counter, reading.value)});
  series.stuck = stuck;
}

// Takes one reading; the first one of a counter has no growth.
void Tracker::take(const Reading& reading, double now_seconds, std::vector<Remark>& out) {
  const auto rules = rules_of(reading.counter);
  if (rules.empty()) return;
  const auto key = std::pair(reading.device, reading.counter);
  const auto found = series_.find(key);
  if (found == series_.end()) {
    if (series_.size() >= kMostSeries) return;
    Series& fresh = series_[key];
    fresh.value = reading.value;
    fresh.seen_at = now_seconds;
    fresh.windows.resize(rules.size());
    judge(reading, fresh, 0, 0, now_seconds, out);
    return;
  }
  Series& series = found->second;
  const double grown = growth(series.value, reading.value, rules[0]->bits);
  const double since = std::max(0.0, now_seconds - series.seen_at);
  series.value = reading.value;
  series.seen_at = now_seconds;
  series.total += grown;
  judge(reading, series, grown, since, now_seconds, out);
}

// Reports devices that are missing for kLooksMissing looks, and devices that came back.
void Tracker::watch_devices(const std::vector<Reading>& readings, std::vector<Remark>& out) {
  std::set<std::string> here;
  for (const Reading& reading : readings) here.insert(reading.device);
  for (const std::string& name : here) {
    Device& device = devices_[name];
    if (device.told)
      out.push_back(
          {"device_returned", severity::kInfo, name, fmt::format("{}: it is back", name)});
    device = {};
  }
  for (auto& [name, device] : devices_) {
    if (here.contains(name) || device.told || ++device.missing < kLooksMissing) continue;
    device.told = true;
    out.push_back({"device_vanished", severity::kCritical, name,
                   fmt::format("{}: gone for {} looks: unplugged, driver unloaded, or it fell off "
                               "its bus; the kernel's log says which",
                               name, kLooksMissing)});
  }
}

std::vector<Remark> Tracker::update(const std::vector<Reading>& readings, double now_seconds) {
  std::vector<Remark> out;
  for (const Reading& reading : readings) take(reading, now_seconds, out);
  watch_devices(readings, out);
  return out;
}

std::vector<Tracker::Total> Tracker::totals() const {
  std::vector<Total> totals;
  totals.reserve(series_.size());
  for (const auto& [key, series] : series_) totals.push_back({key.first, key.second, series.total});
  return totals;
}

}  // namespace railgauge::agent
