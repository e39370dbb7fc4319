// Schedules and the decisions on their due times, as plain values. Times are seconds since 1970
// (UTC) by the controller's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/api/states.h"

namespace railgauge::store {

using api::DueResult;

// The decision on a due time.
struct DueRow {
  double due_at = 0;
  double decided_at = 0;  // filled in by the store
  DueResult result = DueResult::kStarted;
  std::string run_id{};
  std::string reason{};
  // The reason without the text that resumed runs added; filled in by the store.
  std::string note{};
  // Not stored: ScheduleClaim::number of a start whose slice had no present pair; the number is
  // spent.
  std::optional<std::uint64_t> spent{};
};

// A schedule with its state. controller/schedule/schedule.h defines the texts of cron, windows,
// blackouts and concurrency.
struct ScheduleRow {
  std::string name{};
  std::string suite{};
  std::string node_set{};
  bool exclusive = false;
  std::string cron{};
  std::string zone{};
  double jitter_seconds = 0;
  std::string windows{};
  std::string blackouts{};
  std::string concurrency{};
  double catch_up_seconds = 0;
  bool paused = false;
  double created_at = 0;
  std::string created_by{};
  double decided_until = 0;        // every due time up to this one is decided
  std::uint64_t started = 0;       // runs, also by hand, and slices spent; counted by the store
  std::optional<DueRow> last{};    // newest that was started, also by hand; filled in by the store
  std::uint32_t missed = 0;        // missed due times of the last 30 days; filled in by the store
  std::optional<DueRow> newest{};  // newest row of all; filled in by the store
};

// A claim of a due time for a run, stored together with the run.
struct ScheduleClaim {
  std::string schedule{};
  double due_at = 0;
  std::string reason{};
  bool by_hand = false;      // started by a person; decides no due time
  std::uint64_t number = 0;  // of this start, from 0: the schedule's `started` before it
  // Interrupted run that started the due time before; the new run takes the due time over, and the
  // claim decides and counts nothing. "": the due time is new.
  std::string resumes_run_id{};
  std::string note{};  // ends the reason that the run has from its start
};

// A due time, or a start by hand, whose run lost tasks to the end of its controller.
struct BrokenOffRow {
  std::string schedule{};
  DueRow due{};
  std::string cancelled_by{};  // who cancelled the run; "": nobody
};

}  // namespace railgauge::store
