// Changes between two stacks of one node, without differences that only seem to be changes. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/rows.h"

namespace railgauge::store {

struct StackParts {
  TextMap versions{};
  TextMap settings{};
};

// One part of a stack that differs between two stacks, with both values.
struct StackChange {
  std::string part{};
  // "none" where the part was absent.
  std::string from{};
  // "none" where it is absent now.
  std::string to{};
  friend bool operator==(const StackChange&, const StackChange&) = default;
};
// "gpu_driver 535.1 -> 550.2", as people read it. Nothing reads a change back from this text.
std::string text_of(const StackChange& change);
// The texts, in the same order.
std::vector<std::string> texts_of(const std::vector<StackChange>& changes);

inline constexpr std::size_t kMostChangesTold = 100;

// `now` with the value of before for each part that could not be read (kUnknownPart). `incomplete`:
// so were those that it does not name at all.
StackParts fill_unknown(const StackParts& before, StackParts now, bool incomplete);

// Each part that differs, in the order of the texts, without a limit: a suspect that is left out
// would never be found. A part that is unknown on one side has not changed. The parts of a device
// that is missing on one side are one change: "rdma_device present -> gone", "gpu none -> present".
// The parameters of a module that was loaded or unloaded are one change as well: "module.nvidia
// loaded -> none".
std::vector<StackChange> stack_changes(const StackParts& before, const StackParts& now);

// The kinds of devices in a stack, and the change that says that one of them is gone.
inline constexpr std::string_view kRdmaDevice = "rdma_device";
inline constexpr std::string_view kGpuDevice = "gpu";
StackChange gone_change(std::string_view device);

// Whether the part, or the change of it, is what such a device's settings or firmware say.
bool is_of_device(std::string_view device, std::string_view change);

// Whether it is a change of a device's presence, by the change's or the part's text.
bool is_of_presence(std::string_view change);

// For a line: at most `most` of them, then "50 more".
std::vector<std::string> told_changes(std::vector<std::string> changes,
                                      std::size_t most = kMostChangesTold);

}  // namespace railgauge::store
