// Waiting for a run, through lost connections and Ctrl-C.
#pragma once

#include <cstdint>
#include <string>

#include "controller/api/control.pb.h"
#include "controller/cli/input/session.h"

namespace railgauge::cli {

enum class FollowEnd { kRunEnded, kInterrupted, kTerminated, kTimeUp };

struct Followed {
  FollowEnd end = FollowEnd::kTimeUp;
  api::RunSummary run;  // as last seen; its id is always set
};

// How much of a run is shown: a summary, or a line for each event.
enum class Detail { kSummary, kAll };

// Shows the run's progress (ndjson: its events on `out`) until it ended, `wait_seconds` passed, or
// more than `presses_seen` Ctrl-C or a SIGTERM came. A controller that goes away is dialled again
// for session.reconnect_seconds. Errors: kUnavailable after that; the controller's own.
Result<Followed> follow_run(Session& session, const std::string& run_id, double wait_seconds,
                            int presses_seen, Detail detail = Detail::kSummary);

// Asks for the cancel and waits until the run has ended, which is what verifies it, at most
// session.cancel_seconds. Errors: kDeadlineExceeded when it has not; the controller's own.
Result<api::RunSummary> cancel_run(Session& session, const std::string& run_id);

// The exact command that cancels the run, for a person to paste.
std::string cancel_command(const Session& session, const std::string& run_id);

// "[####------]  4/10  00:12  TEXT", at most `columns` characters.
std::string progress_line(const std::string& counts, const std::string& text,
                          std::int64_t elapsed_seconds, int columns);

}  // namespace railgauge::cli
