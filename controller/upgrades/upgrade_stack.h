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

// "" where the stack has the version, else a line with the version it has. `part` is a key
// ("gpu_driver"), or its last word ("driver"), also of each model ("nic_firmware" for
// "nic_firmware.MT4129"). A version also matches those that refine it ("580.95" for "580.95.05").
std::string unmet_expectation(const store::StackParts& stack, const std::string& part,
                              const std::string& version);

// The changes that define an upgrade, "part -> value" each: versions; where none moved, settings;
// where none of these did, devices that went or came. A node that lost its NIC thus got the same
// upgrade as one that kept it. Railgauge itself is left out, because it measures, and so is a
// module that a first use loads.
std::set<std::string> moved_to(const store::StackParts& before, const store::StackParts& now);

// The changes joined by commas; "nothing" for none.
std::string words_of(const std::set<std::string>& moved);

// A node whose stack is another than before.
struct MovedNode {
  std::string node{};
  // "linux_kernel -> 6.5.0"; nodes with equal texts are one cohort.
  std::string to{};
  // Unix seconds.
  double since = 0;
  // Whether an upgrade of it was gated since.
  bool handled = false;
};

// Nodes that changed together and are gated together.
struct Cohort {
  // In the order of their names.
  std::vector<std::string> nodes{};
  std::string to{};
};

// The time without a further change after which a rollout counts as finished.
inline constexpr double kStableSeconds = 15 * 60;
// A change that nobody judged by then is history.
inline constexpr double kLongAgoSeconds = 24 * 3600;
// The same where measuring waits for a window, which may be that of a weekend.
inline constexpr double kWindowAgoSeconds = 8 * 24 * 3600.0;

// Nodes with the same change, once the last of them has been stable for kStableSeconds: a rollout
// in progress is one cohort. Nodes that were handled are left out, but delay the others as long as
// they change. `now`: unix seconds; `long_ago`: seconds.
std::vector<Cohort> stable_cohorts(std::span<const MovedNode> moved, double now,
                                   double long_ago = kLongAgoSeconds);

// How many nodes may be measured at once: one in twenty of `attached`, at least one.
std::size_t most_at_once(std::size_t attached);

}  // namespace railgauge
