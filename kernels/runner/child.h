// Runs a part of this program in a child process: its records arrive one by one, and any end of it,
// even a crash, is reported.
#pragma once

#include <functional>

#include "kernels/core/base/record.pb.h"
#include "kernels/runner/task/record_writer.h"

namespace railgauge {

// How a child ended.
struct ChildEnd {
  // The exit code for this process: the child's, that of a received signal, or kExitInvalid.
  int exit_code = 0;
  // SIGINT or SIGTERM that this process received meanwhile; 0: none.
  int ending_signal = 0;
};

// Forks; the child calls `body` with its end of the pipe and exits with the result. Calls
// `on_record` with each record on arrival; the last is always a final one, made here if the child
// left none. A signal is passed on as SIGTERM, and as SIGKILL kKillAfterSeconds later. Signals must
// be blocked (block_ending_signals) and no other thread may run.
ChildEnd run_in_child(const std::function<int(RecordSink&)>& body,
                      const std::function<void(const Record&)>& on_record);

// Seconds from SIGTERM to SIGKILL; longer than the child's own watchdog takes.
inline constexpr double kKillAfterSeconds = 3;

}  // namespace railgauge
