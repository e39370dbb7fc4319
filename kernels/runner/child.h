// A part of this program in a process of its own, whose records arrive here one by one and whose
// end, however bad, is known.
#pragma once

#include <functional>

#include "kernels/core/base/record.pb.h"
#include "kernels/runner/task/record_writer.h"

namespace railgauge {

// How a child ended.
struct ChildEnd {
  // Ours: of the child's final record, of the signal that we got, or kExitInvalid.
  int exit_code = 0;
  // SIGINT or SIGTERM that this process got meanwhile.
  int ending_signal = 0;
};

// Forks; the child calls `body` with its end of the pipe and exits with its value. Hands over each
// record as it comes, the last always a final one: made here when the child left none. A signal is
// passed on as SIGTERM, and as SIGKILL kKillAfterSeconds later. Signals must be blocked
// (block_ending_signals) and no other thread may run.
ChildEnd run_in_child(const std::function<int(RecordSink&)>& body,
                      const std::function<void(const Record&)>& on_record);

// From SIGTERM to SIGKILL; longer than the child's own watchdog takes.
inline constexpr double kKillAfterSeconds = 3;

}  // namespace railgauge
