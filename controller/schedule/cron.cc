#include "controller/schedule/cron.h"

#include <date/tz.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <span>
#include <string>

#include <fmt/format.h>

#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::run {
namespace {

// 29 February may be nine years away, over a year like 2100.
constexpr std::int64_t kLongestWaitDays =
    std::int64_t{9} * 366;  // 29 February over a year like 2100
constexpr std::array<std::string_view, 7> kWeekdays{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};
constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};

// One of the five fields of an expression.
struct FieldKind {
  std::string_view name;
  int least;
  int most;
  std::span<const std::string_view> words{};  // of `least` and what follows
};
constexpr std::array kFields{
    FieldKind{"minute", 0, 59}, FieldKind{"hour", 0, 23}, FieldKind{"day of the month", 1, 31},
    FieldKind{"month", 1, 12, kMonths}, FieldKind{"weekday", 0, 7, kWeekdays}};

// A name for a whole expression.
struct Macro {
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array kMacros{Macro{"@hourly", "0 * * * *"}, Macro{"@daily", "0 0 * * *"},
                             Macro{"@weekly", "0 0 * * 0"}, Macro{"@monthly", "0 0 1 * *"},
                             Macro{"@yearly", "0 0 1 1 *"}};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// A number or a name within the field's bounds.
std::optional<int> number_of(std::string_view text, const FieldKind& kind) {
  const auto word = std::ranges::find(kind.words, text);
  if (word != kind.words.end()) return kind.least + static_cast<int>(word - kind.words.begin());
  if (text.empty() || text.size() > 2 ||
      !std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; }))
    return std::nullopt;
  const int value = std::stoi(std::string(text));
  return value < kind.least || value > kind.most ? std::nullopt : std::optional(value);
}

// One element of a list: "*", "7", "mon-fri", each with "/STEP".
bool add_element(std::string_view text, const FieldKind& kind, std::bitset<60>& values) {
  const std::size_t slash = text.find('/');
  int step = 1;
  if (slash != std::string_view::npos) {
    const auto given = number_of(text.substr(slash + 1), {"step", 1, 59});
    if (!given) return false;
    step = *given;
    text = text.substr(0, slash);
  }
  std::optional<int> first = kind.least;
  std::optional<int> last = kind.most;
  if (text != "*") {
    const std::size_t dash = text.find('-');
    first = number_of(text.substr(0, dash), kind);
    last = dash == std::string_view::npos ? (slash == std::string_view::npos ? first : last)
                                          : number_of(text.substr(dash + 1), kind);
  }
  if (!first || !last || *first > *last) return false;
  for (int value = *first; value <= *last; value += step)
    values.set(static_cast<std::size_t>(value));
  return true;
}

Result<std::bitset<60>> parse_field(std::string_view text, const FieldKind& kind) {
  std::bitset<60> values;
  for (const std::string_view element : pieces_of(text, ','))
    if (!add_element(element, kind, values))
      return fail(Code::kInvalidArgument,
                  fmt::format("cron: {} {}: allowed are *, {} to {}{}, ranges a-b and steps /n, "
                              "joined by commas",
                              kind.name, in_quotes(element), kind.least, kind.most,
                              kind.words.empty() ? "" : " and names of three letters"));
  return values;
}

}  // namespace

int weekday_of(std::int64_t day) {
  return static_cast<int>(((day + 4) % 7 + 7) % 7);  // 1970-01-01 was a Thursday
}

std::optional<int> parse_weekday(std::string_view word) {
  const auto found = std::ranges::find(kWeekdays, lower(word));
  if (found == kWeekdays.end()) return std::nullopt;
  return static_cast<int>(found - kWeekdays.begin());
}

