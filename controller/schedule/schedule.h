// Decides when a schedule starts its suite, and when it skips a due time. Pure: the caller passes
// the time, and the state from the store.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/schedule/cron.h"

namespace railgauge::run {

// A schedule as a person writes it.
struct ScheduleText {
  std::string name{};
  std::string cron{};
  std::string zone = "UTC";
  // A start is delayed by up to this time, in seconds. It stays before the next due time, within
  // the window, and outside blackout days. The delay is the same for all due times of a day.
  double jitter_seconds = 0;
  // "mon-fri 22:00-06:00; sat,sun": a run may begin only within a window. A window that ends on the
  // next day belongs to the day on which it begins. "": always.
  std::string windows{};
  std::string blackouts{};  // "2026-12-24, 2026-12-31..2027-01-02": days of the zone without runs
  // If the previous run is still under way: "skip" this due time, "queue" behind the run, or
  // "replace" the run.
  std::string concurrency = "skip";
  // The newest missed due time starts late if it is at most this old, in seconds; 0: never.
  double catch_up_seconds = 0;
};

// A time of day on some weekdays.
struct Window {
  std::array<bool, 7> weekdays{};  // 0 is Sunday
  int from_minute = 0;             // of the day
  int to_minute = 24 * 60;         // not above from_minute: on the next day
};

enum class Concurrency : std::uint8_t { kSkip, kQueue, kReplace };

// A compiled schedule; the fields are those of ScheduleText.
struct Schedule {
  std::string name{};
  Cron cron{};
  TimeZone zone;
  double jitter_seconds = 0;
  std::vector<Window> windows{};
  std::vector<std::pair<std::int64_t, std::int64_t>> blackouts{};  // first and last day, since 1970
  Concurrency concurrency = Concurrency::kSkip;
  double catch_up_seconds = 0;
};

// Compiles a schedule. kInvalidArgument: one line with the wrong part and the allowed values.
Result<Schedule> compile(const ScheduleText& text);

// A due time and the planned begin of its run.
struct Due {
  double due_at = 0;
  double start_at = 0;
};

struct Decision {
  enum class Kind : std::uint8_t {
    kStart,
    kSkip,  // by the schedule's own rules
    kMiss,  // no controller was up, or the start failed
  };
  Kind kind = Kind::kStart;
  double due_at = 0;     // the decision covers every due time up to this one
  std::string reason{};  // one line; "" for an ordinary start
  bool replace = false;  // cancel the previous run
};

// The state of a schedule in the store.
struct ScheduleState {
  double decided_until = 0;    // the newest due time that was decided
  bool run_under_way = false;  // the previous run of this schedule
};

// A start that is at most this late is in time, in seconds: the controller may have restarted.
inline constexpr double kInTimeSeconds = 300;

// An interrupted run is resumed at most this long after its start, in seconds, or as long as the
// schedule catches up, if that is longer.
inline constexpr double kResumeSeconds = 6 * 3600;

// Returns the decisions on all due times up to `now`, in order. A start is the last decision: later
// due times are decided after the start was carried out.
std::vector<Decision> decide(const Schedule& schedule, const ScheduleState& state, double now);

// Returns the reason, in a few words, why an interrupted run that was due at `due_at` may not be
// resumed now; "": it may. Windows and blackouts do not bind a run that a person began, `by_hand`.
std::string reason_not_to_resume(const Schedule& schedule, double due_at, double now,
                                 bool by_hand = false);

// The next due time after `after` at which a run begins, outside blackouts and within windows.
std::optional<Due> next_start(const Schedule& schedule, double after);

// The longest time between two of the next 15 starts, in seconds; absent with fewer than two.
std::optional<double> longest_pause(const Schedule& schedule, double after);

// Reports whether a run may begin at that moment. Without windows it always may.
bool in_window(const Schedule& schedule, double unix_seconds);
// Reports whether the moment is on a blackout day of the schedule's zone.
bool in_blackout(const Schedule& schedule, double due_at);
// The delay of a start, in seconds. It depends only on name, day and settings, so it is the same
// after a restart. It never reaches the next due time, nor a moment at which no run may begin.
double jitter_of(const Schedule& schedule, double due_at);

}  // namespace railgauge::run
