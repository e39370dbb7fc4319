#include "controller/schedule/schedule.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "kernels/core/text/lines.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::run {
namespace {

// Bounds of searches over due times: a schedule for every minute may be off for a year.
constexpr std::size_t kMaxMissesLookedAt = 1'000;
constexpr int kMaxStartsLookedAt = 5'000;
constexpr int kStartsOfPause = 15;

// FNV-1a and a finishing mix: stable over versions and machines.
std::uint64_t seed_of(const std::string& name, std::int64_t day) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const std::string text = fmt::format("{}/{}", name, day);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 31U;
  hash *= 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29U);
}

std::string duration_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

constexpr double kMaxJitterSeconds = 12 * 3600;
constexpr double kMaxCatchUpSeconds = 7 * 24 * 3600.0;
constexpr std::size_t kMaxParts = 100;  // windows, or blackouts
constexpr std::size_t kMaxNameBytes = 64;

// The parts between separators, trimmed; empty parts are dropped.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const std::string_view piece : pieces_of(text, separator))
    if (const std::string_view part = trimmed(piece); !part.empty()) parts.push_back(part);
  return parts;
}

// A decimal number without sign; absent for anything else.
std::optional<int> digits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || value < 0)
    return std::nullopt;
  return value;
}

// "22:00", up to "24:00".
std::optional<int> minute_of(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hour = digits(text.substr(0, 2));
  const auto minute = digits(text.substr(3));
  if (!hour || !minute || *minute > 59 || *hour * 60 + *minute > 24 * 60) return std::nullopt;
  return *hour * 60 + *minute;
}

// "mon-fri,sun"; a range may cross the end of the week.
bool add_weekdays(std::string_view text, Window& window) {
  for (const std::string_view part : parts_of(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_weekday(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_weekday(part.substr(dash + 1));
    if (!first || !last) return false;
    for (int day = *first;; day = (day + 1) % 7) {
      window.weekdays[static_cast<std::size_t>(day)] = true;
      if (day == *last) break;
    }
  }
  return true;
}

// "mon-fri 22:00-06:00", "sat,sun" or "22:00-06:00".
std::optional<Window> window_of(std::string_view text) {
  Window window;
  const std::size_t blank = text.rfind(' ');
  const std::string_view last = blank == std::string_view::npos ? text : text.substr(blank + 1);
  std::string_view days = text;
  if (last.find(':') != std::string_view::npos) {
    const std::size_t dash = last.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const auto from = minute_of(last.substr(0, dash));
    const auto to = minute_of(last.substr(dash + 1));
    if (!from || !to || *from == 24 * 60) return std::nullopt;
    window.from_minute = *from;
    window.to_minute = *to;
    days = blank == std::string_view::npos ? "" : trimmed(text.substr(0, blank));
  }
  if (days.empty())
    window.weekdays.fill(true);
  else if (!add_weekdays(days, window))
    return std::nullopt;
  return window;
}

// "2026-12-24" as days since 1970.
std::optional<std::int64_t> day_of(std::string_view text) {
  const auto seconds = text.size() == 10 ? parse_calendar(text) : std::nullopt;
  if (!seconds) return std::nullopt;
  return static_cast<std::int64_t>(*seconds) / 86'400;
}

Status add_blackouts(const std::string& text, Schedule& schedule) {
  for (const std::string_view part : parts_of(text, ',')) {
    const std::size_t dots = part.find("..");
    const auto first = day_of(trimmed(part.substr(0, dots)));
    const auto last =
        dots == std::string_view::npos ? first : day_of(trimmed(part.substr(dots + 2)));
    if (!first || !last || *last < *first || schedule.blackouts.size() >= kMaxParts)
      return fail(Code::kInvalidArgument,
                  fmt::format("blackout {}: allowed are days and ranges of days, 2026-12-24 or "
                              "2026-12-24..2026-12-26, joined by commas, {} at most",
                              in_quotes(part), kMaxParts));
    schedule.blackouts.emplace_back(*first, *last);
  }
  return {};
}

Status add_windows(const std::string& text, Schedule& schedule) {
  for (const std::string_view part : parts_of(text, ';')) {
    const auto window = window_of(part);
    if (!window || schedule.windows.size() >= kMaxParts)
      return fail(Code::kInvalidArgument,
                  fmt::format("window {}: allowed are weekdays, times or both, mon-fri "
                              "22:00-06:00, joined by semicolons, {} at most",
                              in_quotes(part), kMaxParts));
    schedule.windows.push_back(*window);
  }
  return {};
}

Status check_name(const std::string& name) {
  const bool fine = !name.empty() && name.size() <= kMaxNameBytes &&
                    std::ranges::all_of(name, [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                    });
  if (fine) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("schedule name {}: allowed are letters, digits, - _ . and {} of them",
                          in_quotes(name), kMaxNameBytes));
}

}  // namespace

