// Conclusions from one task's points over the sizes, in words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/stats/size_curve.h"

namespace railgauge::verbs {

// The median of each size. Plain value.
struct Curve {
  std::string metric;
  std::vector<SizeValue> values;
};

// Passes everything on and keeps the curve of the points without a pair. Given a pair, it sets the
// pair on points and does not pass facts on, because another reporter has the task's facts; each
// point then carries its memory places and the NIC's path.
class CurveReporter final : public Reporter {
 public:
  CurveReporter(Reporter& to, std::string pair) : to_(to), pair_(std::move(pair)) {}
  void point(Point point) override;
  void note(std::string_view severity, std::string text) override;
  void fact(std::string_view name, std::string value) override;
  // Returns the curve by ascending size, in whatever order the sizes were measured.
  [[nodiscard]] Curve curve() const;

 private:
  Reporter& to_;
  std::string pair_;
  std::map<std::string, std::string> places_;  // facts of a pair's points
  Curve curve_;
};

// Formats one line a knee: "bandwidth: knee at 64KiB: rising below, flat above". Pure.
std::vector<std::string> knees_in_words(const Curve& curve);

// Returns a warning when the shortest common message, of at most 4 KiB, takes nearly as long by
// GPUDirect as staged: the path that the driver claims may then go through host memory. For
// latencies only; absent when GPUDirect is clearly faster. Pure.
std::optional<std::string> looks_staged(const Curve& direct, const Curve& staged);

// Returns the size at which GPUDirect and staging cross, or the faster one at every common size;
// absent below three sizes, which show too little of the range. Pure.
std::optional<std::string> crossing_in_words(const Curve& direct, const Curve& staged);

}  // namespace railgauge::verbs
