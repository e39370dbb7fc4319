#include "controller/cli/input/archive_inputs.h"

#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

// A calendar time in UTC, to its end.
std::optional<double> parse_calendar(const std::string& text) {
  for (const char* form :
       {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"}) {
    std::tm parts{};
    const char* end = ::strptime(text.c_str(), form, &parts);
    if (end != nullptr && *end == '\0') return static_cast<double>(::timegm(&parts));
  }
  return std::nullopt;
}

}  // namespace

Result<double> parse_time(const std::string& text, double now_unix_seconds) {
  if (const auto calendar = parse_calendar(text)) return *calendar;
  if (const auto ago_ns = parse_duration_ns(text)) return now_unix_seconds - *ago_ns / 1e9;
  return fail(Code::kInvalidArgument,
              fmt::format("{} is no time: 24h (ago), 2026-11-20 or 2026-11-20T12:00:00Z are",
                          in_quotes(text)));
}

Result<std::optional<double>> time_of(const Arguments& arguments, std::string_view name) {
  if (!arguments.has(name)) return std::nullopt;
  const auto seconds = parse_time(arguments.value(name), static_cast<double>(std::time(nullptr)));
  if (!seconds)
    return fail(seconds.error().code, fmt::format("--{}: {}", name, seconds.error().message));
  return std::optional<double>(*seconds);
}

Result<std::optional<double>> number_of(const Arguments& arguments, std::string_view name) {
  if (!arguments.has(name)) return std::nullopt;
  const auto number = parse_integer(arguments.value(name));
  if (!number || *number < 0)
    return fail(Code::kInvalidArgument, fmt::format("--{}: {} is no whole number from 0 on", name,
                                                    in_quotes(arguments.value(name))));
  return std::optional<double>(static_cast<double>(*number));
}

Result<std::uint32_t> series_number(const std::string& word) {
  const auto number = parse_integer(word);
  if (!number || *number < 1 || *number > INT32_MAX)
    return fail(
        Code::kInvalidArgument,
        fmt::format("series {}: it is a number; railgauge history lists them", in_quotes(word)));
  return static_cast<std::uint32_t>(*number);
}

Result<railgauge::api::PointsRequest> points_request(const Arguments& arguments) {
  railgauge::api::PointsRequest request;
  request.set_run_id(arguments.operand(0));
  request.set_kernel(arguments.value("kernel"));
  request.set_metric(arguments.value("metric"));
  request.set_node_set(arguments.value("nodes"));
  request.set_endpoint(arguments.value("endpoint"));
  request.set_stack(arguments.value("stack"));
  request.set_all_attempts(arguments.has("all-attempts"));
  if (arguments.has("size")) {
    const auto bytes = parse_bytes(arguments.value("size"));
    if (!bytes) return fail(bytes.error().code, "--size: " + bytes.error().message);
    request.set_message_bytes(static_cast<double>(*bytes));
  }
  if (const auto rail = RG_TRY(number_of(arguments, "rail")))
    request.set_rail(static_cast<std::int32_t>(*rail));
  if (arguments.has("series"))
    request.set_series_id(RG_TRY(series_number(arguments.value("series"))));
  if (const auto since = RG_TRY(time_of(arguments, "since")))
    request.set_since_unix_seconds(*since);
  if (const auto until = RG_TRY(time_of(arguments, "until")))
    request.set_until_unix_seconds(*until);
  return request;
}

}  // namespace railgauge::cli