Result<Schedule> compile(const ScheduleText& text) {
  RG_TRY_OK(check_name(text.name));
  Schedule schedule{.name = text.name,
                    .cron = RG_TRY(parse_cron(text.cron)),
                    .zone = RG_TRY(TimeZone::find(text.zone)),
                    .jitter_seconds = text.jitter_seconds,
                    .catch_up_seconds = text.catch_up_seconds};
  if (!(text.jitter_seconds >= 0 && text.jitter_seconds <= kMaxJitterSeconds))
    return fail(Code::kInvalidArgument, fmt::format("jitter of {} s: allowed are 0 to {:.0f} h",
                                                    text.jitter_seconds, kMaxJitterSeconds / 3600));
  if (!(text.catch_up_seconds >= 0 && text.catch_up_seconds <= kMaxCatchUpSeconds))
    return fail(Code::kInvalidArgument,
                fmt::format("catch-up of {} s: allowed are 0 to {:.0f} h", text.catch_up_seconds,
                            kMaxCatchUpSeconds / 3600));
  RG_TRY_OK(add_windows(text.windows, schedule));
  RG_TRY_OK(add_blackouts(text.blackouts, schedule));
  if (text.concurrency == "queue") schedule.concurrency = Concurrency::kQueue;
  if (text.concurrency == "replace") schedule.concurrency = Concurrency::kReplace;
  if (text.concurrency != "skip" && text.concurrency != "queue" && text.concurrency != "replace")
    return fail(Code::kInvalidArgument,
                fmt::format("concurrency {}: allowed are skip, queue, replace",
                            in_quotes(text.concurrency)));
  if (!next_due(schedule.cron, schedule.zone, 0))
    return fail(Code::kInvalidArgument,
                fmt::format("cron {}: never due: no such day", in_quotes(text.cron)));
  return schedule;
}

namespace {

// How long after the due time a run may begin: whole seconds, at most the jitter.
double room_of(const Schedule& schedule, double due_at) {
  double room = std::floor(schedule.jitter_seconds);
  if (const auto next = next_due(schedule.cron, schedule.zone, due_at))
    room = std::min(room, std::max(0.0, std::floor(*next - due_at) - 1));
  if (schedule.windows.empty() && schedule.blackouts.empty()) return room;
  if (!in_window(schedule, due_at) || in_blackout(schedule, due_at)) return room;  // skipped anyway
  constexpr double kStep = 60;  // windows and days end at whole minutes, as due times are
  for (double later = kStep; later <= room; later += kStep)
    if (!in_window(schedule, due_at + later) || in_blackout(schedule, due_at + later))
      return later - 1;
  return room;
}

}  // namespace

double jitter_of(const Schedule& schedule, double due_at) {
  if (schedule.jitter_seconds < 1) return 0;
  const std::uint64_t seed = seed_of(schedule.name, schedule.zone.wall_time(due_at).day);
  return static_cast<double>(seed % (static_cast<std::uint64_t>(room_of(schedule, due_at)) + 1));
}

bool in_blackout(const Schedule& schedule, double due_at) {
  const std::int64_t day = schedule.zone.wall_time(due_at).day;
  return std::ranges::any_of(schedule.blackouts, [day](const auto& range) {
    return day >= range.first && day <= range.second;
  });
}

bool in_window(const Schedule& schedule, double unix_seconds) {
  if (schedule.windows.empty()) return true;
  const WallTime wall = schedule.zone.wall_time(unix_seconds);
  const auto today = static_cast<std::size_t>(weekday_of(wall.day));
  const std::size_t yesterday = (today + 6) % 7;
  return std::ranges::any_of(schedule.windows, [&](const Window& window) {
    const bool overnight = window.to_minute <= window.from_minute;
    if (window.weekdays[today] && wall.minute >= window.from_minute &&
        (overnight || wall.minute < window.to_minute))
      return true;
    return overnight && window.weekdays[yesterday] && wall.minute < window.to_minute;
  });
}

