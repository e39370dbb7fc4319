#include "controller/store/queries/metric_queries.h"

#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {

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

Result<std::vector<FindingCountRow>> count_open_findings(Connection& connection, double now) {
  using Row = FindingCountRow;
  return connection.list(
      Columns{&Row::kind, &Row::state, &Row::severity, &Row::findings},
      "SELECT kind, iif(state='acknowledged' AND acknowledged_until<?1, 'reopened', state) AS "
      "shown, severity, count(*) FROM finding WHERE state NOT IN ('accepted', 'fixed', 'false', "
      "'rolled_back') GROUP BY kind, shown, severity LIMIT ?2",
      now, kMaxMetricRows);
}

Result<std::vector<std::string>> read_first_findings(Connection& connection, double now) {
  return connection.column<std::string>(
      "SELECT finding_id FROM finding WHERE state IN ('confirmed', 'reopened') OR "
      "(state='acknowledged' AND acknowledged_until<?1) OR (state='new' AND kind IN ('corruption', "
      "'lost_function')) ORDER BY severity<>'critical', worse DESC, id DESC LIMIT 5",
      now);
}

Result<std::vector<OpenSeriesRow>> count_open_series(Connection& connection) {
  return connection.list(
      Columns{&OpenSeriesRow::kernel, &OpenSeriesRow::metric, &OpenSeriesRow::series},
      "SELECT kernel, metric, count(DISTINCT series.id) FROM finding JOIN finding_series ON "
      "finding_series.finding=finding.id JOIN series ON series.id=finding_series.series WHERE "
      "finding.state NOT IN ('accepted', 'fixed', 'false', 'rolled_back') GROUP BY kernel, metric "
      "LIMIT ?1",
      kMaxMetricRows);
}

Result<std::map<std::string, double>> read_first_dues(Connection& connection) {
  std::map<std::string, double> dues;
  Rows rows =
      RG_TRY(connection.query("SELECT name, min(due_at) FROM schedule JOIN schedule_due ON "
                              "schedule_due.schedule=schedule.id GROUP BY name LIMIT ?1",
                              kMaxMetricRows));
  while (RG_TRY(rows.next())) dues[rows.text(0)] = rows.real(1);
  return dues;
}

Result<std::vector<std::string>> read_names_seen_since(Connection& connection, double since) {
  return connection.column<std::string>(
      "SELECT DISTINCT name FROM node WHERE last_seen_at>?1 LIMIT ?2", since, kMaxMetricRows);
}

Result<std::vector<MetricsPlaceRow>> read_metrics_places(Connection& connection, double since) {
  using Row = MetricsPlaceRow;
  return connection.list(
      Columns{&Row::node, &Row::address, &Row::metrics_port},
      "SELECT name, address, coalesce(json_extract(body, '$.metrics_port'), '') FROM node LEFT "
      "JOIN fact_set ON fact_set.id=node.fact_set WHERE last_seen_at>?1 ORDER BY last_seen_at "
      "LIMIT ?2",
      since, kMaxMetricRows);
}

Result<std::optional<PairRunRow>> read_newest_pair_run(Connection& connection) {
  PairRunRow run;
  if (!RG_TRY(connection.row(std::tie(run.run_id, run.at),
                             "SELECT run_id, coalesce(ended_at, created_at) FROM run WHERE "
                             "id=(SELECT run FROM pair_matrix WHERE rail>=0 ORDER BY run DESC "
                             "LIMIT 1)")))
    return std::nullopt;
  return run;
}

}  // namespace railgauge::store
