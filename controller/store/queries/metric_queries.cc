#include "controller/store/queries/metric_queries.h"

#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {

// Two statements: the newest passed run of a suite may be older than its newest run.
Result<std::vector<SuiteEndRow>> read_suite_ends(Connection& connection) {
  std::map<std::string, double> passed;
  Rows passes = RG_TRY(connection.query(
      "SELECT suite, max(ended_at) FROM run WHERE outcome='passed' GROUP BY suite ORDER BY max(id) "
      "DESC LIMIT ?1",
      kMaxMetricRows));
  while (RG_TRY(passes.next())) passed[passes.text(0)] = passes.real(1);
  std::vector<SuiteEndRow> ends;
  Rows rows = RG_TRY(connection.query(
      "SELECT suite, outcome, ended_at FROM run WHERE id IN (SELECT max(id) FROM run WHERE "
      "state='ended' GROUP BY suite) ORDER BY id DESC LIMIT ?1",
      kMaxMetricRows));
  while (RG_TRY(rows.next())) {
    SuiteEndRow& end = ends.emplace_back();
    end = {.suite = rows.text(0), .outcome = rows.text(1), .ended_at = rows.real(2)};
    if (const auto found = passed.find(end.suite); found != passed.end())
      end.passed_at = found->second;
  }
  return ends;
}

// An acknowledgement that has run out is counted as reopened without a write.
Result<std::vector<FindingCountRow>> count_open_findings(Connection& connection, double now) {
  std::vector<FindingCountRow> counts;
  Rows rows = RG_TRY(connection.query(
      "SELECT kind, iif(state='acknowledged' AND acknowledged_until<?1, 'reopened', state) AS "
      "shown, severity, count(*) FROM finding WHERE state NOT IN ('accepted', 'fixed', 'false') "
      "GROUP BY kind, shown, severity LIMIT ?2",
      now, kMaxMetricRows));
  while (RG_TRY(rows.next()))
    counts.push_back({.kind = rows.text(0),
                      .state = rows.text(1),
                      .severity = rows.text(2),
                      .findings = rows.real(3)});
  return counts;
}

// A series that several findings name is counted once.
Result<std::vector<OpenSeriesRow>> count_open_series(Connection& connection) {
  std::vector<OpenSeriesRow> counts;
  Rows rows = RG_TRY(connection.query(
      "SELECT kernel, metric, count(DISTINCT series.id) FROM finding JOIN finding_series ON "
      "finding_series.finding=finding.id JOIN series ON series.id=finding_series.series WHERE "
      "finding.state NOT IN ('accepted', 'fixed', 'false') GROUP BY kernel, metric LIMIT ?1",
      kMaxMetricRows));
  while (RG_TRY(rows.next()))
    counts.push_back({.kernel = rows.text(0), .metric = rows.text(1), .series = rows.real(2)});
  return counts;
}

// Schedules without any due time are not in the result.
Result<std::map<std::string, double>> read_first_dues(Connection& connection) {
  std::map<std::string, double> dues;
  Rows rows =
      RG_TRY(connection.query("SELECT name, min(due_at) FROM schedule JOIN schedule_due ON "
                              "schedule_due.schedule=schedule.id GROUP BY name LIMIT ?1",
                              kMaxMetricRows));
  while (RG_TRY(rows.next())) dues[rows.text(0)] = rows.real(1);
  return dues;
}

// Names, because nodes that were reinstalled have several ids.
Result<std::vector<std::string>> read_names_seen_since(Connection& connection, double since) {
  std::vector<std::string> names;
  Rows rows = RG_TRY(connection.query(
      "SELECT DISTINCT name FROM node WHERE last_seen_at>?1 LIMIT ?2", since, kMaxMetricRows));
  while (RG_TRY(rows.next())) names.push_back(rows.text(0));
  return names;
}

// Matrices across rails (rail -1) do not count.
Result<std::optional<PairRunRow>> read_newest_pair_run(Connection& connection) {
  Rows rows = RG_TRY(connection.query(
      "SELECT run_id, coalesce(ended_at, created_at) FROM run WHERE id=(SELECT run FROM "
      "pair_matrix WHERE rail>=0 ORDER BY run DESC LIMIT 1)"));
  if (!RG_TRY(rows.next())) return std::nullopt;
  return PairRunRow{.run_id = rows.text(0), .at = rows.real(1)};
}

}  // namespace railgauge::store
