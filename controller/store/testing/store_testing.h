// Helpers of the store's tests: a temporary folder, and records as an agent sends them.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/store/store.h"

namespace railgauge::store {

// A temporary folder, removed after the test.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rg_store_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::unique_ptr<Store> open_store(const std::string& path, StoreOptions options = {}) {
  options.path = path;
  auto store = Store::open(std::move(options));
  if (!store) {
    ADD_FAILURE() << store.error().message;
    std::abort();  // nothing can be tested without it
  }
  return std::move(*store);
}

inline NodeRow node_row(int number) {
  return {.node_id = fmt::format("id-{}", number),
          .name = fmt::format("n{}", number),
          .version = "0.1.0",
          .address = fmt::format("192.0.2.{}", number),
          .facts = {{"linux_kernel", "6.1.0"}},
          .endpoints = {{.kind = "nic",
                         .device = "rxe0",
                         .port = 1,
                         .netdev = "eth0",
                         .state = "active",
                         .link_layer = "ethernet",
                         .rate_bits_per_second = 1e9,
                         .active_mtu_bytes = 1024}}};
}

// Task t0001, t0002, ... of two ranks on n1 and n2.
inline std::vector<TaskRow> pair_tasks(int count) {
  std::vector<TaskRow> tasks;
  for (int i = 1; i <= count; ++i)
    tasks.push_back({.task_id = fmt::format("t{:04}", i),
                     .kernel = "verbs.write_lat",
                     .parameters = {{"depth", "1"}, {"sizes", "8"}},
                     .identity_parameters = {"depth"},
                     .ranks = {{.node_id = "id-1", .node = "n1", .endpoint = "rxe0:1"},
                               {.node_id = "id-2", .node = "n2", .endpoint = "rxe0:1"}},
                     .deadline_seconds = 30});
  return tasks;
}

inline RunRow run_row(std::string id) {
  return {.run_id = std::move(id),
          .suite = "quick",
          .suite_text = "version: 1\n",
          .trigger = "cli",
          .requested_by = "root",
          .state = RunState::kRunning,
          .nodes = {"n1", "n2"}};
}

// Dispatches an attempt, as the controller does before its agents hear of it.
inline void dispatch(Store& store, const std::string& run_id, const std::string& task_id,
                     std::uint32_t attempt = 1) {
  const TaskUpdate update{.run_id = run_id, .task_id = task_id, .attempts = attempt};
  while (!store.update_task(update)) static_cast<void>(store.flush());  // the queue was full
}

// The two nodes and one run with its tasks, whose first attempts are dispatched.
inline void plan_run(Store& store, const std::string& run_id, int tasks) {
  for (int node = 1; node <= 2; ++node) EXPECT_TRUE(store.put_node(node_row(node)));
  const Status created = store.create_run(run_row(run_id), pair_tasks(tasks));
  EXPECT_TRUE(created) << created.error().message;
  for (const TaskRow& task : pair_tasks(tasks)) dispatch(store, run_id, task.task_id);
  static_cast<void>(store.flush());  // the dispatches are stored when a test takes the lock
}

struct At {
  std::string run_id = "r1";
  std::string task_id = "t0001";
  std::uint32_t attempt = 1;
  std::uint32_t rank = 0;
};

inline Record record_at(const At& at, std::uint32_t sequence) {
  Record record;
  RecordKey& key = *record.mutable_key();
  key.set_run_id(at.run_id);
  key.set_task_id(at.task_id);
  key.set_attempt(at.attempt);
  key.set_rank(at.rank);
  key.set_sequence(sequence);
  record.set_unix_time_seconds(1.7e9 + sequence);
  return record;
}

inline Record started_record(const At& at) {
  Record record = record_at(at, 0);
  Started& started = *record.mutable_started();
  started.set_kernel("verbs.write_lat");
  started.set_revision(3);
  started.set_size(2);
  started.set_endpoint("rxe0:1");
  (*started.mutable_parameters())["depth"] = "1";
  (*started.mutable_parameters())["sizes"] = "8";
  (*started.mutable_facts())["path"] = "host, RC";
  return record;
}

