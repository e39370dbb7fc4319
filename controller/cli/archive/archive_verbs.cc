#include "controller/cli/archive/archive_verbs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/archive/archive_queries.h"
#include "controller/cli/archive/matrix_content.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "controller/mirror/pq/connection.h"
#include "controller/plan/topology/node_set.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

// Longest statement; --seconds may ask for less.
constexpr double kStatementSeconds = 60;
constexpr std::uint32_t kRows = 1'000;

// Types of PostgreSQL's catalog.
constexpr std::array<unsigned int, 7> kNumbers{20, 21, 23, 26, 700, 701, 1700};
constexpr std::array<unsigned int, 4> kIntegers{20, 21, 23, 26};
constexpr unsigned int kBoolean = 16;
constexpr unsigned int kTime = 1184;  // timestamptz

// "2026-11-29 01:02:03.5+00", since the time zone is UTC, as RFC 3339.
std::string rfc_time(std::string_view text) {
  std::string time(text);
  std::ranges::replace(time, ' ', 'T');
  if (time.ends_with("+00")) time.replace(time.size() - 3, 3, "Z");
  return time;
}

// A time is printed as everywhere; an integer that a double cannot hold stays one.
void put_value(api::SqlValue& value, const pq::Answer& answer, int row, int column) {
  if (answer.is_null(row, column)) return;
  const unsigned int type = answer.column_type(column);
  const std::string_view text = answer.text(row, column);
  if (type == kBoolean) return value.set_text(text == "t" ? "true" : "false");
  if (type == kTime) return value.set_text(rfc_time(text));
  if (std::ranges::find(kNumbers, type) == kNumbers.end()) return value.set_text(std::string(text));
  const double number = answer.real(row, column);
  const bool is_long = std::ranges::find(kIntegers, type) != kIntegers.end() &&
                       std::abs(number) >= 9'007'199'254'740'992.0;
  if (is_long)
    value.set_integer(answer.integer(row, column));
  else
    value.set_number(number);
}

// At most `limit` rows; the query asked for one more.
api::SqlTable table_of(const pq::Answer& answer, std::uint32_t limit) {
  api::SqlTable table;
  for (int column = 0; column < answer.columns(); ++column)
    table.add_columns(answer.column_name(column));
  table.set_truncated(answer.rows() > static_cast<int>(limit));
  for (int row = 0; row < std::min(answer.rows(), static_cast<int>(limit)); ++row) {
    api::SqlRow& cells = *table.add_rows();
    for (int column = 0; column < answer.columns(); ++column)
      put_value(*cells.add_values(), answer, row, column);
  }
  return table;
}

// An archive to read from. Not thread safe.
class Archive {
 public:
  // `seconds`: limit of each statement.
  static Result<Archive> open(const std::string& url, double seconds) {
    auto database = RG_TRY(pq::Connection::open(
        {.url = url, .application = "railgauge", .answer_seconds = seconds + 5}));
    RG_TRY_OK(database->script(
        fmt::format("SET TimeZone='UTC'; SET default_transaction_read_only=on; SET "
                    "statement_timeout={:.0f}; SET idle_in_transaction_session_timeout='60s'",
                    seconds * 1e3)));
    return Archive(std::move(database));
  }
  // Whatever the statement does is rolled back.
  Result<pq::Answer> ask(const ArchiveQuery& query) {
    RG_TRY_OK(database_->execute("BEGIN READ ONLY"));
    auto answer = database_->query(query.sql, query.values);
    static_cast<void>(database_->execute("ROLLBACK"));
    return answer;
  }

 private:
  explicit Archive(std::unique_ptr<pq::Connection> database) : database_(std::move(database)) {}
  std::unique_ptr<pq::Connection> database_;
};

// The flags of the verb that an archive knows; a filter that is silently left out would lie.
Status check_flags(const Arguments& arguments, std::span<const std::string_view> known) {
  for (const Flag& flag : arguments.verb->flags)
    if (arguments.has(flag.name) && std::ranges::find(known, flag.name) == known.end())
      return invalid("{}: --{} is not for an archive", full_name(*arguments.verb), flag.name);
  return {};
}

// Flags of the verb as filters. kInvalidArgument: one that an archive does not know.
Result<ArchiveFilter> filter_of(const Arguments& arguments, const ArchivePlace& place,
                                std::uint32_t limit) {
  constexpr std::array<std::string_view, 13> kKnown{
      "kernel", "metric", "nodes", "size",    "rail", "series",      "since",
      "until",  "limit",  "state", "seconds", "svg",  "all-attempts"};
  RG_TRY_OK(check_flags(arguments, kKnown));
  const api::PointsRequest points = RG_TRY(points_request(arguments));
  ArchiveFilter filter{.site = place.site,
                       .kernel = points.kernel(),
                       .metric = points.metric(),
                       .state = arguments.value("state"),
                       .all_attempts = points.all_attempts(),
                       .limit = RG_TRY(count_of(arguments, "limit", limit))};
  if (points.has_message_bytes()) filter.message_bytes = points.message_bytes();
  if (points.has_rail()) filter.rail = points.rail();
  if (points.has_series_id()) filter.series = points.series_id();
  filter.since = RG_TRY(time_of(arguments, "since"));
  filter.until = RG_TRY(time_of(arguments, "until"));
  if (points.node_set().empty()) return filter;
  const plan::NodeSet nodes = RG_TRY(plan::parse_node_set(points.node_set()));
  if (!nodes.excluded.empty()) return invalid("--nodes: an archive knows no exclusions");
  for (const auto& item : nodes.included)
    filter.nodes.insert(filter.nodes.end(), item.names.begin(), item.names.end());
  return filter;
}

