#include "controller/schedule/schedule.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace railgauge::run {
namespace {

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

}  // namespace

namespace {

// For how long after the due time a run may begin, in whole seconds, at most the jitter.
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

// What a run that is to begin now meets.
Decision decide_start(const Schedule& schedule, const ScheduleState& state, double due_at,
                      double now) {
  using Kind = Decision::Kind;
  if (!in_window(schedule, now)) return {Kind::kSkip, due_at, "outside its windows"};
  if (state.run_under_way && schedule.concurrency == Concurrency::kSkip)
    return {Kind::kSkip, due_at, "its run before was still under way"};
  return {Kind::kStart, due_at, "",
          state.run_under_way && schedule.concurrency == Concurrency::kReplace};
}

std::string missed_text(std::size_t count) {
  if (count == 1) return "a due time passed without a start";
  return fmt::format("{}{} due times passed without a start", count,
                     count >= kMaxMissesLookedAt ? " or more" : "");
}

// What to do about due times for which it is too late.
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
      if (missed > 0)  // this start makes up for them
        decisions.push_back({Decision::Kind::kMiss, newest_missed, missed_text(missed)});
      decisions.push_back(decide_start(schedule, state, *due, now));
      if (decisions.back().kind == Decision::Kind::kStart) return decisions;
      missed = 0;
      continue;
    }
    newest_missed = *due;
    // After a long absence the oldest ones are not looked at one by one.
    if (++missed == kMaxMissesLookedAt) after = std::max(after, now - 2 * 24 * 3600.0);
  }
  if (missed > 0) decisions.push_back(decide_missed(schedule, state, newest_missed, missed, now));
  return decisions;
}

std::string why_not_go_on(const Schedule& schedule, double due_at, double now) {
  if (!in_window(schedule, now)) return "it is outside the schedule's windows";
  if (in_blackout(schedule, now)) return "it is a blackout day";
  // Behind the newer one only where each due time is to have its run.
  if (schedule.concurrency != Concurrency::kQueue)
    if (const auto next = next_start(schedule, due_at); next && next->start_at <= now)
      return "the next due time has come";
  const double started_at = due_at + jitter_of(schedule, due_at);
  if (now <= std::max(started_at + kGoOnSeconds, due_at + schedule.catch_up_seconds)) return "";
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