namespace {

// The decision on a run that would begin now.
Decision decide_start(const Schedule& schedule, const ScheduleState& state, double due_at,
                      double now) {
  using Kind = Decision::Kind;
  if (!in_window(schedule, now)) return {Kind::kSkip, due_at, "outside its windows"};
  if (state.run_under_way && schedule.concurrency == Concurrency::kSkip)
    return {Kind::kSkip, due_at, "its previous run was still under way"};
  return {Kind::kStart, due_at, "",
          state.run_under_way && schedule.concurrency == Concurrency::kReplace};
}

std::string missed_text(std::size_t count) {
  if (count == 1) return "a due time passed without a start";
  return fmt::format("{}{} due times passed without a start", count,
                     count >= kMaxMissesLookedAt ? " or more" : "");
}

// The decision on due times for which it is too late.
Decision decide_missed(const Schedule& schedule, const ScheduleState& state, double newest,
                       std::size_t count, double now) {
  const double late = now - newest;
  const std::string missed =
      fmt::format("{}, the newest {} ago", missed_text(count), duration_text(late));
  if (late > schedule.catch_up_seconds) return {Decision::Kind::kMiss, newest, missed};
  Decision decision = decide_start(schedule, state, newest, now);
  decision.reason = decision.kind == Decision::Kind::kStart
                        ? fmt::format("made up for: {}", missed)
                        : fmt::format("{}; not made up for, {}", missed, decision.reason);
  if (decision.kind == Decision::Kind::kSkip) decision.kind = Decision::Kind::kMiss;
  return decision;
}

}  // namespace

// Walks the due times from the last decision to `now`.
std::vector<Decision> decide(const Schedule& schedule, const ScheduleState& state, double now) {
  std::vector<Decision> decisions;
  double newest_missed = 0;
  std::size_t missed = 0;
  double after = state.decided_until;
  while (true) {
    const auto due = next_due(schedule.cron, schedule.zone, after);
    if (!due || now < *due + jitter_of(schedule, *due)) break;
    after = *due;
    if (in_blackout(schedule, *due)) {
      if (missed == 0) decisions.push_back({Decision::Kind::kSkip, *due, "a blackout day"});
      continue;
    }
    if (now <= *due + jitter_of(schedule, *due) + kInTimeSeconds) {
      if (missed > 0)  // this start replaces them
        decisions.push_back({Decision::Kind::kMiss, newest_missed, missed_text(missed)});
      decisions.push_back(decide_start(schedule, state, *due, now));
      if (decisions.back().kind == Decision::Kind::kStart) return decisions;
      missed = 0;
      continue;
    }
    newest_missed = *due;
    // After a long absence the oldest due times are skipped in one step.
    if (++missed == kMaxMissesLookedAt) after = std::max(after, now - 2 * 24 * 3600.0);
  }
  if (missed > 0) decisions.push_back(decide_missed(schedule, state, newest_missed, missed, now));
  return decisions;
}

std::string reason_not_to_resume(const Schedule& schedule, double due_at, double now,
                                 bool by_hand) {
  if (!by_hand && !in_window(schedule, now)) return "it is outside the schedule's windows";
  if (!by_hand && in_blackout(schedule, now)) return "it is a blackout day";
  // Only with kQueue does each due time get its run, so only then may it start behind a newer one.
  if (schedule.concurrency != Concurrency::kQueue)
    if (const auto next = next_start(schedule, due_at); next && next->start_at <= now)
      return "the next due time has come";
  const double started_at = due_at + (by_hand ? 0 : jitter_of(schedule, due_at));
  if (now <= std::max(started_at + kResumeSeconds, due_at + schedule.catch_up_seconds)) return "";
  return fmt::format("it began {} ago", duration_text(now - started_at));
}

std::optional<Due> next_start(const Schedule& schedule, double after) {
  for (int i = 0; i < kMaxStartsLookedAt; ++i) {
    const auto due = next_due(schedule.cron, schedule.zone, after);
    if (!due) return std::nullopt;
    const double start = *due + jitter_of(schedule, *due);
    if (!in_blackout(schedule, *due) && in_window(schedule, start)) return Due{*due, start};
    after = *due;
  }
  return std::nullopt;
}

std::optional<double> longest_pause(const Schedule& schedule, double after) {
  std::optional<double> longest;
  auto start = next_start(schedule, after);
  for (int i = 1; start && i < kStartsOfPause; ++i) {
    const auto next = next_start(schedule, start->due_at);
    if (next) longest = std::max(longest.value_or(0), next->due_at - start->due_at);
    start = next;
  }
  return longest;
}

}  // namespace railgauge::run
