// Figures of the mirror against a private cluster with fsync on: sustained rate, drain of a
// backlog, lag at the rate of a night, size and queries of a year. Prints rows of a table in
// Markdown.
//   mirror_bench rates [SECONDS]
//   mirror_bench year [MILLIONS OF POINTS [POINTS OF A SERIES A NIGHT]]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "controller/mirror/mirror.h"
#include "controller/mirror/month_index.h"
#include "controller/mirror/testing/postgres_cluster.h"
#include "controller/store/outbox/mirror_outbox.h"
#include "controller/store/testing/store_bench.h"
#include "controller/store/testing/store_testing.h"
#include "kernels/core/base/clock.h"

namespace railgauge::mirror {
namespace {

using store::must;

constexpr std::uint32_t kPointsInTask = 30;
constexpr int kTasksInRun = 2'000;
constexpr int kPorts = 8'192;  // 1,024 nodes of 8
constexpr int kNights = 365;

double now_s() { return monotonic_now_ns() / 1e9; }

// A row of the table.
void print_row(const std::string& what, const std::string& figure, const std::string& wanted) {
  fmt::print("| {} | {} | {} |\n", what, figure, wanted);
  std::fflush(stdout);
}

// Stores points at a rate, as agents deliver them: 30 of a task at once.
class Feeder {
 public:
  explicit Feeder(store::Store& store) : store_(store) {}
  // Returns the points that were stored.
  double feed(double points_per_second, double seconds) {
    const double begin = now_s();
    double stored = 0;
    for (double now = begin; now < begin + seconds; now = now_s()) {
      if ((now - begin) * points_per_second <= stored) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      store_task();
      stored += kPointsInTask;
    }
    must(store_.flush());
    return stored;
  }

 private:
  void store_task() {
    if (task_ == kTasksInRun || run_ == 0) {
      task_ = 0;
      store::plan_run(store_, fmt::format("run{}", ++run_), kTasksInRun);
    }
    const store::At at{.run_id = fmt::format("run{}", run_),
                       .task_id = fmt::format("t{:04}", ++task_)};
    std::vector<Record> records{store::started_record(at)};
    for (std::uint32_t i = 1; i <= kPointsInTask; ++i) {
      records.push_back(store::point_record(at, i));
      records.back().mutable_point()->set_message_bytes(8 << (i % 24));
      records.back().mutable_point()->clear_histogram();
    }
    records.push_back(store::final_record(at, kPointsInTask + 1, "passed"));
    while (!store_.append_records("id-1", records, {})) must(store_.flush());
  }

