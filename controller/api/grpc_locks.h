// The cost of locks in the gRPC library.
#pragma once

#include <absl/synchronization/mutex.h>

namespace railgauge {

// Ends the search for deadlocks that Abseil makes at each lock where a distribution builds it
// without NDEBUG, as Debian 12 does: a sixth of the CPU time of a controller with 10,000 idle
// agents. For the whole process; call it before the first gRPC object.
inline void end_search_for_deadlocks() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace railgauge
