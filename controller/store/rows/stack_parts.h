// Stacks of a node and the changes between two of them. Differences that are only a failure to read
// a part are no changes. Pure.
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
  std::string from{};  // "none" where the part was absent
  std::string to{};    // "none" where the part is absent now
  friend bool operator==(const StackChange&, const StackChange&) = default;
};
// Returns "gpu_driver 535.1 -> 550.2", for people. No code parses this text into a change.
std::string text_of(const StackChange& change);
// Returns the texts of the changes, in the same order.
std::vector<std::string> texts_of(const std::vector<StackChange>& changes);

inline constexpr std::size_t kMostChangesTold = 100;

// Returns `now` with the earlier value for each part that could not be read (kUnknownPart). With
// `incomplete`, missing parts count as unread too.
StackParts fill_unknown(const StackParts& before, StackParts now, bool incomplete);

// Returns each part that differs, sorted by text. The list has no limit, since an omitted suspect
// would never be found. A part that is unknown on one side has not changed. All parts of a device
// that is missing on one side are one change: "rdma_device present -> gone", "gpu none -> present".
// So are the parameters of a module that was loaded or unloaded: "module.nvidia loaded -> none".
std::vector<StackChange> stack_changes(const StackParts& before, const StackParts& now);

// The kinds of devices in a stack. gone_change() makes the change of a device that is gone.
inline constexpr std::string_view kRdmaDevice = "rdma_device";
inline constexpr std::string_view kGpuDevice = "gpu";
StackChange gone_change(std::string_view device);

// Reports whether a part, or the text of a change, belongs to the settings or firmware of `device`.
bool is_of_device(std::string_view device, std::string_view change);

// Reports whether a part, or the text of a change, is the presence of a device.
bool is_of_presence(std::string_view change);

// Shortens a list for one line: at most `most` changes, then "50 more".
std::vector<std::string> told_changes(std::vector<std::string> changes,
                                      std::size_t most = kMostChangesTold);

}  // namespace railgauge::store
