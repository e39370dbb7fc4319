// What changes between two stacks of one node, and what only seems to. Pure.
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

inline constexpr std::size_t kMostChangesTold = 100;

// `now` with the value of before for each part that could not be read (kUnknownPart). `incomplete`:
// so were those that it does not name at all.
StackParts fill_unknown(const StackParts& before, StackParts now, bool incomplete);

// "gpu_driver 535.1 -> 550.2" for each part that differs, by name; "none" where there is none. A
// part that was not known before, or is not now, has not changed. All of them: a suspect that is
// left out would never be found. Only what tells of a device that is not there on one side is one
// change: "rdma_device present -> gone", "gpu none -> present"; its settings did not change. So it
// is with a module that was left or loaded and its parameters: "module.nvidia loaded -> none".
std::vector<std::string> stack_changes(const StackParts& before, const StackParts& now);

// The kinds of devices that a stack tells of, and the change that one of them went.
inline constexpr std::string_view kRdmaDevice = "rdma_device";
inline constexpr std::string_view kGpuDevice = "gpu";
std::string gone_change(std::string_view device);

// Whether the part, or the change of it, is what such a device's settings or firmware say.
bool is_of_device(std::string_view device, std::string_view change);

// Whether it is a change of a device's presence, by the change's or the part's text.
bool is_of_presence(std::string_view change);

// For a line: at most `most` of them, then "50 more".
std::vector<std::string> told_changes(std::vector<std::string> changes,
                                      std::size_t most = kMostChangesTold);

}  // namespace railgauge::store
