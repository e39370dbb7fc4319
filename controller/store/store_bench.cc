// The store's speed on a real file with synchronous=FULL: points in, against the sqlite3 shell's
// .import of the same rows. store_query_bench.cc measures its queries.
#include <benchmark/benchmark.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "controller/store/outbox/mirror_outbox.h"
#include "controller/store/sqlite/sqlite.h"
#include "controller/store/store.h"
#include "controller/store/testing/store_bench.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

constexpr std::uint32_t kPointsInTask = 30;  // with start and end 32 records
constexpr int kTasksInBatch = 128;           // 4,096 records: one transaction
constexpr int kBatches = 24;
constexpr int kTasks = kTasksInBatch * kBatches;

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
double ingest_seconds(const std::string& path, const std::vector<std::vector<Record>>& all,
                      bool is_mirrored = false) {
  auto store = open_store(path);
  if (is_mirrored) must(store->write(arm_mirror));
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
// point table has its stored columns alone. The bytes on the disk are the same.
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

// Argument: whether a mirror's outbox is filled.
void ingest_beside_outbox(benchmark::State& state) {
  const auto all = deliveries(false);
  double seconds = 0;
  for (auto _ : state) {
    const TempFolder folder;
    plan(folder.file("db"));
    const double once = ingest_seconds(folder.file("db"), all, state.range(0) == 1);
    seconds += once;
    state.SetIterationTime(once);
  }
  state.counters["points/s"] = kTasks * static_cast<double>(kPointsInTask) *
                               static_cast<double>(state.iterations()) / seconds;
}
BENCHMARK(ingest_beside_outbox)
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

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

}  // namespace
}  // namespace railgauge::store
