#include "controller/store/store.h"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "controller/store/interner.h"
#include "controller/store/queries.h"
#include "controller/store/record_sink.h"
#include "controller/store/run_sink.h"
#include "controller/store/schema.h"
#include "controller/store/writer.h"

namespace railgauge::store {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double size_of_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<double>(size);
}

// Connections for queries, opened when first needed, at most so many.
class Readers {
 public:
  explicit Readers(const StoreOptions& options) : options_(options) {}

  // Runs `read` on a free connection inside one read transaction.
  template <class Read>
  auto run(Read read) -> decltype(read(std::declval<Connection&>())) {
    std::unique_ptr<Connection> connection = RG_TRY(take());
    auto result = in_snapshot(*connection, read);
    give(std::move(connection));
    return result;
  }

 private:
  template <class Read>
  static auto in_snapshot(Connection& connection, Read& read)
      -> decltype(read(std::declval<Connection&>())) {
    RG_TRY_OK(connection.execute("BEGIN"));
    auto result = read(connection);
    const Status ended = connection.execute("COMMIT");
    if (!ended && result) return tl::unexpected(ended.error());
    return result;
  }

  Result<std::unique_ptr<Connection>> take() {
    std::unique_lock lock(mutex_);
    const bool in_time =
        freed_.wait_for(lock, std::chrono::duration<double>(options_.wait_seconds),
                        [&] { return !free_.empty() || opened_ < options_.max_readers; });
    if (!in_time)
      return fail(Code::kDeadlineExceeded,
                  fmt::format("store {}: read: all {} connections were busy for {} s",
                              options_.path, options_.max_readers, options_.wait_seconds));
    if (!free_.empty()) {
      std::unique_ptr<Connection> connection = std::move(free_.back());
      free_.pop_back();
      return connection;
    }
    Connection opened = RG_TRY(open_for_reading(options_.path, options_.busy_timeout_seconds));
    ++opened_;
    return std::make_unique<Connection>(std::move(opened));
  }

  // One that is stuck in a transaction is closed instead.
  void give(std::unique_ptr<Connection> connection) {
    {
      const std::lock_guard lock(mutex_);
      if (connection->in_transaction())
        --opened_;
      else
        free_.push_back(std::move(connection));
    }
    freed_.notify_one();
  }

  const StoreOptions& options_;
  std::mutex mutex_;  // guards all below
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> free_;
  std::uint32_t opened_ = 0;
};

}  // namespace

class Store::Impl {
 public:
  Impl(StoreOptions chosen, Connection opened)
      : options(std::move(chosen)), connection(std::move(opened)) {}

  const StoreOptions options;
  Connection connection;  // the writer thread's, as are the sinks
  Interner interner{connection};
  RecordSink records{connection, interner};
  RunSink runs{connection, interner};
  mutable Readers readers{options};
  Writer writer{connection,
                {.max_records = options.max_queued_records,
                 .max_bytes = options.max_queued_bytes,
                 .max_batch_records = options.max_batch_records,
                 .close_seconds = options.wait_seconds},
                [this] {
                  interner.forget();
                  records.forget();
                }};
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  Connection connection =
      RG_TRY(open_and_migrate(options.path, options.busy_timeout_seconds, options.max_pages));
  return std::unique_ptr<Store>(
      new Store(std::make_unique<Impl>(std::move(options), std::move(connection))));
}

Status Store::append_records(std::string node_id, std::vector<Record> records, Completion done) {
  WriteJob job{.done = std::move(done), .records = records.size()};
  for (const Record& record : records) job.bytes += record.ByteSizeLong();
  job.apply = [this, node_id = std::move(node_id), records = std::move(records)] {
    return impl_->records.store(node_id, records, now_seconds());
  };
  return impl_->writer.submit(std::move(job));
}

Status Store::put_node(NodeRow node, Completion done) {
  return impl_->writer.submit(
      {.apply = [this,
                 node = std::move(node)] { return impl_->runs.put_node(node, now_seconds()); },
       .done = std::move(done)});
}

Status Store::update_run(RunUpdate update, Completion done) {
  return impl_->writer.submit(
      {.apply = [this, update = std::move(update)] { return impl_->runs.update_run(update); },
       .done = std::move(done)});
}