inline Record point_record(const At& at, std::uint32_t sequence, double median = 1500) {
  Record record = record_at(at, sequence);
  Point& point = *record.mutable_point();
  point.set_metric("latency_ns");
  point.set_meaning("half_rtt");
  point.set_unit("ns");
  point.set_message_bytes(8);
  point.set_sample_count(1000);
  point.set_median(median);
  point.set_median_low(median - 10);
  point.set_median_high(median + 10.5);
  point.set_min(median / 2);
  point.set_max(median * 9);
  point.set_mean(median * 1.1);
  point.set_p25(median * 0.9);
  point.set_p99(median * 3);
  point.set_effective_sample_count(812.25);
  point.set_converged(true);
  point.set_verified(true);
  point.set_stop_reason("converged");
  point.set_warmup_count(200);
  point.set_measure_ns(3e6);
  for (int bucket = 0; bucket < 60; ++bucket) {
    point.mutable_histogram()->add_lower_bound(median + 10 * bucket);
    point.mutable_histogram()->add_count(1 + bucket % 7);
  }
  return record;
}

inline Record note_record(const At& at, std::uint32_t sequence, const std::string& text) {
  Record record = record_at(at, sequence);
  record.mutable_note()->set_severity("warning");
  record.mutable_note()->set_text(text);
  return record;
}

inline Record final_record(const At& at, std::uint32_t sequence, const std::string& outcome,
                           const std::string& reason = "") {
  Record record = record_at(at, sequence);
  Final& end = *record.mutable_final();
  end.set_outcome(outcome);
  end.set_reason(reason);
  end.mutable_phases()->set_start_ns(5e6);
  end.mutable_phases()->set_measure_ns(3e6);
  end.set_cpu_seconds(0.25);
  return record;
}

// Delivers records as an agent does, and waits for the commit.
inline Status deliver(Store& store, const std::string& node_id, std::vector<Record> records) {
  Status told = fail(Code::kUnknown, "never told");
  Status accepted = store.append_records(node_id, std::move(records),
                                         [&](const Status& status) { told = status; });
  if (!accepted) return accepted;
  if (Status flushed = store.flush(); !flushed) return flushed;
  return told;
}

// Reports whether the database has the attempt, or cannot be asked.
inline bool is_dispatched(const Store& store, const RecordKey& key) {
  const auto found = store.sql(
      fmt::format("SELECT 1 FROM run JOIN task ON task.run=run.id JOIN attempt ON "
                  "attempt.task=task.id WHERE run_id='{}' AND task_id='{}' AND attempt={}",
                  key.run_id(), key.task_id(), key.attempt()),
      1, 5);
  return !found || !found->rows.empty();
}

// Delivers records of attempts, which it dispatches first where nobody did.
inline Status append(Store& store, const std::string& node_id, std::vector<Record> records) {
  std::set<std::tuple<std::string, std::string, std::uint32_t>> seen;
  for (const Record& record : records) {
    const RecordKey& key = record.key();
    const bool is_new = seen.insert({key.run_id(), key.task_id(), key.attempt()}).second;
    if (is_new && key.attempt() > 0 && !is_dispatched(store, key))
      dispatch(store, key.run_id(), key.task_id(), key.attempt());
  }
  return deliver(store, node_id, std::move(records));
}

// Appends the records of both ranks of a passed attempt, with one point.
inline void append_passed(Store& store, At at, double median = 1500) {
  at.rank = 0;
  EXPECT_TRUE(
      append(store, "id-1",
             {started_record(at), point_record(at, 1, median), final_record(at, 2, "passed")}));
  at.rank = 1;
  EXPECT_TRUE(append(store, "id-2", {started_record(at), final_record(at, 1, "passed")}));
}

class StoreTest : public testing::Test {
 protected:
  // All points of all attempts of all runs.
  std::vector<ResultRow> all() {
    auto rows = store_->results({.run_id = "all", .all_attempts = true});
    EXPECT_TRUE(rows) << rows.error().message;
    return rows.value_or(std::vector<ResultRow>{});
  }
  std::vector<ResultRow> results(const ResultsFilter& filter) {
    auto rows = store_->results(filter);
    EXPECT_TRUE(rows) << rows.error().message;
    return rows.value_or(std::vector<ResultRow>{});
  }
  void reopen() {
    store_.reset();
    store_ = open_store(folder_.file("db"));
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_ = open_store(folder_.file("db"));
};

}  // namespace railgauge::store
