// The second line of defence inside a runner: ends the process when its kernel cannot, on a signal,
// a cancel, the agent's end, or past the deadline. The agent (or the person's terminal) is the
// first.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/runner/task/record_writer.h"

namespace railgauge {

// Blocks SIGINT and SIGTERM in this thread and in those that it starts. Call it before any thread
// exists. The watchdog, or a supervisor, then reads them from a descriptor.
void block_ending_signals();
// A signalfd for both signals: not blocking, close on exec, -1 with errno set on failure. The
// caller owns it. Each signal can be read once in the process.
int ending_signals_fd();

// The outcome of a task that SIGINT or SIGTERM ended: its reason, and this program's exit code.
const char* words_of_signal(int signal);
int exit_code_of_signal(int signal);

// How a process ended, from its wait status: "was ended by signal 11 (SIGSEGV)", "exited with 3".
std::string words_of_end(int wait_status);

// Ends with _exit, after the final record: a thread that hangs in a driver cannot be unwound.
class Watchdog {
 public:
  // Signals must be blocked already.
  Watchdog();
  ~Watchdog();

  // From now on an end is written to `records`, and comes at the latest kGraceSeconds after
  // `deadline_monotonic_ns`. `records` must live until release().
  void guard(RecordWriter& records, double deadline_monotonic_ns);
  // The final record is written; from here on the process ends by itself.
  void release();
  // Another thread saw the reason to end (cancelled, agent gone). The task has kCancelGraceSeconds
  // to come back by itself. Returns at once; the first reason counts.
  void end(const Error& why);

  // Past the deadline.
  static constexpr double kGraceSeconds = 3;
  // From end() to _exit.
  static constexpr double kCancelGraceSeconds = 0.2;

 private:
  // The thread's loop.
  void watch();
  // Writes the final record where there is one to write, and ends the process.
  void end_process(std::string_view outcome, std::string reason, int exit_code);

  // Guards the members up to stop_.
  std::mutex mutex_;
  RecordWriter* records_ = nullptr;
  double end_monotonic_ns_;
  std::optional<Error> why_;
  bool stop_ = false;
  const Fd signal_fd_;
  const Fd wake_fd_;
  std::thread thread_;
};

}  // namespace railgauge