Status Store::update_task(TaskUpdate update, Completion done) {
  return impl_->writer.submit(
      {.apply = [this, update = std::move(update)] { return impl_->runs.update_task(update); },
       .done = std::move(done)});
}

Status Store::add_event(EventRow event, Completion done) {
  if (event.at <= 0) event.at = now_seconds();
  return impl_->writer.submit(
      {.apply = [this, event = std::move(event)] { return insert_event(impl_->connection, event); },
       .done = std::move(done)});
}

Status Store::create_run(RunRow run, std::vector<TaskRow> tasks) {
  return impl_->writer.submit_and_wait(
      [this, run = std::move(run), tasks = std::move(tasks)] {
        return impl_->runs.create_run(run, tasks, now_seconds());
      },
      impl_->options.wait_seconds);
}

Result<std::vector<std::string>> Store::end_interrupted_runs() {
  const auto ended = std::make_shared<std::vector<std::string>>();  // outlives a wait given up
  RG_TRY_OK(impl_->writer.submit_and_wait(
      [this, ended] { return impl_->runs.end_interrupted(now_seconds(), *ended); },
      impl_->options.wait_seconds));
  return std::move(*ended);
}

Status Store::flush() {
  return impl_->writer.submit_and_wait([] { return Status(); }, impl_->options.wait_seconds);
}

Result<std::vector<RunSummaryRow>> Store::list_runs(std::uint32_t limit) const {
  return impl_->readers.run([&](Connection& reader) { return read_runs(reader, limit); });
}

Result<RunSummaryRow> Store::run_summary(std::string_view run_id) const {
  return impl_->readers.run([&](Connection& reader) { return read_run(reader, run_id); });
}

Result<RunDetailRow> Store::run_detail(std::string_view run_id) const {
  return impl_->readers.run([&](Connection& reader) { return read_run_detail(reader, run_id); });
}

Result<std::vector<ResultRow>> Store::results(const ResultsFilter& filter) const {
  return impl_->readers.run([&](Connection& reader) { return read_results(reader, filter); });
}

Result<Histogram> Store::histogram(std::string_view run_id, std::string_view task_id,
                                   std::uint32_t attempt, std::uint32_t rank,
                                   std::uint32_t sequence) const {
  const PointKey key{run_id, task_id, attempt, rank, sequence};
  return impl_->readers.run([&](Connection& reader) { return read_histogram(reader, key); });
}

Result<std::vector<double>> Store::samples(std::string_view run_id, std::string_view task_id,
                                           std::uint32_t attempt, std::uint32_t rank,
                                           std::uint32_t sequence) const {
  const PointKey key{run_id, task_id, attempt, rank, sequence};
  return impl_->readers.run([&](Connection& reader) { return read_samples(reader, key); });
}

Result<std::vector<NodeRow>> Store::list_nodes() const {
  return impl_->readers.run([](Connection& reader) { return read_nodes(reader); });
}

Result<std::vector<EventRow>> Store::list_events(std::uint32_t limit) const {
  return impl_->readers.run([&](Connection& reader) { return read_events(reader, limit); });
}

Result<StoreStats> Store::stats() const {
  const auto orphans = RG_TRY(impl_->readers.run(
      [](Connection& reader) { return reader.integer("SELECT count(*) FROM orphan_record"); }));
  const WriterStats writer = impl_->writer.stats();
  const std::string& path = impl_->options.path;
  return StoreStats{.database_version = schema_version(),
                    .file_bytes = size_of_file(path) + size_of_file(path + "-wal"),
                    .queued_records = static_cast<double>(writer.queued_records),
                    .queued_bytes = static_cast<double>(writer.queued_bytes),
                    .committed_batches = static_cast<double>(writer.committed_batches),
                    .committed_records = static_cast<double>(writer.committed_records),
                    .last_commit_seconds = writer.last_commit_seconds,
                    .failed_batches = static_cast<double>(writer.failed_batches),
                    .orphan_records = static_cast<double>(orphans.value_or(0))};
}

}  // namespace railgauge::store
