// sql, db stats, db check, db backup, db restore, db prune
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/csv.h"
#include "controller/cli/render/results_table.h"
#include "controller/cli/render/space_parts.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/spawn.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kDefaultRows = 1000;
constexpr double kSqlSeconds = 70;         // the controller ends a query after 60
constexpr double kLongSeconds = 6 * 3600;  // a large database is read or copied as a whole
constexpr double kYearDays = 365.25;
constexpr double kLeastShare = 0.001;  // smaller parts are summed up
constexpr std::size_t kLinesOfParts = 36;

// Powers of 1000.
std::string megabytes(double bytes) { return fmt::format("{:.1f}", bytes / 1e6); }

// From what is stored: bytes a node and day so far, at so many nodes. Absent without a day's
// history.
void project(Space& space, double nodes) {
  space.set_projected_nodes(nodes);
  if (!space.has_days() || space.nodes() <= 0) return;
  // Free pages are reused, so they do not grow with the fleet.
  const double used = space.file_bytes() - space.free_bytes();
  space.set_projected_bytes_per_year(used / space.nodes() / space.days() * kYearDays * nodes);
}

// 0 for an empty file.
std::string percent_of(double bytes, const Space& space) {
  return fmt::format("{:.1f}", space.file_bytes() > 0 ? 100 * bytes / space.file_bytes() : 0);
}

// The purposes of the space in use, with the setting that bounds each.
std::string purposes_table(const Space& space, bool colour) {
  Rows rows;
  for (const PurposeSum& sum : sums_by_purpose(space))
    if (sum.bytes >= kLeastShare * space.file_bytes())
      rows.push_back({sum.purpose.holds, size_text(sum.bytes), percent_of(sum.bytes, space),
                      sum.purpose.kept_by});
  return render_table("HOLDS|SIZE>|PERCENT>|BOUNDED BY", rows, colour);
}

// Parts below kLeastShare are summed in the last row.
std::string parts_table(const Space& space, bool colour) {
  Rows rows;
  double rest = 0;
  for (const SpacePart& part : space.parts()) {
    if (part.bytes() < kLeastShare * space.file_bytes()) {
      rest += part.bytes();
      continue;
    }
    rows.push_back(
        {part.name(), part.kind() == "index" ? "index of " + part.table() : part.kind(),
         megabytes(part.bytes()), percent_of(part.bytes(), space),
         fmt::format("{:.0f}", part.entries()),
         part.entries() > 0 ? fmt::format("{:.0f}", part.bytes() / part.entries()) : ""});
  }
  if (rest > 0) rows.push_back({"others", "", megabytes(rest), "", "", ""});
  return render_short_table("PART|KIND|MB>|PERCENT>|ENTRIES>|BYTES/ENTRY>", rows, colour,
                            {.lines = kLinesOfParts});
}

}  // namespace

// The projection is printed before pruning: retention is the controller's setting.
Result<int> database_stats(Session& session, const Arguments& arguments) {
  const auto nodes = RG_TRY(number_of(arguments, "project"));
  Space space = RG_TRY(call(session, rpc::kGetSpace, SpaceRequest(), kLongSeconds));
  if (nodes) project(space, *nodes);
  const Output& output = session.output;
  if (print_document(output, space, "parts")) return kExitPassed;
  output.out << wrapped_line(
                    fmt::format("database {}, of it {} unused; log {}; {} are free on its disk",
                                size_text(space.file_bytes()), size_text(space.free_bytes()),
                                size_text(space.wal_bytes()), size_text(space.disk_free_bytes())))
             << fmt::format("{:.0f} runs, {:.0f} points, {:.0f} nodes", space.runs(),
                            space.points(), space.nodes());
  if (space.has_bytes_per_point())
    output.out << fmt::format("; {:.0f} bytes a point, all in all", space.bytes_per_point());
  output.out << "\n\n"
             << purposes_table(space, output.colour) << '\n'
             << parts_table(space, output.colour);
  if (space.has_projected_bytes_per_year())
    output.out << wrapped_line(
        fmt::format("{:.0f} nodes measured as these were: {:.1f} GB a year before pruning",
                    space.projected_nodes(), space.projected_bytes_per_year() / 1e9));
  else if (nodes)
    print_notice(output, "no projection: the runs so far span less than a day");
  return kExitPassed;
}

// Problems go to stderr and make the exit code 1.
Result<int> database_check(Session& session, const Arguments&) {
  const auto check = RG_TRY(call(session, rpc::kCheckDatabase, CheckRequest(), kLongSeconds));
  const Output& output = session.output;
  print_page(output, check, check.sound() ? "the database is sound\n" : "");
  for (const std::string& problem : check.problems()) print_fault(output, problem);
  return check.sound() ? kExitPassed : kExitFailed;
}

// The controller writes the file, on its own host.
Result<int> database_backup(Session& session, const Arguments& arguments) {
  const auto request = request_for<BackUpRequest>(arguments.operand(0));
  const auto report = RG_TRY(call(session, rpc::kBackUp, request, kLongSeconds));
  return print_page(session.output, report,
                    line_of(fmt::format("{}: {}", report.path(), size_text(report.bytes()))));
}

