// The changes of a node's stack that make an upgrade, and the nodes that changed together. Pure;
// thread safe.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/stack_parts.h"

namespace railgauge {

// The cause of an epoch, and the kind of an event, that a replaced NIC or GPU began.
inline constexpr std::string_view kReplacedCause = "hardware_replaced";

// "" where the stack has it, else what it has instead. PART is a key ("gpu_driver"), or its last
// word ("driver"), also of each model ("nic_firmware" for "nic_firmware.MT4129"); a version also
// matches those that refine it ("580.95" for "580.95.05").
std::string unmet_expectation(const store::StackParts& stack, const std::string& part,
                              const std::string& version);

// The changes that define an upgrade: versions; where none moved, settings; where none of these
// did, devices that went or came. A node that lost its NIC got the same upgrade as one that kept
// it. "part -> value" each. Railgauge itself is none: it measures. Nor is a module that somebody's
// first use loads.
std::set<std::string> moved_to(const store::StackParts& before, const store::StackParts& now);

// By commas; "nothing" for none.
std::string words_of(const std::set<std::string>& moved);

// A node whose stack is another than before.
struct MovedNode {
  std::string node{};
  std::string to{};      // "linux_kernel -> 6.5.0"; equal words are one cohort
  double since = 0;      // unix seconds
  bool handled = false;  // an upgrade of it was gated since
};

struct Cohort {
  std::vector<std::string> nodes{};  // by name
  std::string to{};
};

inline constexpr double kStableSeconds = 15 * 60;
inline constexpr double kLongAgoSeconds = 24 * 3600;  // what nobody judged by then is history
// Where measuring waits for a window, which may be that of a weekend.
inline constexpr double kWindowAgoSeconds = 8 * 24 * 3600.0;

// Nodes that moved to the same, when the last of them has been as it is for kStableSeconds: what is
// still being rolled out is one cohort, not one each. Without those that were handled.
std::vector<Cohort> stable_cohorts(std::span<const MovedNode> moved, double now,
                                   double long_ago = kLongAgoSeconds);

// How many of them may be measured at once: one in twenty of `attached`, one at least.
std::size_t most_at_once(std::size_t attached);

}  // namespace railgauge
