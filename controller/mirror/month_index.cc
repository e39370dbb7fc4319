#include "controller/mirror/month_index.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "controller/mirror/merge_sql.h"

namespace railgauge::mirror {
namespace {

// By then spools have delivered what the month's end left in them.
constexpr double kQuietSeconds = 2 * 86'400;
constexpr double kFirstSeconds = 60;
constexpr double kNextSeconds = 10;  // between two months
constexpr double kLookSeconds = 3'600;
constexpr double kAnswerSeconds = 6 * 3'600;

// The columns that `railgauge history` prints of a point.
constexpr std::string_view kFigures =
    "id, median, median_low, median_high, p99, sample_count, flags, rate, rate_low, rate_high, "
    "slot_p10, pause_share";

}  // namespace

// The index comes last: its presence says that the month is done. Pages that all may see, as VACUUM
// marks them, are not read for an answer from it.
Result<std::string> index_a_month(pq::Connection& database, double now) {
  RG_TRY_OK(database.execute("SET client_min_messages=warning"));
  const pq::Answer free =
      RG_TRY(database.query("SELECT pg_try_advisory_lock(5927846), extract(epoch FROM now())"));
  if (free.text(0, 0) != "t") return std::string();
  // A controller whose clock is far ahead must not make the present month slow to write.
  const double quiet = std::min(now, free.real(0, 1)) - kQuietSeconds;
  const pq::Answer wanted = RG_TRY(database.query(
      "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid=i.inhrelid WHERE "
      "i.inhparent=to_regclass('railgauge.point') AND c.relname LIKE 'point\\_y%' AND c.relname<$1 "
      "AND NOT EXISTS (SELECT 1 FROM pg_index x JOIN pg_class n ON n.oid=x.indexrelid WHERE "
      "x.indrelid=c.oid AND n.relname=c.relname || '_history' AND x.indisvalid) ORDER BY 1 LIMIT 1",
      {month_name(month_of(quiet))}));
  if (wanted.rows() == 0) return std::string();
  std::string month(wanted.text(0, 0));
  RG_TRY_OK(database.execute(
      fmt::format("DROP INDEX CONCURRENTLY IF EXISTS railgauge.{}_history", month)));
  RG_TRY_OK(database.execute(fmt::format("VACUUM (ANALYZE) railgauge.{}", month)));
  RG_TRY_OK(database.execute(
      fmt::format("CREATE INDEX CONCURRENTLY {0}_history ON railgauge.{0} (site, series, "
                  "measured_at) INCLUDE ({1})",
                  month, kFigures)));
  return month;
}

MonthIndexer::MonthIndexer(std::string url) : url_(std::move(url)), thread_([this] { work(); }) {}

MonthIndexer::~MonthIndexer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MonthIndexer::work() {
  for (double pause = kFirstSeconds; !ending_; pause = ending_ ? 0 : look()) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(pause),
                      [this] { return ending_.load(); });
  }
}

double MonthIndexer::look() {
  const double begin = wall_seconds();
  const auto made = [&]() -> Result<std::string> {
    const auto database =
        RG_TRY(pq::Connection::open({.url = url_,
                                     .application = "railgauge-controller months",
                                     .answer_seconds = kAnswerSeconds,
                                     .is_over = [this] { return ending_.load(); }}));
    return index_a_month(*database, begin);
  }();
  if (!made) {
    if (made.error().code != Code::kCancelled)
      spdlog::warn("mirror: a past month gets no index for histories: {}", made.error().message);
    return kLookSeconds;
  }
  if (made->empty()) return kLookSeconds;
  spdlog::info("mirror: {} of the archive has an index for histories, made in {:.0f} s", *made,
               wall_seconds() - begin);
  return kNextSeconds;
}

}  // namespace railgauge::mirror
