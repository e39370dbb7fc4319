// Wrong bytes that a run's tasks read: a finding on the node that all have in common, else on each
// pair. Wrong bytes need no statistics, because a task proves them by itself.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "controller/store/queries/events.h"
#include "controller/store/rows/rows.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge {

inline constexpr std::string_view kWrongBytesKind = "corruption";

// Tasks with wrong bytes at one place.
struct WrongBytes {
  // A node, or the nodes of tasks that share none: "n1 n2".
  std::string where{};
  // The node where `where` is one, else "".
  std::string node{};
  std::size_t tasks = 0;
  // The other nodes of these tasks.
  std::set<std::string> partners{};
  // The reason of the first of them.
  std::string example{};
};

// Finds the places of the tasks that failed because of wrong bytes. A node is named where tasks
// with two partners or more have it in common; the node with most partners comes first, so that two
// bad nodes are two places. Pure; thread safe.
std::vector<WrongBytes> places_of_wrong_bytes(std::span<const store::TaskEnd> ends);

// Opens, confirms, reopens or ends findings of kind `corruption`. Two partners of a node confirm it
// at once, else a second run does. It ends when as many tasks at its place passed in one run as had
// failed, at least three, and none failed so. `now`: unix seconds. Errors: those of the store.
Status judge_wrong_bytes(store::Store& store, const store::RunRow& run, double now);

}  // namespace railgauge
