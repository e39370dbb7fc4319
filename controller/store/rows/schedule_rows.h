// Schedules and what became of their due times, as plain values. Times are seconds since 1970 (UTC)
// by the controller's clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace railgauge::store {

// The decision on a due time. `result` is a text of DueResult.
struct DueRow {
  double due_at = 0;
  // Filled in by the store.
  double decided_at = 0;
  std::string result{};
  std::string run_id{};
  std::string reason{};
  std::string
      note{};  // the reason without the text that resumed runs added; filled in by the store
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
  // Every due time up to this one is decided.
  double decided_until = 0;
  // Runs, also by hand, and slices spent; counted by the store.
  std::uint64_t started = 0;
  // Newest that was started, also by hand; filled in by the store.
  std::optional<DueRow> last{};
  // Rows of the last 30 days that say so; likewise.
  std::uint32_t missed = 0;
  // Newest row of all; likewise.
  std::optional<DueRow> newest{};
};

// Makes the due time the run's, together with creating it.
struct ScheduleClaim {
  std::string schedule{};
  double due_at = 0;
  std::string reason{};
  // Started by a person: no due time is decided by it.
  bool by_hand = false;
  // The number of this start of the schedule, from 0: its `started` when the claim was made.
  std::uint64_t number = 0;
  // Given: the due time was started already, with that run, which was interrupted. The new run
  // takes the due time over. The claim decides and counts nothing.
  std::string resumes_run_id{};
  // Ends the reason that the run has from its start.
  std::string note{};
};

// A due time whose run lost tasks to the end of its controller.
struct BrokenOffRow {
  std::string schedule{};
  DueRow due{};
  // Who cancelled the run; "": nobody.
  std::string cancelled_by{};
};

}  // namespace railgauge::store
