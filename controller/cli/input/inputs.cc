#include "controller/cli/input/inputs.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

#include "controller/plan/topology/node_set.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

constexpr std::size_t kMaxFileBytes = 1U << 20U;

// The file's node sets, joined by commas.
Result<std::string> read_node_set(const std::string& path) {
  const std::string text = RG_TRY(read_file(path));
  std::string set;
  for (const std::string_view given : lines_of(text)) {
    // Comments and blanks are dropped; sets on several lines are joined.
    std::string line(without_comment(given));
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
    if (!line.empty()) set += (set.empty() ? "" : ",") + line;
  }
  if (set.empty())
    return fail(Code::kInvalidArgument, fmt::format("--nodes-file {}: names no node", path));
  return set;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof())
    return fail(Code::kInvalidArgument, fmt::format("{}: read: {}", path, std::strerror(errno)));
  text.resize(static_cast<std::size_t>(file.gcount()));
  // One byte more than allowed was asked for, so that a longer file is recognised.
  if (text.size() > kMaxFileBytes)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: more than {}, too much", path, canonical_bytes(kMaxFileBytes)));
  return text;
}

// Exactly one of the three ways may be used: an ignored set would measure other nodes than asked
// for.
Result<std::string> node_set_of(const Arguments& arguments, std::size_t index) {
  const std::string operand = arguments.operand(index);
  const int given = (arguments.operands.size() > index ? 1 : 0) + (arguments.has("nodes") ? 1 : 0) +
                    (arguments.has("nodes-file") ? 1 : 0);
  if (given > 1)
    return fail(Code::kInvalidArgument,
                "more than one node set: give NODESET, --nodes or --nodes-file");
  std::string set;
  if (arguments.has("nodes-file"))
    set = RG_TRY(read_node_set(arguments.value("nodes-file")));
  else if (given > 0)
    set = arguments.has("nodes") ? arguments.value("nodes") : operand;
  if (given > 0 && set.empty()) return fail(Code::kInvalidArgument, "the node set is empty");
  return and_labels(arguments, std::move(set));
}

Result<std::string> node_set_of(const Arguments& arguments) {
  return node_set_of(arguments, arguments.operands.size());
}

Result<std::string> and_labels(const Arguments& arguments, std::string node_set) {
  if (!arguments.has("labels")) return node_set;
  const auto labels = parse_labels(arguments.value("labels"));
  if (!labels) return fail(Code::kInvalidArgument, "-l: " + labels.error().message);
  if (labels->empty()) return fail(Code::kInvalidArgument, "-l: names no label, as in rack=rack7");
  return plan::with_labels(node_set, label_text(*labels));
}

// A file is sent as text, because the controller may run on another host and cannot open it.
Result<api::SuiteSource> suite_source(const std::string& word) {
  api::SuiteSource source;
  // A name is looked up by the controller, which has its own folder.
  if (word.find('/') == std::string::npos && !word.ends_with(".yaml") && !word.ends_with(".yml")) {
    source.set_name(word);
    return source;
  }
  std::string text = RG_TRY(read_file(word));
  // Messages carry UTF-8 alone.
  if (const auto at = first_outside_utf8(text))
    return fail(Code::kInvalidArgument,
                fmt::format("{}: byte {} is not UTF-8; save the file as UTF-8", word, *at + 1));
  source.set_text(std::move(text));
  source.set_file_name(word);
  return source;
}

// A slice of a suite by name is part of the name ("nightly:3/96"); of a file it is one more line of
// YAML.
Result<api::SuiteSource> suite_to_run(const Arguments& arguments) {
  auto source = RG_TRY(suite_source(arguments.operand(0)));
  if (!arguments.has("slice")) return source;
  const std::string& slice = arguments.value("slice");
  if (slice.empty() || slice.find_first_not_of("0123456789/") != std::string::npos)
    return fail(Code::kInvalidArgument,
                fmt::format("--slice: {} is no K/N, as in 3/96", in_quotes(slice)));
  if (source.text().empty())
    source.set_name(fmt::format("{}:{}", source.name(), slice));
  else
    source.set_text(fmt::format("{}\nslice: {}\n", source.text(), slice));
  return source;
}

