#include "controller/cli/archive/archive_queries.h"

#include <string_view>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

// Collects conditions and their values.
class Builder {
 public:
  // The place of a value: "$3".
  std::string bind(std::string value) {
    query_.values.emplace_back(std::move(value));
    return fmt::format("${}", query_.values.size());
  }
  // `condition` has one {} for the place. Nothing is added for "".
  void where(fmt::format_string<std::string> condition, const std::string& value) {
    if (value.empty()) return;
    std::string place = bind(value);
    conditions_ += fmt::format(" AND {}", fmt::format(condition, std::move(place)));
  }
  void where(fmt::format_string<std::string> condition, const std::optional<double>& value) {
    if (value) where(condition, fmt::format("{}", *value));
  }
  // Names as an array; no name, no condition.
  void where_any(fmt::format_string<std::string> condition, const std::vector<std::string>& names) {
    std::string array;
    for (const std::string& name : names)
      array += fmt::format("{}\"{}\"", array.empty() ? "" : ",", name);
    if (!names.empty()) where(condition, "{" + array + "}");
  }
  // A condition without a value.
  void plain(std::string_view condition) { conditions_ += fmt::format(" AND {}", condition); }
  [[nodiscard]] const std::string& conditions() const { return conditions_; }
  // The statement with the values that were bound so far.
  ArchiveQuery take(std::string sql) {
    query_.sql = std::move(sql);
    return std::move(query_);
  }

 private:
  ArchiveQuery query_;
  std::string conditions_ = "true";
};

// One run of each site, or the one that was named.
void of_run(Builder& builder, const ArchiveFilter& filter) {
  builder.where("runs.site={}", filter.site);
  if (!filter.run_id.empty()) return builder.where("runs.run_id={}", filter.run_id);
  builder.plain(
      "runs.run_number=(SELECT max(newest.run_number) FROM railgauge.runs AS newest WHERE "
      "newest.site_number=runs.site_number AND newest.state='ended')");
}

// Filters of the columns that series and points share.
void of_series(Builder& builder, const ArchiveFilter& filter) {
  builder.where("kernel={}", filter.kernel);
  builder.where("metric={}", filter.metric);
  builder.where("message_bytes={}::double precision", filter.message_bytes);
}

// Times of points are the nodes' own.
void of_time(Builder& builder, const ArchiveFilter& filter) {
  builder.where("measured_at>=to_timestamp({}::double precision)", filter.since);
  builder.where("measured_at<to_timestamp({}::double precision)", filter.until);
}

// One more than is shown.
std::uint64_t one_more(const ArchiveFilter& filter) { return std::uint64_t{filter.limit} + 1; }

}  // namespace

// A run's points come from a function of the archive, which knows the blocks that hold them. A node
// is found by the names that endpoints had in the run.
ArchiveQuery results_query(const ArchiveFilter& filter) {
  Builder builder;
  of_run(builder, filter);
  builder.where("points.kernel={}", filter.kernel);
  builder.where("points.metric={}", filter.metric);
  builder.where("points.message_bytes={}::double precision", filter.message_bytes);
  builder.where("points.series_id={}::integer", filter.series);
  builder.where_any(
      "EXISTS (SELECT 1 FROM unnest({}::text[]) AS node WHERE strpos(' ' || points.endpoints, ' ' "
      "|| "
      "node || '/') > 0)",
      filter.nodes);
  of_time(builder, filter);
  if (!filter.all_attempts) builder.plain("points.counts");
  std::string sql = fmt::format(
      "SELECT runs.site, runs.run_id, points.task_id, points.kernel, points.endpoints, "
      "points.metric, points.meaning, points.message_bytes, points.headline, points.median_low, "
      "points.median_high, points.p99, points.unit, points.outcome, points.measured_at, "
      "points.series_id, points.synthetic FROM railgauge.runs JOIN LATERAL "
      "railgauge.run_results(runs.site_number, runs.run_number) AS points ON true WHERE {} ORDER "
      "BY "
      "runs.site, points.measured_at, points.series_id LIMIT {}",
      builder.conditions(), one_more(filter));
  return builder.take(std::move(sql));
}

// Nodes by their present names, rails by the present places of their ports.
ArchiveQuery series_query(const ArchiveFilter& filter) {
  Builder builder;
  builder.where("site={}", filter.site);
  of_series(builder, filter);
  builder.where_any(
      "EXISTS (SELECT 1 FROM railgauge.series_endpoint AS part JOIN railgauge.endpoints AS place "
      "ON "
      "place.site_number=part.site AND place.endpoint_id=part.endpoint WHERE "
      "part.site=all_series.site_number AND part.series=all_series.series_id AND "
      "place.node=ANY({}::text[]))",
      filter.nodes);
  builder.where(
      "EXISTS (SELECT 1 FROM railgauge.series_endpoint AS part JOIN railgauge.endpoint AS place ON "
      "place.site=part.site AND place.id=part.endpoint WHERE part.site=all_series.site_number AND "
      "part.series=all_series.series_id AND place.rail={}::bigint)",
      filter.rail);
  std::string sql = fmt::format(
      "SELECT site, series_id, kernel, revision, metric, meaning, message_bytes, endpoints, pair, "
      "rank, unit, parameters FROM railgauge.all_series WHERE {} ORDER BY site, kernel, metric, "
      "message_bytes, series_id LIMIT {}",
      builder.conditions(), one_more(filter));
  return builder.take(std::move(sql));
}

