// Schedules and what became of their due times, as plain values. Times are seconds since 1970 (UTC)
// by the controller's clock.
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
  // Not stored: ScheduleClaim::number of the start that found nobody of its slice, which is spent.
  std::optional<std::uint64_t> spent{};
};

// The words of cron, windows and the like are the schedule's own (controller/schedule/schedule.h).
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
  std::uint32_t missed = 0;        // rows of the last 30 days that say so; likewise
  std::optional<DueRow> newest{};  // newest row of all; likewise
};

// Makes the due time the run's, together with creating it.
struct ScheduleClaim {
  std::string schedule{};
  double due_at = 0;
  std::string reason{};
  bool by_hand = false;      // started by a person: no due time is decided by it
  std::uint64_t number = 0;  // of the schedule's starts, from 0: its `started` when this was made
  // Given: the due time was started already, with that run, which was interrupted. The new run
  // takes the due time over. The claim decides and counts nothing.
  std::string resumes_run_id{};
  std::string note{};  // ends the reason that the run has from its start
};

// A due time whose run lost tasks to the end of its controller.
struct BrokenOffRow {
  std::string schedule{};
  DueRow due{};
  std::string cancelled_by{};  // who cancelled the run; "": nobody
};

}  // namespace railgauge::store
