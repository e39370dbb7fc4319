#include "kernels/verbs/staged/curve_report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "kernels/core/base/headline.h"
#include "kernels/core/text/units.h"

namespace railgauge::verbs {
namespace {

constexpr std::string_view kBandwidth = "bandwidth_bytes_per_second";
constexpr std::string_view kLatency = "latency_ns";

// Rounded to whole bytes: "64KiB".
std::string bytes_words(double bytes) {
  return canonical_bytes(static_cast<std::uint64_t>(std::llround(bytes)));
}

// For one message, from either figure.
double time_ns(const Curve& curve, const SizeValue& at) {
  return curve.metric == kBandwidth ? at.bytes / at.value * 1e9 : at.value;
}

// The sizes that both have; `swapped` puts staging first.
std::vector<SizeTimes> times_of(const Curve& direct, const Curve& staged, bool swapped) {
  std::vector<SizeTimes> times;
  for (const SizeValue& at : direct.values) {
    const auto twin = std::ranges::find(staged.values, at.bytes, &SizeValue::bytes);
    if (twin == staged.values.end()) continue;
    const double one = time_ns(direct, at);
    const double other = time_ns(staged, *twin);
    times.push_back({at.bytes, swapped ? other : one, swapped ? one : other});
  }
  return times;
}

}  // namespace

// The sum over links counts for the curve, a single link does not.
void CurveReporter::point(Point point) {
  // With several links, each link has its own points beside the points of all together.
  const bool is_whole = point.pair().empty() || point.facts().contains("links");
  if (!pair_.empty()) point.set_pair(pair_);
  point.mutable_facts()->insert(places_.begin(), places_.end());
  if (is_whole && (point.metric() == kBandwidth || point.metric() == kLatency) &&
      headline_of(point) > 0) {
    curve_.metric = point.metric();
    curve_.values.push_back({point.message_bytes(), headline_of(point)});
  }
  to_.point(std::move(point));
}

void CurveReporter::note(std::string_view severity, std::string text) {
  to_.note(severity, std::move(text));
}

// A twin keeps the facts of its memory for its points and drops the others, which repeat the
// task's.
void CurveReporter::fact(std::string_view name, std::string value) {
  constexpr std::array<std::string_view, 4> kPlaces{"memory", "peer_memory", "path", "peer_path"};
  if (pair_.empty())
    to_.fact(name, std::move(value));
  else if (std::ranges::find(kPlaces, name) != kPlaces.end())
    places_[std::string(name)] = std::move(value);
}

// A size that is measured twice keeps its first value.
Curve CurveReporter::curve() const {
  Curve sorted = curve_;
  std::ranges::sort(sorted.values, {}, &SizeValue::bytes);
  const auto is_double = [](const SizeValue& a, const SizeValue& b) { return a.bytes == b.bytes; };
  const auto end = std::unique(sorted.values.begin(), sorted.values.end(), is_double);
  sorted.values.erase(end, sorted.values.end());
  return sorted;
}

// The rule of a knee is find_knees() in kernels/core.
std::vector<std::string> knees_in_words(const Curve& curve) {
  std::vector<std::string> words;
  for (const Knee& knee : find_knees(curve.values))
    words.push_back(fmt::format("{}: knee of the size curve at {}: {} below, {} above",
                                curve.metric == kBandwidth ? "bandwidth" : "latency",
                                bytes_words(knee.bytes), trend_words(knee.before),
                                trend_words(knee.after)));
  return words;
}

// Within 10 % of the staged time counts as nearly as long.
std::optional<std::string> looks_staged(const Curve& direct, const Curve& staged) {
  constexpr double kLargestBytes = 4096;
  constexpr double kNearly = 0.9;
  const std::vector<SizeTimes> times = times_of(direct, staged, false);
  if (direct.metric != kLatency || times.empty()) return std::nullopt;
  const SizeTimes& shortest = times.front();
  if (shortest.bytes > kLargestBytes || shortest.first_ns < kNearly * shortest.second_ns)
    return std::nullopt;
  return fmt::format(
      "looks staged: {} take {:.1f} us by GPUDirect and {:.1f} us through host memory; the path "
      "may "
      "go there although the driver claims none: look at ACS, the IOMMU and the PCIe distance",
      bytes_words(shortest.bytes), shortest.first_ns / 1e3, shortest.second_ns / 1e3);
}

// The search wants the faster curve first, so it runs on the swapped pair where staging is faster
// at the smallest size.
std::optional<std::string> crossing_in_words(const Curve& direct, const Curve& staged) {
  constexpr std::size_t kMinSizes = 3;
  std::vector<SizeTimes> times = times_of(direct, staged, false);
  if (times.size() < kMinSizes) return std::nullopt;
  Crossover found = find_crossover(times);
  const bool swapped = !found.first_faster_at_first;
  if (swapped) found = find_crossover(times_of(direct, staged, true));
  const std::string_view small = swapped ? "staged" : "GPUDirect";
  const std::string_view large = swapped ? "GPUDirect" : "staged";
  const std::string range = fmt::format("from {} to {}", bytes_words(times.front().bytes),
                                        bytes_words(times.back().bytes));
  if (found.changes == 0)
    return fmt::format("GPUDirect and staged: no crossing {}: {} is the faster at all sizes", range,
                       small);
  if (!found.bytes)
    return fmt::format(
        "GPUDirect and staged: {} is the faster at both ends, although the faster "
        "one changes {} times {}",
        small, found.changes, range);
  return fmt::format(
      "GPUDirect and staged cross at {}: {} is the faster below, {} above{}",
      bytes_words(*found.bytes), small, large,
      found.changes > 1 ? fmt::format(" (the faster one changes {} times {})", found.changes, range)
                        : "");
}

}  // namespace railgauge::verbs
