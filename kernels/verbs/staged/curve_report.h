// Conclusions from the points of one task over the sizes, in words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/core/stats/size_curve.h"

namespace railgauge::verbs {

// Plain value: the median of each size.
struct Curve {
  std::string metric;
  std::vector<SizeValue> values;
};

// Passes everything on and keeps the curve of the points without a pair. With a pair, points carry
// it and facts stay here: another reporter has the facts of the task, and each point carries where
// its memory was and the NIC's path to it.
class CurveReporter final : public Reporter {
 public:
  CurveReporter(Reporter& to, std::string pair) : to_(to), pair_(std::move(pair)) {}
  void point(Point point) override;
  void note(std::string_view severity, std::string text) override;
  void fact(std::string_view name, std::string value) override;
  // By ascending size, whatever order they were measured in.
  [[nodiscard]] Curve curve() const;

 private:
  Reporter& to_;
  std::string pair_;
  std::map<std::string, std::string> places_;  // facts of a pair's points
  Curve curve_;
};

// One line a knee: "bandwidth: knee at 64KiB: rising below, flat above". Pure.
std::vector<std::string> knees_in_words(const Curve& curve);

// A warning where the shortest message that both have, of 4 KiB at most, takes nearly as long by
// GPUDirect as staged: then the path that the driver claims may go through host memory all the
// same. For latencies alone; nothing where GPUDirect is clearly the faster. Pure.
std::optional<std::string> looks_staged(const Curve& direct, const Curve& staged);

// The size at which GPUDirect and staging cross, or the faster one at every size that both have;
// nothing below three sizes, which show too little of the range between. Pure.
std::optional<std::string> crossing_in_words(const Curve& direct, const Curve& staged);

}  // namespace railgauge::verbs
