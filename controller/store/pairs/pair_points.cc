#include "controller/store/pairs/pair_points.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "controller/store/rows/point_flags.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {
namespace {

// Bounds of one page: points, and ranks that may have none.
constexpr std::uint32_t kPagePoints = 20'000;
constexpr std::int64_t kPageRanks = 200'000;
// Sets that are remembered; beyond them all are forgotten.
constexpr std::size_t kMaxRemembered = 65'536;

constexpr std::string_view kPage =
    "SELECT max(id), count(*) FROM (SELECT id FROM point WHERE id>?1 AND id<=?2 AND (?3=0 OR flags "
    "& ?3) ORDER BY id LIMIT ?4)";
// Along the table of points, and of wide tables only what a figure needs. One statement, whose
// cursors stay open: the next row is mostly beside the present one in each table. The other rank's
// end is looked up, the reporting one's is at hand.
constexpr std::string_view kPoints =
    "SELECT t0.node_name, coalesce(nullif(iif(rank.rank=0, rank.endpoint_text, "
    "other.endpoint_text), ''), t0.endpoint_text), t1.node_name, coalesce(nullif(iif(rank.rank=0, "
    "other.endpoint_text, rank.endpoint_text), ''), t1.endpoint_text), task.task_id, "
    "rank.fact_set, rank.parameter_set, headline, iif(rate IS NULL, median_low, rate_low), "
    "iif(rate IS NULL, median_high, rate_high), flags, series.kernel, metric, meaning, unit, "
    "larger_is_better, message_bytes FROM point NOT INDEXED CROSS JOIN series ON "
    "series.id=point.series CROSS JOIN rank ON rank.id=point.rank CROSS JOIN attempt ON "
    "attempt.id=rank.attempt CROSS JOIN task ON task.id=attempt.task CROSS JOIN task_rank AS t0 ON "
    "t0.task=task.id AND t0.rank=0 CROSS JOIN task_rank AS t1 ON t1.task=task.id AND t1.rank=1 "
    "LEFT JOIN task_rank AS more ON more.task=task.id AND more.rank=2 LEFT JOIN rank AS other ON "
    "other.attempt=attempt.id AND other.rank=1 - rank.rank WHERE point.id>?1 AND point.id<=?2 AND "
    "(?3=0 OR flags & ?3) AND series.pair='' AND (?5='' OR series.kernel=?5) AND (?6='' OR "
    "metric=?6) AND (?7 IS NULL OR message_bytes=?7) AND (?4=0 OR task.run=?4) AND "
    "attempt.attempt=task.counted_attempt AND more.task IS NULL AND (attempt.outcome='passed' OR "
    "(attempt.outcome='failed' AND NOT EXISTS (SELECT 1 FROM rank AS each WHERE "
    "each.attempt=attempt.id AND coalesce(each.outcome, '')<>'passed'))) ORDER BY point.id";
constexpr std::string_view kFactWords =
    "SELECT json_extract(body, '$.memory'), json_extract(body, '$.follow_up') FROM fact_set WHERE "
    "id=?1";
constexpr std::string_view kParameterWords =
    "SELECT json_extract(body, '$.memory'), json_extract(body, '$.direction') FROM parameter_set "
    "WHERE id=?1";

using Words = PairPointMemo::Words;

// Each set is parsed once. 0 is the empty set. The words are valid until the next call.
Result<const Words*> words_of(Connection& connection, PairPointMemo::Sets& known,
                              std::string_view sql, std::int64_t id) {
  if (const auto found = known.find(id); found != known.end()) return &found->second;
  Words words;
  if (id != 0) RG_TRY_OK(connection.row(std::tie(words.memory, words.other), sql, id));
  if (known.size() >= kMaxRemembered) known.clear();
  return &known.emplace(id, std::move(words)).first->second;
}

// An end from a column of the node's name and the one after it.
void read_end(const Rows& rows, int column, std::string& end) {
  end = rows.view(column);
  if (const std::string_view endpoint = rows.view(column + 1); !endpoint.empty())
    end.append("/").append(endpoint);
}

// The point of the present row; its ends are kept in the memo.
Result<PairPointRow> row_of(Connection& connection, const Rows& rows, PairPointMemo& memo) {
  const Words* facts = RG_TRY(words_of(connection, memo.facts, kFactWords, rows.integer(5)));
  const Words* parameters =
      RG_TRY(words_of(connection, memo.parameters, kParameterWords, rows.integer(6)));
  read_end(rows, 0, memo.first);
  read_end(rows, 2, memo.second);
  return PairPointRow{.task_id = rows.view(4),
                      .kernel = rows.view(11),
                      .metric = rows.view(12),
                      .meaning = rows.view(13),
                      .unit = rows.view(14),
                      .message_bytes = rows.real(16),
                      .larger_is_better = rows.integer(15) != 0,
                      .first = memo.first,
                      .second = memo.second,
                      .memory_fact = facts->memory,
                      .follow_up = facts->other,
                      .memory = parameters->memory,
                      .direction = parameters->other,
                      .value = rows.real(7),
                      .low = rows.optional_real(8),
                      .high = rows.optional_real(9),
                      .flags = rows.integer(10)};
}

// The row id of the run; 0 for all.
Result<std::int64_t> run_of(Connection& connection, const std::string& run_id) {
  if (run_id == "all") return 0;
  const auto run = RG_TRY(connection.integer("SELECT id FROM run WHERE run_id=?1", run_id));
  if (run) return *run;
  return fail(Code::kNotFound, fmt::format("run {}: there is no such run", run_id));
}

}  // namespace

Result<std::int64_t> visit_pair_points(Connection& connection, const PairPointsFilter& filter,
                                       PointRange range, PairPointMemo& memo,
                                       const PairPointVisitor& visit) {
  const std::int64_t run = RG_TRY(run_of(connection, filter.run_id));
  std::int64_t through =
      std::min(range.through, ((range.after >> kSequenceBits) + kPageRanks) << kSequenceBits);
  std::int64_t last = 0;
  std::uint32_t points = 0;
  RG_TRY_OK(connection.row(std::tie(last, points), kPage, range.after, through, filter.any_flag,
                           kPagePoints));
  if (points == kPagePoints) through = last;
  Rows rows = RG_TRY(connection.query(kPoints, range.after, through, filter.any_flag, run,
                                      filter.kernel, filter.metric, filter.message_bytes));
  while (RG_TRY(rows.next())) {
    const PairPointRow row = RG_TRY(row_of(connection, rows, memo));
    RG_TRY_OK(visit(row));
  }
  return through;
}

Result<bool> is_pair_synthetic(Connection& connection, const PairPointsFilter& filter,
                               PointRange range) {
  RG_CHECK(filter.message_bytes);
  const std::int64_t run = RG_TRY(run_of(connection, filter.run_id));
  const auto flags = RG_TRY(connection.integer(
      "SELECT flags FROM series CROSS JOIN point INDEXED BY point_by_series ON "
      "point.series=series.id CROSS JOIN rank ON rank.id=point.rank CROSS JOIN attempt ON "
      "attempt.id=rank.attempt CROSS JOIN task ON task.id=attempt.task WHERE series.kernel=?1 AND "
      "metric=?2 AND message_bytes=?3 AND point.id>?4 AND point.id<=?5 AND (?6=0 OR task.run=?6) "
      "AND attempt.attempt=task.counted_attempt LIMIT 1",
      filter.kernel, filter.metric, *filter.message_bytes, range.after, range.through, run));
  return flags && (*flags & kFlagSynthetic) != 0;
}

}  // namespace railgauge::store
