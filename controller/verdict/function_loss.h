// Functions that worked before an upgrade and do not any more: a regression without statistics.
// Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace railgauge::analysis {

// The outcome of an endpoint that is not there any more.
inline constexpr std::string_view kGone = "gone";

// One task or check on one place, on both sides of an upgrade. Outcomes and states are DESIGN's
// words; "" is not measured, "gone" is that the endpoint is not there any more. Paths are the
// kernels' facts "path" and "transport".
struct FunctionSides {
  std::string node{};
  std::string endpoint{};
  // Kernel or check.
  std::string name{};
  std::string outcome_before{};
  std::string outcome_after{};
  std::string path_before{};
  std::string path_after{};
  // Else a check, or that an endpoint is there.
  bool is_task = true;
  // A task that did not pass after, nor always before: nothing is known of it.
  bool never_passed = false;
};

// Corruption outranks every other loss.
enum class LossKind { kLostFunction, kCorruption };
// "lost_function", "corruption".
std::string_view word(LossKind kind);

// One function that was lost, with both of its sides.
struct LostFunction {
  LossKind kind = LossKind::kLostFunction;
  FunctionSides sides;
  // "passed before, now waived", "path dmabuf before, now staged".
  std::string what;
};

// The lost functions, in the order given. The outcome "corrupted" marks a task that failed because
// of wrong bytes: that is corruption, also where nothing was measured before.
std::vector<LostFunction> lost_functions(std::span<const FunctionSides> all);

// The rank of a path; larger is better, paths that cannot be compared are 0. For several, parted by
// commas as a collective's are ("NET/IB/0/GDRDMA, NET/IB/1"), the worst: one rail is a loss.
int path_rank(std::string_view path);

}  // namespace railgauge::analysis
