// A watchdog inside a runner: ends the process when a kernel hangs, on a signal, a cancel, the
// agent's end, or past the deadline. It is the second line of defence; the agent (or the person's
// terminal) is the first.
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

// Blocks SIGINT and SIGTERM in this thread and in threads that it starts. Call it before any thread
// exists. The watchdog, or a supervisor, then reads the signals from a descriptor.
void block_ending_signals();
// Returns a signalfd for both signals: non-blocking, close on exec; -1 with errno set on failure.
// The caller owns it. Each signal can be read once in the process.
int ending_signals_fd();

// Return the reason of a task that SIGINT or SIGTERM ended, and this program's exit code.
const char* words_of_signal(int signal);
int exit_code_of_signal(int signal);

// Describes a wait status: "was ended by signal 11 (SIGSEGV)", "exited with 3".
std::string words_of_end(int wait_status);

// A thread that ends the process with _exit after the final record, since a thread that hangs in a
// driver cannot be unwound.
class Watchdog {
 public:
  // Signals must be blocked already.
  Watchdog();
  ~Watchdog();

  // Directs the final record to `records` from now on, and ends the process at the latest
  // kGraceSeconds after `deadline_monotonic_ns`. `records` must live until release().
  void guard(RecordWriter& records, double deadline_monotonic_ns);
  // Call it when the final record is written: the watchdog writes no further record.
  void release();
  // Requests the end for a reason that another thread saw (cancelled, agent gone). The task has
  // kCancelGraceSeconds to return by itself. Does not block; the first reason counts.
  void end(const Error& why);

  // Seconds past the deadline.
  static constexpr double kGraceSeconds = 3;
  // Seconds from end() to _exit.
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