// The controller is stopped then, so its program does it: it owns the database.
Result<int> database_restore(Session& session, const Arguments& arguments) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> words{(self.parent_path() / "railgauge-controller").string(),
                                 "--restore=" + arguments.operand(0)};
  if (arguments.has("database")) words.push_back("--database=" + arguments.value("database"));
  // The signals that this program blocks for itself end the child as ever.
  const auto child = start_program({.argv = words});
  if (!child && child.error().code == Code::kResourceExhausted)
    return fail(Code::kUnavailable, "db restore: no process can be started");
  if (!child)
    return fail(
        Code::kUnavailable,
        fmt::format("db restore: {} is not here; it is run on the controller's host", words[0]));
  int status = 0;
  {
    const Interrupts::Hook hook(session.interrupts, [&] { ::kill(*child, SIGTERM); });
    if (session.interrupts.any()) ::kill(*child, SIGTERM);
    status = wait_for_end(*child).value_or(0);
  }
  if (WIFSIGNALED(status))
    return fail(
        Code::kCancelled,
        "db restore: interrupted; the database is as it was, or the controller says what to "
        "do");
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kExitInvalid);
}

// Absent flags leave the controller's own policy in force.
Result<int> database_prune(Session& session, const Arguments& arguments) {
  PruneRequest request;
  if (const auto days = RG_TRY(number_of(arguments, "raw-days")))
    request.set_raw_sample_days(*days);
  if (const auto days = RG_TRY(number_of(arguments, "distribution-days")))
    request.set_distribution_days(*days);
  if (const auto days = RG_TRY(number_of(arguments, "point-days"))) request.set_point_days(*days);
  const auto report = RG_TRY(call(session, rpc::kPrune, request, kLongSeconds));
  return print_page(
      session.output, report,
      fmt::format(
          "taken away: {:.0f} raw samples, {:.0f} distributions, {:.0f} points; {} given back\n",
          report.raw_samples(), report.distributions(), report.points(),
          size_text(report.freed_bytes())));
}

namespace {

// The column's own type: SQLite has numbers, integers and text.
std::string json_of(const SqlValue& value) {
  if (value.has_number()) return json_number(value.number());
  if (value.has_integer()) return std::to_string(value.integer());
  return value.has_text() ? json_string(value.text()) : "null";
}

// One row as a JSON object in the order of columns.
std::string object_of(const SqlTable& table, const SqlRow& row) {
  std::string text = "{";
  for (int i = 0; i < row.values_size(); ++i)
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", json_string(table.columns(i)),
                        json_of(row.values(i)));
  return text + "}";
}

// The words, each made by `quoted`, with `between`.
template <class Quoted>
std::string joined(const google::protobuf::RepeatedPtrField<std::string>& words, Quoted quoted,
                   std::string_view between) {
  std::string text;
  for (const std::string& word : words)
    text += fmt::format("{}{}", text.empty() ? "" : between, quoted(word));
  return text;
}

// Written by hand, since no message has the query's columns.
void print_sql(const Output& output, const SqlTable& table, std::string_view rows) {
  RowPrinter printer(
      output, joined(table.columns(), csv_cell, ","),
      fmt::format("\"columns\": [{}],\n  \"truncated\": {},\n  \"{}\"",
                  joined(table.columns(), json_string, ", "), table.truncated(), rows));
  for (const SqlRow& row : table.rows())
    printer.print(
        [&] {
          std::vector<std::string> cells;
          for (const SqlValue& value : row.values()) cells.push_back(csv_cell(sql_text(value)));
          return fmt::format("{}", fmt::join(cells, ","));
        },
        [&] { return object_of(table, row); });
  printer.end();
}

}  // namespace

Result<int> run_sql(Session& session, const Arguments& arguments) {
  auto request = request_for<SqlRequest>(arguments.operand(0));
  request.set_max_rows(RG_TRY(count_of(arguments, "limit", kDefaultRows)));
  request.set_max_seconds(RG_TRY(seconds_of(arguments, "seconds", 0)));
  const auto table = RG_TRY(call(session, rpc::kRunSql, request, kSqlSeconds));
  return print_sql_table(session.output, table, "rows");
}

// A column is right-aligned as soon as one of its values is a number.
int print_sql_table(const Output& output, const SqlTable& table, std::string_view rows_name) {
  if (table.truncated())
    print_fault(output, fmt::format("only the first {} rows are shown; --limit N shows more",
                                    table.rows_size()));
  if (output.format != Format::kTable) {
    print_sql(output, table, rows_name);
    return kExitPassed;
  }
  std::vector<Column> columns;
  for (const std::string& name : table.columns()) columns.push_back({name});
  Rows rows;
  for (const SqlRow& row : table.rows()) {
    auto& cells = rows.emplace_back();
    for (int i = 0; i < row.values_size(); ++i) {
      cells.emplace_back(sql_text(row.values(i)));
      columns[static_cast<std::size_t>(i)].right |=
          row.values(i).has_number() || row.values(i).has_integer();
    }
  }
  output.out << render_table(columns, rows, output.colour);
  return kExitPassed;
}

}  // namespace railgauge::cli
