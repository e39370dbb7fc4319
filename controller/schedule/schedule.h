// What a schedule wants at a given moment. Pure: the time is passed in, the state comes from the
// store.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/schedule/cron.h"

namespace railgauge::run {

// As a person writes it.
struct ScheduleText {
  std::string name{};
  std::string cron{};
  std::string zone = "UTC";
  // At most so long after the due time, and before the next one and the end of the window and of a
  // day without blackout; the same for all of a day's as far as there is room.
  double jitter_seconds = 0;
  // "mon-fri 22:00-06:00; sat,sun": a run may begin only within one. One that ends on the next day
  // belongs to the day on which it begins. "": always.
  std::string windows{};
  std::string blackouts{};  // "2026-12-24, 2026-12-31..2027-01-02": days of the zone without runs
  // When its run before is still under way: "skip" this due time, "queue" behind it, or "replace"
  // it.
  std::string concurrency = "skip";
  // The newest missed due time is made up for when it is at most so old; 0: never.
  double catch_up_seconds = 0;
};

struct Window {
  std::array<bool, 7> weekdays{};  // 0 is Sunday
  int from_minute = 0;             // of the day
  int to_minute = 24 * 60;         // not above from_minute: on the next day
};

enum class Concurrency : std::uint8_t { kSkip, kQueue, kReplace };

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

// kInvalidArgument, one line that says which part is wrong and what is allowed.
Result<Schedule> compile(const ScheduleText& text);

// A due time and when its run is to begin.
struct Due {
  double due_at = 0;
  double start_at = 0;
};

struct Decision {
  enum class Kind : std::uint8_t {
    kStart,
    kSkip,  // as the schedule wants it
    kMiss,  // nobody was there, or it could not be started
  };
  Kind kind = Kind::kStart;
  double due_at = 0;     // everything up to here is decided by this
  std::string reason{};  // in one line; of a start only when something is special about it
  bool replace = false;  // cancel the run before first
};

struct ScheduleState {
  double decided_until = 0;    // the newest due time that was decided
  bool run_under_way = false;  // the run of this schedule before
};

// A start so much later than it should be still counts as in time: the controller was restarted.
inline constexpr double kInTimeSeconds = 300;

// So long after its start a run that its controller's end broke off is still gone on with; longer
// where the schedule catches up later than that.
inline constexpr double kGoOnSeconds = 6 * 3600;

// What became due up to `now`, in order. A start stands last: what follows it is decided once it
// was carried out.
std::vector<Decision> decide(const Schedule& schedule, const ScheduleState& state, double now);

// Why the rest of a broken-off run that was due then may not begin now, in a few words; "": it may.
std::string why_not_go_on(const Schedule& schedule, double due_at, double now);

// The next due time after `after` at which a run is to begin; blackouts and windows are taken off.
std::optional<Due> next_start(const Schedule& schedule, double after);

// The longest time between two of the next starts, as many as a fortnight of nights; nothing where
// there is at most one more.
std::optional<double> longest_pause(const Schedule& schedule, double after);

bool in_window(const Schedule& schedule, double unix_seconds);
bool in_blackout(const Schedule& schedule, double due_at);
// By name, day and the schedule's own settings alone, so that it is the same after a restart. Never
// beyond the next due time, or starts would change places, nor to where no run may begin.
double jitter_of(const Schedule& schedule, double due_at);

}  // namespace railgauge::run
