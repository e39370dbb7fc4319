// From a schedule as it is written to one that can be asked.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "controller/schedule/schedule.h"
#include "kernels/core/text/text.h"

namespace railgauge::run {
namespace {

constexpr double kMaxJitterSeconds = 12 * 3600;
constexpr double kMaxCatchUpSeconds = 7 * 24 * 3600.0;
constexpr std::size_t kMaxParts = 100;  // windows, or blackouts
constexpr std::size_t kMaxNameBytes = 64;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (const auto part = trimmed(text.substr(begin, end - begin)); !part.empty())
      parts.push_back(part);
    begin = end + 1;
  }
  return parts;
}

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
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = digits(text.substr(0, 4));
  const auto month = digits(text.substr(5, 2));
  const auto day = digits(text.substr(8));
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
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

}  // namespace railgauge::run
