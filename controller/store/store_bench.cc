// The store's speed on a real file with synchronous=FULL: points in, against the sqlite3 shell's
// .import of the same rows; answers out of some millions of points; bytes a point.
// RAILGAUGE_BENCH_POINTS sets how many (10,000,000); RAILGAUGE_BENCH_DATABASE names a file to keep
// them in: filling takes longer than asking.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "controller/store/schema.h"
#include "controller/store/store.h"
#include "controller/store/store_testing.h"

namespace railgauge::store {
namespace {

constexpr std::uint32_t kPointsInTask = 30;  // with start and end 32 records
constexpr int kTasksInBatch = 128;           // 4,096 records: one transaction
constexpr int kBatches = 24;
constexpr int kTasks = kTasksInBatch * kBatches;

template <class Outcome>
void must(const Outcome& outcome) {
  if (outcome) return;
  std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
  std::abort();
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Every figure is there, so that no field of the import is NULL.
std::vector<Record> task_records(int task, bool histogram) {
  const At at{.task_id = fmt::format("t{:04}", task)};
  std::vector<Record> records{started_record(at)};
  for (std::uint32_t i = 1; i <= kPointsInTask; ++i) {
    const double noise = 1 + 1e-6 * ((task * 7919 + static_cast<int>(i) * 104'729) % 100'003);
    records.push_back(point_record(at, i, (1000 + i) * noise));
    Point& point = *records.back().mutable_point();
    point.set_message_bytes(8 << (i % 24));
    point.set_meaning(i < 24 ? "half_rtt" : "rtt");
    point.set_stddev(3.25 * noise);
    point.set_p75(1600 * noise);
    point.set_p90(1700 * noise);
    point.set_p999(5000 * noise);
    point.set_lag1_autocorrelation(0.01 * noise);
    (*point.mutable_facts())["path"] = "host";
    if (!histogram) point.clear_histogram();
  }
  records.push_back(final_record(at, kPointsInTask + 1, "passed"));
  return records;
}

std::vector<std::vector<Record>> deliveries(bool histogram) {
  std::vector<std::vector<Record>> all;
  for (int task = 1; task <= kTasks; ++task) {
    if ((task - 1) % kTasksInBatch == 0) all.emplace_back();
    for (Record& record : task_records(task, histogram)) all.back().push_back(std::move(record));
  }
  return all;
}

void plan(const std::string& path) {
  auto store = open_store(path);
  plan_run(*store, "r1", kTasks);
}

// Seconds to store them all; nothing merged, a transaction for each delivery.
double ingest_seconds(const std::string& path, const std::vector<std::vector<Record>>& all) {
  auto store = open_store(path);
  auto copies = all;  // what the wire would hand over
  const double begin = now_seconds();
  for (auto& delivery : copies)
    while (!store->append_records("id-1", delivery, {})) must(store->flush());
  must(store->flush());
  return now_seconds() - begin;
}

void run_shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) {
    std::fprintf(stderr, "failed: %s\n", command.c_str());
    std::abort();
  }
}

// The rows that ingest wrote, as CSV files of a transaction each, and the script that imports them.
void write_import(const TempFolder& folder, const std::string& filled) {
  constexpr std::array kTables{"attempt", "rank", "point", "distribution"};
  std::ofstream dump(folder.file("dump.sql"));
  std::ofstream import(folder.file("import.sql"));
  dump << ".mode csv\n";
  import << "PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON;PRAGMA cache_size=-65536;PRAGMA "
            "wal_autocheckpoint=4000;PRAGMA secure_delete=OFF;\n.mode csv\n";
  for (int batch = 0; batch < kBatches; ++batch) {
    const int first = batch * kTasksInBatch + 1;
    const int last = first + kTasksInBatch - 1;
    import << "BEGIN;\n";
    for (const std::string_view table : kTables) {
      const std::string file = folder.file(fmt::format("{}{}.csv", table, batch));
      const std::string_view where = table == "attempt" ? "id BETWEEN {} AND {}"
                                     : table == "rank"  ? "id BETWEEN {} AND {}"
                                     : table == "point" ? "id>>20 BETWEEN {} AND {}"
                                                        : "point>>20 BETWEEN {} AND {}";
      dump << fmt::format(".once {}\nSELECT * FROM {} WHERE {};\n", file,
                          table == "point" ? "(SELECT id, series, measured_ms, median, median_low, "
                                             "median_high, p99, sample_count, flags, fact_set FROM "
                                             "point)"
                                           : std::string(table),
                          fmt::format(fmt::runtime(where), first, last));
      import << fmt::format(".import {} {}\n", file, table);
    }
    import << "COMMIT;\n";
  }
  dump.close();
  import.close();
  run_shell(fmt::format("sqlite3 -bail {} <{}", filled, folder.file("dump.sql")));
}

// The planned database with the sets and series that the rows refer to, rows left out. .import has
// no NULL and no computed columns: the two tables with absent values are not STRICT here, and the
// point table has its stored columns alone. What is on the disk is the same.
void make_import_base(const std::string& filled, const std::string& base) {
  run_shell(fmt::format(
      "cp {0} {1} && sqlite3 -bail {1} \"PRAGMA foreign_keys=OFF; DELETE FROM distribution; DELETE "
      "FROM point; DELETE FROM rank; DELETE FROM attempt; PRAGMA writable_schema=ON; UPDATE "
      "sqlite_schema SET sql=replace(sql, ') STRICT', ')') WHERE name IN ('rank', 'distribution'); "
      "UPDATE sqlite_schema SET sql=substr(sql, 1, instr(sql, 'rank INTEGER GENERATED') - 1) || "
      "'CHECK (1)) STRICT' WHERE name='point'; "
      "PRAGMA writable_schema=RESET; VACUUM; PRAGMA wal_checkpoint(TRUNCATE);\" >/dev/null",
      filled, base));
}

// Argument: with histograms (then without the comparison, which has no text for blobs).
void ingest_against_import(benchmark::State& state) {
  const auto all = deliveries(false);
  const double points = kTasks * static_cast<double>(kPointsInTask);
  double ours = 0;
  double theirs = 0;
  for (auto _ : state) {
    const TempFolder folder;
    plan(folder.file("planned"));
    run_shell(fmt::format("cp {} {}", folder.file("planned"), folder.file("db")));
    const double seconds = ingest_seconds(folder.file("db"), all);
    make_import_base(folder.file("db"), folder.file("base"));
    write_import(folder, folder.file("db"));
    const double begin = now_seconds();
    run_shell(fmt::format("sqlite3 -bail {} <{}", folder.file("base"), folder.file("import.sql")));
    const double import_seconds = now_seconds() - begin;
    auto counted = Connection::open(folder.file("base"), Connection::Mode::kReadOnly, 1);
    if (**counted->integer("SELECT (SELECT count(*) FROM point) = (SELECT count(*) FROM "
                           "distribution)") != 1 ||
        static_cast<double>(**counted->integer("SELECT count(*) FROM point")) != points)
      std::abort();
    ours += seconds;
    theirs += import_seconds;
    state.SetIterationTime(seconds);
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["points/s"] = points * rounds / ours;
  state.counters["import_points/s"] = points * rounds / theirs;
  state.counters["ratio"] = theirs / ours;
}
BENCHMARK(ingest_against_import)->UseManualTime()->Iterations(5)->Unit(benchmark::kMillisecond);

void ingest_with_histograms(benchmark::State& state) {
  const auto all = deliveries(true);
  double seconds = 0;
  for (auto _ : state) {
    const TempFolder folder;
    plan(folder.file("db"));
    const double once = ingest_seconds(folder.file("db"), all);
    seconds += once;
    state.SetIterationTime(once);
  }
  state.counters["points/s"] = kTasks * static_cast<double>(kPointsInTask) *
                               static_cast<double>(state.iterations()) / seconds;
}
BENCHMARK(ingest_with_histograms)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);

// One record, one commit: what the fsync costs.
void append_one_and_wait(benchmark::State& state) {
  const TempFolder folder;
  auto store = open_store(folder.file("db"));
  plan_run(*store, "r1", 1);
  must(append(*store, "id-1", {started_record({})}));
  std::uint32_t sequence = 0;
  for (auto _ : state) must(append(*store, "id-1", {point_record({}, ++sequence)}));
}
BENCHMARK(append_one_and_wait)->UseRealTime()->Unit(benchmark::kMillisecond);

// --- years of nights
// -------------------------------------------------------------------------------

constexpr int kNodes = 64;
constexpr int kPairs = 1'250;  // a night
constexpr int kSizes = 20;     // points of a task
constexpr int kMatrixEndpoints = 512;

double wanted_points() {
  const char* given = std::getenv("RAILGAUGE_BENCH_POINTS");
  return given == nullptr ? 1e7 : std::atof(given);
}

// Synthetic: one night's tasks as rows, without distributions, as they are after 13 months.
void insert_night(Connection& connection, int night) {
  must(connection.execute(
      "INSERT INTO run (run_id, suite, suite_text, trigger, requested_by, state, outcome, reason, "
      "nodes, created_at, started_at, ended_at) VALUES ('night' || ?1, 'nightly', '', 'schedule', "
      "'', 'ended', 'passed', '', '[]', ?2, ?2, ?2 + 3000)",
      night, 1.6e9 + 86'400.0 * night));
  must(connection.execute(
      "WITH RECURSIVE t (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM t WHERE i < ?2 - 1) INSERT "
      "INTO task (id, run, task_id, stage, round, kernel, parameter_set, identity_parameters, "
      "deadline_seconds, expected_seconds, expected_bytes, state, outcome, reason, attempts, "
      "counted_attempt) SELECT ?1 * ?2 + i + 1, ?1 + 1, 't' || i, 0, 0, 'verbs.write_lat', 1, "
      "'[]', "
      "30, 3, 1e6, 'ended', 'passed', '', 1, 1 FROM t",
      night, kPairs));
  for (const std::string_view sql :
       {"INSERT INTO task_rank (task, rank, node, node_name, endpoint, endpoint_text) SELECT "
        "task.id, "
        "n, node.id, name, endpoint.id, 'rxe0:1' FROM task JOIN (SELECT 0 AS n UNION SELECT 1) "
        "JOIN "
        "node ON node.id=1 + iif(n=0, task.id % ?2, (task.id + 1 + task.id / ?2 % 20) % ?2) JOIN "
        "endpoint ON endpoint.node=node.id WHERE run=?1 + 1",
        "INSERT INTO attempt (id, task, attempt, outcome, reason) SELECT id, id, 1, 'passed', '' "
        "FROM "
        "task WHERE run=?1 + 1 AND ?2 > 0",
        "INSERT INTO rank (id, attempt, rank, revision, parameter_set, started_at, ended_at, "
        "outcome, "
        "reason) SELECT 2 * task.id + n, task.id, n, 1, 1, 1.6e9 + 86400.0 * ?1, 1.6e9 + 86400.0 * "
        "?1 "
        "+ 3, 'passed', '' FROM task JOIN (SELECT 0 AS n UNION SELECT 1) WHERE run=?1 + 1 AND ?2 > "
        "0 "
        "ORDER BY 1"})
    must(connection.execute(sql, night, kNodes));
  must(connection.execute(
      "WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < ?3 - 1) INSERT "
      "INTO "
      "point (id, series, measured_ms, median, median_low, median_high, p99, sample_count, flags) "
      "SELECT (2 * task.id << 20) + i + 1, (task.id - 1) % ?2 * ?3 + i + 1, 1600000000000 + "
      "86400000 * ?1 + (task.id % ?2) * 2400 + i * 91, 1500 + i + random() * 1e-17, 1490 + "
      "random() * 1e-17, "
      "1510 + "
      "random() * 1e-17, 1900 + random() * 1e-17, 1000, 5 FROM task JOIN s WHERE run=?1 + 1 ORDER "
      "BY 1",
      night, kPairs, kSizes));
}

void insert_series(Connection& connection) {
  must(connection.execute("INSERT INTO parameter_set (id, hash, body) VALUES (1, 0, '{}')"));
  must(
      connection.execute("WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i "
                         "< ?1 * ?2 - 1) INSERT "
                         "INTO series (id, kernel, revision, metric, meaning, message_bytes, rank, "
                         "parameters, endpoints, "
                         "pair, unit, larger_is_better) SELECT i + 1, 'verbs.write_lat', 1, "
                         "'latency_ns', 'half_rtt', 1 << "
                         "i % ?2, 0, '{}', 'pair' || (i / ?2), '', 'ns', 0 FROM s",
                         kPairs, kSizes));
  // Task id - 1 is the pair's number, modulo the pairs: node and partner as in task_rank above.
  must(connection.execute(
      "INSERT INTO series_endpoint (series, position, endpoint) SELECT series.id, n, endpoint.id "
      "FROM "
      "series JOIN (SELECT 0 AS n UNION SELECT 1) JOIN endpoint ON endpoint.node=1 + iif(n=0, "
      "((series.id - 1) / ?2 + 1) % ?1, ((series.id - 1) / ?2 + 2) % ?1)",
      kNodes, kSizes));
}

// Filled once for all queries.
class Years {
 public:
  static Years& get() {
    static Years years;
    return years;
  }
  Store& store() { return *store_; }
  [[nodiscard]] int nights() const { return nights_; }
  [[nodiscard]] double bytes_a_point() const { return bytes_a_point_; }

 private:
  Years() {
    const char* kept = std::getenv("RAILGAUGE_BENCH_DATABASE");
    const std::string path = kept == nullptr ? folder_.file("db") : kept;
    if (!std::filesystem::exists(path)) fill(path);
    store_ = open_store(path);
    const auto space = store_->space();
    must(space);
    bytes_a_point_ = space->file_bytes / space->points;
    nights_ = static_cast<int>(space->runs);
    std::printf("%.0f points in %d nights\n", space->points, nights_);
    for (const SpacePart& part : space->parts)
      if (part.bytes > 0.01 * space->file_bytes)
        std::printf("%-24s %6.1f bytes a point\n", part.name.c_str(), part.bytes / space->points);
    PairMatrixRow matrix{.run_id = "night0", .metric = "bandwidth_bytes_per_second"};
    for (int i = 0; i < kMatrixEndpoints; ++i)
      matrix.endpoints.push_back(fmt::format("n{}/rxe0:1", i));
    matrix.values.resize(static_cast<std::size_t>(kMatrixEndpoints) * kMatrixEndpoints);
    for (std::size_t i = 0; i < matrix.values.size(); ++i)
      matrix.values[i] =
          i % (kMatrixEndpoints + 1) == 0 ? NAN : 12e9F + static_cast<float>(i * 7919 % 100'003);
    must(store_->put_pair_matrix(matrix));
  }

  static void fill(const std::string& path) {
    {
      auto store = open_store(path);
      for (int node = 1; node <= kNodes; ++node) must(store->put_node(node_row(node)));
    }
    auto connection = open_and_migrate(path, 1, 0);
    must(connection);
    must(connection->script("PRAGMA synchronous=OFF; BEGIN"));
    insert_series(*connection);
    must(connection->script("COMMIT"));
    const int nights = static_cast<int>(wanted_points() / (kPairs * kSizes));
    for (int night = 0; night < nights; ++night) {
      must(connection->script("BEGIN"));
      insert_night(*connection, night);
      must(connection->script("COMMIT"));
    }
  }

  TempFolder folder_;
  int nights_ = 0;
  std::unique_ptr<Store> store_;
  double bytes_a_point_ = 0;
};

void query(benchmark::State& state, const ResultsFilter& filter) {
  std::size_t rows = 0;
  Store& store = Years::get().store();  // filled or opened outside the timed region
  for (auto _ : state) {
    auto found = store.results(filter);
    must(found);
    if (found->empty()) std::abort();
    rows = found->size();
  }
  state.counters["rows"] = static_cast<double>(rows);
  state.counters["bytes_a_point"] = Years::get().bytes_a_point();
}

void one_series(benchmark::State& state) {
  query(state, {.run_id = "all", .series = 4'711, .limit = kMaxResultRows});
}
void history_of_one_series(benchmark::State& state) {
  for (auto _ : state) {
    auto found = Years::get().store().history(4'711, {}, 100'000);
    must(found);
    state.counters["rows"] = static_cast<double>(found->points.size());
  }
}
void one_nodes_last_night(benchmark::State& state) {
  query(state, {.run_id = "all",
                .nodes = {"n7"},
                .since = 1.6e9 + 86'400.0 * (Years::get().nights() - 1),
                .limit = kMaxResultRows});
}
void newest_run(benchmark::State& state) { query(state, {}); }
void whole_newest_run(benchmark::State& state) { query(state, {.limit = kMaxResultRows}); }
void matrix_of_a_run(benchmark::State& state) {
  for (auto _ : state) {
    const auto found = Years::get().store().pair_matrix({.run_id = "night0"});
    must(found);
    state.counters["endpoints"] = static_cast<double>(found->endpoints.size());
  }
}
void list_runs(benchmark::State& state) {
  for (auto _ : state) must(Years::get().store().list_runs(20));
}
void two_runs_compared(benchmark::State& state) {
  const std::string b = fmt::format("night{}", Years::get().nights() - 1);
  for (auto _ : state) must(Years::get().store().compare("night0", b));
}
BENCHMARK(one_series)->Unit(benchmark::kMillisecond);
BENCHMARK(history_of_one_series)->Unit(benchmark::kMillisecond);
BENCHMARK(one_nodes_last_night)->Unit(benchmark::kMillisecond);
BENCHMARK(matrix_of_a_run)->Unit(benchmark::kMillisecond);
BENCHMARK(newest_run)->Unit(benchmark::kMillisecond);
BENCHMARK(whole_newest_run)->Unit(benchmark::kMillisecond);
BENCHMARK(list_runs)->Unit(benchmark::kMillisecond);
BENCHMARK(two_runs_compared)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace railgauge::store