// One table in the format that was asked for.
Result<int> print_rows(Archive& archive, const ArchiveQuery& query, const ArchiveFilter& filter,
                       const Output& output, std::string_view name) {
  return print_sql_table(output, table_of(RG_TRY(archive.ask(query)), filter.limit), name);
}

// A series has its number at one site alone.
Result<int> show_archived_history(Archive& archive, ArchiveFilter filter,
                                  const Arguments& arguments, const Output& output) {
  if (arguments.operand(0).empty())
    return print_rows(archive, series_query(filter), filter, output, "series");
  filter.series = RG_TRY(series_number(arguments.operand(0)));
  const pq::Answer sites = RG_TRY(archive.ask(sites_of_series(filter)));
  if (sites.rows() == 0)
    return fail(Code::kNotFound, "series {}: not in the archive; railgauge history lists series",
                arguments.operand(0));
  if (sites.rows() > 1) {
    std::vector<std::string> names;
    for (int row = 0; row < sites.rows(); ++row) names.emplace_back(sites.text(row, 0));
    return invalid("series {}: sites {} have one of this number; name yours with --site",
                   arguments.operand(0), fmt::join(names, ", "));
  }
  filter.site = sites.text(0, 0);
  return print_rows(archive, history_query(filter), filter, output, "points");
}

// The parts of a blob, one behind the other.
Result<std::string> content_of(Archive& archive, std::string_view digest) {
  const pq::Answer parts = RG_TRY(
      archive.ask({.sql = "SELECT body FROM railgauge.blob WHERE digest=$1::bytea ORDER BY part",
                   .values = {std::string(digest)}}));
  if (parts.rows() == 0)
    return fail(Code::kDataLoss, "archive: the content of the matrix is missing");
  std::string content;
  for (int row = 0; row < parts.rows(); ++row) content += parts.bytes(row, 0);
  return content;
}

// The best matrix that the filter selects, and which rails the run has beside it.
Result<int> show_archived_matrix(Archive& archive, ArchiveFilter filter, const Arguments& arguments,
                                 const Output& output) {
  filter.run_id = arguments.operand(0);
  const pq::Answer found = RG_TRY(archive.ask(matrices_query(filter)));
  if (found.rows() == 0)
    return fail(Code::kNotFound, "runs matrix: the archive has no matrix for this question");
  std::set<std::string> sites;
  std::set<std::string> rails;
  for (int row = 0; row < found.rows(); ++row) {
    if (found.text(row, 1) != found.text(0, 1)) continue;
    sites.emplace(found.text(row, 0));
    rails.insert(fmt::format("rail {}", found.text(row, 2)));
  }
  if (sites.size() > 1)
    return invalid("run {}: sites {} have one of this name; name yours with --site",
                   found.text(0, 1), fmt::join(sites, ", "));
  api::PairMatrix matrix;
  matrix.set_run_id(fmt::format("{} of {}", found.text(0, 1), found.text(0, 0)));
  matrix.set_rail(static_cast<std::int32_t>(found.integer(0, 2)));
  matrix.set_kernel(std::string(found.text(0, 3)));
  matrix.set_metric(std::string(found.text(0, 4)));
  matrix.set_meaning(std::string(found.text(0, 5)));
  matrix.set_message_bytes(found.real(0, 6));
  matrix.set_unit(std::string(found.text(0, 7)));
  matrix.set_larger_is_better(found.text(0, 8) == "t");
  rails.erase(fmt::format("rail {}", found.text(0, 2)));
  for (const std::string& rail : rails) matrix.add_other_layers(rail);
  RG_TRY_OK(fill_matrix(matrix, RG_TRY(content_of(archive, found.text(0, 10))),
                        RG_TRY(content_of(archive, found.text(0, 11)))));
  return print_matrix(output, arguments, matrix);
}

}  // namespace

Result<int> ask_archive(const Arguments& arguments, const ArchivePlace& place,
                        const Output& output) {
  Command* const run = arguments.verb->run;
  ArchiveFilter filter = RG_TRY(filter_of(arguments, place, run == &list_runs ? 20 : kRows));
  const double seconds = std::clamp(RG_TRY(seconds_of(arguments, "seconds", kStatementSeconds)),
                                    0.001, kStatementSeconds);
  const auto open = [&] { return Archive::open(place.url, seconds); };
  if (run == &run_sql) {
    Archive archive = RG_TRY(open());
    const ArchiveQuery query = person_query(arguments.operand(0), filter.limit);
    return print_rows(archive, query, filter, output, "rows");
  }
  if (run == &show_results) {
    if (arguments.operand(0) == "all")
      return invalid("results all: an archive shows one run, or one series: railgauge history");
    filter.run_id = arguments.operand(0);
    Archive archive = RG_TRY(open());
    return print_rows(archive, results_query(filter), filter, output, "points");
  }
  if (run == &show_history) {
    Archive archive = RG_TRY(open());
    return show_archived_history(archive, filter, arguments, output);
  }
  if (run == &list_findings) {
    Archive archive = RG_TRY(open());
    return print_rows(archive, findings_query(filter), filter, output, "findings");
  }
  if (run == &list_runs) {
    Archive archive = RG_TRY(open());
    return print_rows(archive, runs_query(filter), filter, output, "runs");
  }
  if (run == &show_matrix) {
    Archive archive = RG_TRY(open());
    return show_archived_matrix(archive, filter, arguments, output);
  }
  return invalid(
      "{}: an archive answers results, history, findings, runs, runs matrix and sql; leave "
      "--archive out for the others",
      full_name(*arguments.verb));
}

}  // namespace railgauge::cli