Result<Cron> parse_cron(std::string_view text) {
  std::string plain = lower(text);
  for (const Macro& macro : kMacros)
    if (plain == macro.name) plain = macro.meaning;
  const std::vector<std::string_view> fields = words_of(plain);
  if (fields.size() != kFields.size())
    return fail(Code::kInvalidArgument,
                fmt::format("cron {}: {} field{}, five are wanted: minute hour day month weekday, "
                            "or @hourly, @daily, @weekly, @monthly, @yearly",
                            in_quotes(text), fields.size(), fields.size() == 1 ? "" : "s"));
  std::array<std::bitset<60>, kFields.size()> values;
  for (std::size_t i = 0; i < kFields.size(); ++i)
    values[i] = RG_TRY(parse_field(fields[i], kFields[i]));
  Cron cron;
  for (int minute = 0; minute < 24 * 60; ++minute)
    if (values[1].test(static_cast<std::size_t>(minute / 60)) &&
        values[0].test(static_cast<std::size_t>(minute % 60)))
      cron.minutes_of_day.push_back(minute);
  for (std::size_t i = 1; i <= 31; ++i) cron.days.set(i, values[2].test(i));
  for (std::size_t i = 1; i <= 12; ++i) cron.months.set(i, values[3].test(i));
  for (std::size_t i = 0; i < 7; ++i)
    cron.weekdays.set(i, values[4].test(i) || (i == 0 && values[4].test(7)));
  cron.either_day = !fields[2].starts_with('*') && !fields[4].starts_with('*');
  return cron;
}

bool Cron::has_day(std::int64_t day) const {
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(day)))};
  if (!months.test(static_cast<unsigned>(date.month()))) return false;
  const bool by_date = days.test(static_cast<unsigned>(date.day()));
  const bool by_weekday = weekdays.test(static_cast<std::size_t>(weekday_of(day)));
  return either_day ? by_date || by_weekday : by_date && by_weekday;
}

std::optional<double> next_due(const Cron& cron, const TimeZone& zone, double after) {
  // Two days back: a place may skip a whole day, and what is skipped is due later.
  const std::int64_t first = zone.wall_time(after).day - 2;
  for (std::int64_t day = first; day < first + kLongestWaitDays; ++day) {
    if (!cron.has_day(day)) continue;
    const auto due = std::ranges::partition_point(cron.minutes_of_day, [&](int minute) {
      return zone.unix_seconds({day, minute}) <= after;
    });
    if (due != cron.minutes_of_day.end()) return zone.unix_seconds({day, *due});
  }
  return std::nullopt;
}

namespace {

// Those of this host; none without tzdata.
std::vector<std::string> zone_names() {
  std::vector<std::string> names;
  try {
    for (const auto& zone : date::get_tzdb().zones) names.emplace_back(zone.name());
  } catch (const std::exception&) {
  }
  return names;
}

}  // namespace

// UTC is null: it is there without tzdata too, as in a small container.
Result<TimeZone> TimeZone::find(const std::string& name) {
  if (name == "UTC") return TimeZone(nullptr);
  try {
    return TimeZone(date::locate_zone(name));
  } catch (const std::exception&) {
    std::string hint = did_you_mean(name, zone_names());
    if (hint.empty()) hint = "; examples are UTC and Europe/Berlin";
    return fail(Code::kInvalidArgument,
                fmt::format("time zone {}: this host's tzdata has none of that name{}",
                            in_quotes(name), hint));
  }
}

WallTime TimeZone::wall_time(double unix_seconds) const {
  const date::sys_seconds moment{
      std::chrono::seconds(static_cast<std::int64_t>(std::floor(unix_seconds)))};
  const date::local_seconds local =
      zone_ == nullptr ? date::local_seconds(moment.time_since_epoch()) : zone_->to_local(moment);
  const date::local_days day = date::floor<date::days>(local);
  return {day.time_since_epoch().count(),
          static_cast<int>(std::chrono::duration_cast<std::chrono::minutes>(local - day).count())};
}

double TimeZone::unix_seconds(WallTime wall) const {
  const date::local_seconds local{std::chrono::hours(24 * wall.day) +
                                  std::chrono::minutes(wall.minute)};
  if (zone_ == nullptr) return static_cast<double>(local.time_since_epoch().count());
  const date::local_info info = zone_->get_info(local);
  const date::sys_seconds moment =
      info.result == date::local_info::nonexistent
          ? info.first.end
          : date::sys_seconds(local.time_since_epoch() - info.first.offset);
  return static_cast<double>(moment.time_since_epoch().count());
}

}  // namespace railgauge::run
