// The final record of a task, derived from the end of its runner. Pure.
#pragma once

#include <optional>
#include <string>

#include "agent/os/subprocess.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::agent {

// Why the agent ended a runner.
enum class Stop {
  kNone,      // the runner ended by itself
  kDeadline,  // the task's deadline passed
  kCancel,  // the controller or the agent's own end asked for it; the runner may answer for itself
  kFault,   // the runner broke the protocol, or its records cannot be kept: its reports are ignored
};

// The known facts about the end of a runner.
struct Ending {
  std::optional<Final> reported;  // the runner's own final record
  bool reported_before_stop = false;
  Stop stop = Stop::kNone;
  std::string stop_outcome;  // for kCancel
  std::string stop_reason;   // for kCancel and kFault
  double deadline_seconds = 0;
  bool ignored_term = false;
  std::optional<Exit> exit;  // absent: the runner survived KILL
  double lifetime_ns = 0;    // from the spawn to the reaping
  std::string last_record;   // by describe_record(); "" for none
  std::string stderr_tail;
};

// Returns the Final to store: outcome, reason, and the resource use of the process.
Final conclude(const Ending& ending);

// Describes a wait status: "killed by SIGSEGV (signal 11)", "exited with code 3".
std::string describe_wait_status(int wait_status);
// Describes a record: "started verbs.write_lat", "point latency_ns at 8 bytes".
std::string describe_record(const Record& record);

}  // namespace railgauge::agent