  store::Store& store_;
  int run_ = 0;
  int task_ = 0;
};

struct Archive {
  PostgresCluster cluster{"-c fsync=on -c shared_buffers=256MB -c max_wal_size=2GB"};
  std::string url = cluster.make_database("archive");
  std::unique_ptr<pq::Connection> ask() {
    return std::move(*pq::Connection::open({.url = url, .answer_seconds = 3'600}));
  }
  double number(const std::string& sql) { return ask()->query(sql)->real(0, 0); }
};

std::string file_of(const store::TempFolder& folder) { return folder.file("db"); }

// The median and the largest lag while `work` runs beside a mirror: from the commit of an event in
// the store until the archive shows it.
template <class Work>
std::pair<double, double> lag_beside(Mirror& mirror, store::Store& store, Archive& archive,
                                     Work work) {
  std::atomic<bool> ending = false;
  std::atomic<bool> is_probed = false;
  std::vector<double> lags;
  std::thread thread([&] {
    while (!is_probed) {
      const double pause = mirror.step(wall_seconds());
      if (pause > 0) std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    }
  });
  std::thread probe([&] {
    const auto database = archive.ask();
    for (int number = 0; !ending; ++number) {
      static int probes = 0;
      const std::string text = fmt::format("probe {}", ++probes);
      must(store.add_event({.at = 1, .kind = "probe", .text = text}));
      must(store.flush());
      const double begin = now_s();
      while (database
                 ->query("SELECT 1 FROM railgauge.event WHERE at='1970-01-01 00:00:01+00' AND "
                         "text=$1",
                         {text})
                 ->rows() == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      lags.push_back(now_s() - begin);
    }
  });
  work();
  ending = true;
  probe.join();  // its last event has to arrive
  is_probed = true;
  thread.join();
  std::ranges::sort(lags);
  return {lags[lags.size() / 2], lags.back()};
}

// --- measurements ------------------------------------------------------------------------------

void measure_rates(double seconds) {
  Archive archive;
  const store::TempFolder folder;
  auto store = store::open_store(file_of(folder));
  must(store->write(store::arm_mirror));
  Mirror mirror(
      {.url = archive.url, .site = "bench"}, *store, [](auto, auto) {}, [] { return false; });
  Feeder feeder(*store);
  feeder.feed(1'000, 1);
  for (int i = 0; i < 200; ++i) mirror.step(wall_seconds());  // the first copy

  const auto night = lag_beside(mirror, *store, archive, [&] { feeder.feed(100, seconds); });
  print_row("lag at the rate of a night (100 points/s): median; largest",
            fmt::format("{:.2f} s; {:.2f} s", night.first, night.second), "< 2 s");

  double stored = 0;
  const auto busy =
      lag_beside(mirror, *store, archive, [&] { stored = feeder.feed(10'000, seconds); });
  print_row("sustained with the store and PostgreSQL on the same two cores",
            fmt::format("{:.0f} points/s for {:.0f} s", stored / seconds, seconds),
            "10,000 points/s");
  print_row("lag meanwhile: median; largest; rows of the outbox left at the end",
            fmt::format("{:.2f} s; {:.2f} s; {:.0f}", busy.first, busy.second,
                        mirror.figures().waiting_rows),
            "-");

  // A backlog, then its drain while as much as before is measured.
  while (mirror.step(wall_seconds()) <= 0) {
  }
  const double before = archive.number("SELECT count(*) FROM railgauge.point");
  const double backlog = feeder.feed(60'000, seconds);
  std::atomic<bool> ending = false;
  double fed = 0;
  std::thread ingest([&] {
    while (!ending) fed += feeder.feed(10'000, 1);
  });
  const double begin = now_s();
  double sent = 0;
  while (sent < backlog) {
    mirror.step(wall_seconds());
    sent = archive.number(
               "SELECT coalesce(sum(n_tup_ins), 0) FROM pg_stat_user_tables WHERE relname LIKE "
               "'point\\_y%'") -
           before;
    if (mirror.figures().waiting_rows == 0) break;
  }
  const double took = now_s() - begin;
  ending = true;
  ingest.join();
  // A step that failed, or that ends before the newest rows, is no end.
  bool has_all = false;
  while (!has_all) {
    const double pause = mirror.step(wall_seconds());
    const auto state = store->read(store::read_mirror_state);
    has_all = pause > 0 && mirror.figures().is_connected && mirror.figures().waiting_rows == 0 &&
              state && state->even_at > 0;
    if (pause > 0 && !has_all) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const double all = archive.number("SELECT count(*) FROM railgauge.point") - before;
  print_row(
      fmt::format("a backlog of {:.0f} points drained while 10,000 points/s are measured", backlog),
      fmt::format("{:.0f} points/s in {:.1f} s", backlog / took + fed / took, took),
      "30,000 points/s");
  print_row("points stored and points in the archive afterwards",
            fmt::format("{:.0f}; {:.0f}", backlog + fed, all), "equal");
}

// A year of points by one statement a night: SYNTHETIC, in the form in which the mirror leaves
// them. Each of `series` series has as many points a night, and a rank has 33 points.
void fill_year(Archive& archive, int points_a_night, int series) {
  constexpr int kPointsOfRank = 33;
  const int ranks = points_a_night / kPointsOfRank + 1;
  auto database = archive.ask();
  for (int month = 0; month < 12; ++month)
    must(database->execute(fmt::format(
        "CREATE TABLE IF NOT EXISTS railgauge.point_y2025m{:02} PARTITION OF railgauge.point FOR "
        "VALUES FROM ('2025-{:02}-01 00:00+00') TO ('{}-{:02}-01 00:00+00')",
        month + 1, month + 1, month == 11 ? 2026 : 2025, month == 11 ? 1 : month + 2)));
  must(database->execute(fmt::format(
      "INSERT INTO railgauge.series (site, id, kernel, metric, message_bytes, unit) SELECT 1, s, "
      "'verbs.write_lat', 'latency_ns', 8, 'ns' FROM generate_series(100, {} + 99) AS s",
      series)));
  for (int night = 0; night < kNights; ++night) {
    must(database->execute(fmt::format(
        "INSERT INTO railgauge.point (site, id, series, measured_at, median, median_low, "
        "median_high, p99, sample_count, flags, mean, p90, p999) SELECT 1, ((({0}::bigint * {3} + "
        "s "
        "/ {4} + 1000) << 20) + s % {4}), 100 + s % {2}, timestamptz '2025-01-01 01:00+00' + "
        "interval '1 day' * {0} + interval '1 second' * (s / 10.0), 1500 + random(), 1490, 1510, "
        "1900 + random(), 1000, 5, 1501 + random(), 1700, 2500 FROM generate_series(0, {1} - 1) AS "
        "s",
        night, points_a_night, series, ranks, kPointsOfRank)));
    for (const char* table :
         {"rank (site, id, attempt, rank, outcome)", "attempt (site, id, task, attempt, outcome)",
          "task (site, id, run, counted_attempt, outcome)"})
      must(database->execute(
          fmt::format("INSERT INTO railgauge.{} SELECT 1, r, {}, 1, 'passed' FROM "
                      "generate_series({}, {}) AS r",
                      table, std::string_view(table).starts_with("task") ? "1" : "r",
                      night * ranks + 1'000, night * ranks + ranks + 999)));
  }
  must(database->execute("VACUUM ANALYZE"));
}

// Milliseconds of a statement: the median and the largest of several.
template <class Ask>
std::pair<double, double> times_of(int rounds, Ask ask) {
  std::vector<double> ms;
  for (int round = 0; round < rounds; ++round) {
    const double begin = now_s();
    ask(round);
    ms.push_back((now_s() - begin) * 1e3);
  }
  std::ranges::sort(ms);
  return {ms[ms.size() / 2], ms.back()};
}

// A store with a run and a matrix of all pairs of 1,024 ports, as far from compressible as figures
// are, in the archive.
std::unique_ptr<store::Store> mirror_a_matrix(const Archive& archive, const std::string& path) {
  auto store = store::open_store(path);
  must(store->write(store::arm_mirror));
  store::plan_run(*store, "night", 1);
  store::append_passed(*store, {.run_id = "night"});
  store::PairMatrixRow matrix{
      .run_id = "night", .kernel = "verbs.write_lat", .metric = "latency_ns", .unit = "ns"};
  constexpr std::size_t kSide = 1'024;
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same figures each time
  std::normal_distribution<float> figure(1'500, 40);
  for (std::size_t i = 0; i < kSide; ++i) matrix.endpoints.push_back(fmt::format("n{}/rxe0:1", i));
  for (std::size_t i = 0; i < kSide * kSide; ++i)
    matrix.values.push_back(i % (kSide + 1) == 0 ? NAN : figure(random));
  must(store->put_pair_matrix(matrix));
  Mirror mirror(
      {.url = archive.url, .site = "bench"}, *store, [](auto, auto) {}, [] { return false; });
  for (int i = 0; i < 200; ++i) mirror.step(wall_seconds());
  return store;
}

// How long a statement about one of the series takes; {} in `sql` is its number.
void time_series(Archive& archive, int series, const std::string& what, const std::string& sql,
                 const std::string& wanted) {
  auto database = archive.ask();
  const auto of_round = [&](int round) {
    std::string text = sql;
    const std::string number = fmt::format("{}", 100 + round * 2'027'023LL % series);
    return text.replace(text.find("{}"), 2, number);
  };
  const auto ms = times_of(40, [&](int round) { must(database->query(of_round(round))); });
  const auto plan = database->query("EXPLAIN " + of_round(0));
  must(plan);
  int only = 0;
  for (int row = 0; row < plan->rows(); ++row)
    only += plan->text(row, 0).find("Index Only Scan") != std::string_view::npos &&
                    plan->text(row, 0).find("_history") != std::string_view::npos
                ? 1
                : 0;
  print_row(fmt::format("{}: median; largest of 40 (months read from the index alone)", what),
            fmt::format("{:.1f} ms; {:.1f} ms ({})", ms.first, ms.second, only), wanted);
}

// The program that people use, with its start.
void time_history(const Archive& archive, int series, const std::string& what,
                  const std::string& flags) {
  const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
  const std::string program =
      fmt::format("{}/bin/railgauge", build == nullptr ? "build/ci" : build);
  const auto ms = times_of(10, [&](int round) {
    const std::string command =
        fmt::format("{} --archive '{}' history {} --site bench -o csv {} >/dev/null", program,
                    archive.url, 100 + round * 2'027'023LL % series, flags);
    if (std::system(command.c_str()) != 0) std::abort();
  });
  print_row(fmt::format("{}: median; largest of 10", what),
            fmt::format("{:.0f} ms; {:.0f} ms", ms.first, ms.second), "-");
}

void time_matrix(Archive& archive) {
  auto database = archive.ask();
  const auto content = times_of(10, [&](int) {
    const auto found = database->query(
        "SELECT endpoints_digest, body_digest FROM railgauge.matrices WHERE run_id='night'");
    must(found);
    const auto body = database->query("SELECT body FROM railgauge.blob WHERE digest=$1::bytea",
                                      {std::string(found->text(0, 1))});
    must(body);
    if (body->bytes(0, 0).empty()) std::abort();
  });
  print_row("one night's matrix of 1,024 x 1,024: median; largest of 10",
            fmt::format("{:.1f} ms; {:.1f} ms", content.first, content.second), "< 200 ms");
}

double bytes_of_points(Archive& archive) {
  return archive.number(
      "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE "
      "inhparent='railgauge.point'::regclass");
}

// `nightly`: points of a series a night.
void measure_year(double millions, int nightly) {
  Archive archive;
  const store::TempFolder folder;
  const auto store = mirror_a_matrix(archive, file_of(folder));
  const int per_port = std::max(1, static_cast<int>(millions * 1e6 / kPorts / kNights));
  const int series = std::max(1, per_port * kPorts / nightly);
  const std::string form = fmt::format("{} series x {} a night", series, nightly);
  double begin = now_s();
  fill_year(archive, per_port * kPorts, series);
  const double fill_seconds = now_s() - begin;
  const double points = archive.number("SELECT count(*) FROM railgauge.point");
  const double before = bytes_of_points(archive);
  const std::string one =
      "SELECT measured_at, coalesce(rate, median), median_low, median_high, p99 "
      "FROM railgauge.point WHERE site=1 AND series={} ORDER BY measured_at";
  print_row(fmt::format("{}: points of a year, SYNTHETIC", form),
            fmt::format("{:.0f} in {:.0f} s", points, fill_seconds), "-");
  time_series(archive, series, fmt::format("{}: one series, no index of past months", form), one,
              "-");
  begin = now_s();
  int months = 0;
  while (!index_a_month(*archive.ask(), wall_seconds()).value().empty()) ++months;
  const double bytes = bytes_of_points(archive);
  print_row(fmt::format("{}: indexes of {} past months", form, months),
            fmt::format("{:.0f} s each", (now_s() - begin) / std::max(1, months)), "-");
  print_row(fmt::format("{}: size of a point; of it the index of past months", form),
            fmt::format("{:.0f} bytes; {:.0f} ({:.1f} GB)", bytes / points,
                        (bytes - before) / points, bytes / 1e9),
            "stated");
  time_series(archive, series, fmt::format("{}: one series, all of its year", form), one,
              "< 50 ms");
  time_series(archive, series, fmt::format("{}: the same from the view `points`", form),
              "SELECT measured_at, headline, median_low, median_high, p99 FROM railgauge.points "
              "WHERE site='bench' AND series_id={} ORDER BY measured_at",
              "< 50 ms");
  time_history(archive, series, fmt::format("{}: `railgauge --archive history SERIES`", form), "");
  time_history(archive, series, fmt::format("{}: the same with `--limit 20000`", form),
               "--limit 20000");
  if (nightly == 1) time_matrix(archive);
}

}  // namespace
}  // namespace railgauge::mirror

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::warn);
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "rates") railgauge::mirror::measure_rates(argc > 2 ? std::atof(argv[2]) : 30);
  if (what == "year")
    railgauge::mirror::measure_year(argc > 2 ? std::atof(argv[2]) : 6,
                                    argc > 3 ? std::atoi(argv[3]) : 1);
  return what == "rates" || what == "year" ? 0 : 2;
}