// The upper bound keeps the number inside 32 bits; the controller has limits of its own.
Result<std::uint32_t> count_of(const Arguments& arguments, std::string_view name,
                               std::uint32_t otherwise) {
  if (!arguments.has(name)) return otherwise;
  constexpr std::int64_t kMost = 100'000'000;
  const auto number = parse_integer(arguments.value(name));
  if (!number || *number < 1 || *number > kMost)
    return fail(Code::kInvalidArgument, fmt::format("--{}: {} is no count from 1 to {}", name,
                                                    in_quotes(arguments.value(name)), kMost));
  return static_cast<std::uint32_t>(*number);
}

// The flag's name is put in front of the parser's message.
Result<double> seconds_of(const Arguments& arguments, std::string_view name, double otherwise) {
  if (!arguments.has(name)) return otherwise;
  const auto ns = parse_duration_ns(arguments.value(name));
  if (!ns) return fail(ns.error().code, fmt::format("--{}: {}", name, ns.error().message));
  return *ns / 1e9;
}

// A date first: "2026-11-20" is no duration, so the two forms cannot be confused.
Result<double> parse_time(const std::string& text, double now_unix_seconds) {
  constexpr std::size_t kDateBytes = 10;  // a month alone is no time here
  const auto calendar = text.size() < kDateBytes ? std::nullopt : parse_calendar(text);
  if (calendar) return *calendar;
  if (const auto ago_ns = parse_duration_ns(text)) return now_unix_seconds - *ago_ns / 1e9;
  return fail(Code::kInvalidArgument,
              fmt::format("{} is no time: 24h (ago), 2026-11-20 or 2026-11-20T12:00:00Z are",
                          in_quotes(text)));
}

// Durations count back from now, by the clock of this host.
Result<std::optional<double>> time_of(const Arguments& arguments, std::string_view name) {
  if (!arguments.has(name)) return std::nullopt;
  const auto seconds = parse_time(arguments.value(name), static_cast<double>(std::time(nullptr)));
  if (!seconds)
    return fail(seconds.error().code, fmt::format("--{}: {}", name, seconds.error().message));
  return std::optional<double>(*seconds);
}

Result<std::optional<double>> time_of(Session& session, const Arguments& arguments,
                                      std::string_view name) {
  const auto here = RG_TRY(time_of(arguments, name));
  // Another now gives another time where it is "24h" ago, and the same where it is a date.
  const bool is_date = here && parse_time(arguments.value(name), *here - 1e6).value_or(0) == *here;
  if (!here || is_date) return here;
  const auto told = call(session, rpc::kGetInstallation, api::InstallationRequest());
  const auto now = told ? parse_calendar(told->now_at()) : std::nullopt;
  if (!now) return here;
  return RG_TRY(parse_time(arguments.value(name), *now));
}

// A double because the requests carry optional numbers as doubles.
Result<std::optional<double>> number_of(const Arguments& arguments, std::string_view name) {
  if (!arguments.has(name)) return std::nullopt;
  const auto number = parse_integer(arguments.value(name));
  if (!number || *number < 0)
    return fail(Code::kInvalidArgument, fmt::format("--{}: {} is no whole number from 0 on", name,
                                                    in_quotes(arguments.value(name))));
  return std::optional<double>(static_cast<double>(*number));
}

// Series are numbered from 1 by the store.
Result<std::uint32_t> series_number(const std::string& word) {
  const auto number = parse_integer(word);
  if (!number || *number < 1 || *number > INT32_MAX)
    return fail(
        Code::kInvalidArgument,
        fmt::format("series {}: it is a number; railgauge history lists them", in_quotes(word)));
  return static_cast<std::uint32_t>(*number);
}

namespace {

// "mlx5_0:1", or "gpu017/mlx5_0:1" as tables print it: then it is of that node alone.
Status set_endpoint(const std::string& text, api::PointsRequest& request) {
  const std::size_t slash = text.find('/');
  request.set_endpoint(slash == std::string::npos ? text : text.substr(slash + 1));
  if (slash == std::string::npos) return {};
  if (!request.node_set().empty())
    return fail(Code::kInvalidArgument,
                fmt::format("--endpoint: {} has a node of its own; leave out --nodes and -l",
                            in_quotes(text)));
  request.set_node_set(text.substr(0, slash));
  return {};
}

}  // namespace

// Flags that a verb does not have are absent here, so all verbs about points share this.
Result<api::PointsRequest> points_request(const Arguments& arguments) {
  api::PointsRequest request;
  request.set_run_id(arguments.operand(0));
  request.set_kernel(arguments.value("kernel"));
  request.set_metric(arguments.value("metric"));
  request.set_node_set(RG_TRY(node_set_of(arguments)));
  RG_TRY_OK(set_endpoint(arguments.value("endpoint"), request));
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