// The newest points first, so that the limit cuts the oldest; then in the order of time, each with
// its run, where the archive still has it.
ArchiveQuery history_query(const ArchiveFilter& filter) {
  Builder builder;
  builder.where("site={}", filter.site);
  builder.where("series_id={}::integer", filter.series);
  of_time(builder, filter);
  std::string sql = fmt::format(
      "SELECT newest.site, newest.measured_at, run.run_id, newest.headline, newest.median, "
      "newest.median_low, newest.median_high, newest.p99, newest.rate_low, newest.rate_high, "
      "newest.slot_p10, newest.pause_share, newest.sample_count, newest.unit, newest.converged, "
      "newest.verified, newest.throttled, newest.synthetic FROM (SELECT * FROM railgauge.points "
      "WHERE {} ORDER BY measured_at DESC LIMIT {}) AS newest LEFT JOIN railgauge.rank ON "
      "rank.site=newest.site_number AND rank.id=newest.rank_id LEFT JOIN railgauge.attempt ON "
      "attempt.site=rank.site AND attempt.id=rank.attempt LEFT JOIN railgauge.task ON "
      "task.site=attempt.site AND task.id=attempt.task LEFT JOIN railgauge.run ON "
      "run.site=task.site AND run.id=task.run WHERE {} ORDER BY newest.measured_at",
      builder.conditions(), one_more(filter),
      filter.all_attempts ? "true" : "coalesce(attempt.attempt=task.counted_attempt, true)");
  return builder.take(std::move(sql));
}

// Without a state those that somebody has to look at, as railgauge findings has them.
ArchiveQuery findings_query(const ArchiveFilter& filter) {
  Builder builder;
  builder.where("site={}", filter.site);
  builder.where("state={}", filter.state);
  if (filter.state.empty()) builder.plain("state NOT IN ('fixed', 'false', 'rolled_back')");
  builder.where_any("node=ANY({}::text[])", filter.nodes);
  std::string sql = fmt::format(
      "SELECT site, finding_id, kind, state, severity, suspect, node, run_id, worse, opened_at, "
      "changed_at, summary, synthetic FROM railgauge.findings WHERE {} ORDER BY changed_at DESC, "
      "site, "
      "finding_id LIMIT {}",
      builder.conditions(), one_more(filter));
  return builder.take(std::move(sql));
}

ArchiveQuery runs_query(const ArchiveFilter& filter) {
  Builder builder;
  builder.where("site={}", filter.site);
  std::string sql = fmt::format(
      "SELECT site, run_id, suite, state, outcome, created_at, ended_at, trigger, requested_by, "
      "findings_new, findings_confirmed, reason, synthetic FROM railgauge.runs WHERE {} ORDER BY "
      "created_at "
      "DESC, site LIMIT {}",
      builder.conditions(), one_more(filter));
  return builder.take(std::move(sql));
}

ArchiveQuery sites_of_series(const ArchiveFilter& filter) {
  Builder builder;
  builder.where("s.name={}", filter.site);
  builder.where("r.id={}::bigint", filter.series);
  std::string sql = fmt::format(
      "SELECT s.name FROM railgauge.series AS r JOIN railgauge.site AS s ON s.site=r.site WHERE {} "
      "ORDER BY 1",
      builder.conditions());
  return builder.take(std::move(sql));
}

// Without a run the newest one that has a matrix.
ArchiveQuery matrices_query(const ArchiveFilter& filter) {
  Builder builder;
  builder.where("site={}", filter.site);
  builder.where("run_id={}", filter.run_id);
  of_series(builder, filter);
  builder.where("rail={}::bigint", filter.rail);
  std::string sql = fmt::format(
      "SELECT site, run_id, rail, kernel, metric, meaning, message_bytes, unit, larger_is_better, "
      "endpoint_count, endpoints_digest, body_digest FROM railgauge.matrices WHERE {} ORDER BY "
      "{}larger_is_better DESC, endpoint_count DESC, message_bytes DESC, rail LIMIT 100",
      builder.conditions(), filter.run_id.empty() ? "created_at DESC, " : "");
  return builder.take(std::move(sql));
}

// As a subquery it is one statement that reads, or no statement at all. The newline ends a comment.
ArchiveQuery person_query(std::string sql, std::uint32_t limit) {
  while (!sql.empty() && (sql.back() == ';' || sql.back() == ' ' || sql.back() == '\n'))
    sql.pop_back();
  return {
      .sql = fmt::format("SELECT * FROM ({}\n) AS answer LIMIT {}", sql, std::uint64_t{limit} + 1)};
}

}  // namespace railgauge::cli
