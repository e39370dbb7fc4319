// What stands behind Store: the writer with its sinks, and the readers.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/store/interner.h"
#include "controller/store/record_sink.h"
#include "controller/store/run_sink.h"
#include "controller/store/schema.h"
#include "controller/store/store.h"
#include "controller/store/writer.h"

namespace railgauge::store {

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline double size_of_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<double>(size);
}

inline double free_bytes_beside(const std::string& path) {
  std::error_code error;
  const auto folder = std::filesystem::absolute(path, error).parent_path();
  const auto space = std::filesystem::space(folder, error);
  return error ? 0 : static_cast<double>(space.available);
}

// Connections for queries, opened when first needed, at most so many.
class Readers {
 public:
  explicit Readers(const StoreOptions& options) : options_(options) {}

  // Runs `read` on a free connection inside one read transaction.
  template <class Read>
  auto run(Read read) -> decltype(read(std::declval<Connection&>())) {
    std::unique_ptr<Connection> connection = RG_TRY(take());
    auto result = in_snapshot(*connection, read, options_.query_seconds);
    give(std::move(connection));
    return result;
  }

 private:
  template <class Read>
  static auto in_snapshot(Connection& connection, Read& read, double seconds)
      -> decltype(read(std::declval<Connection&>())) {
    const Connection::TimeLimit limit(connection, seconds);
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
                },
                [this] { return may_write(); }};

 private:
  // After a batch that made the log large. SQLite itself moves the log into the database while
  // others read, but starts it anew only when no reader is in it: that is tried here, and never
  // waited for.
  bool may_write() {
    const double step_bytes = options.large_wal_bytes / 16;  // a trial reads the log's index
    const double bytes = size_of_file(options.path + "-wal");
    if (bytes < std::min(options.large_wal_bytes, options.max_wal_bytes)) {
      tried_at_bytes_ = 0;
      return true;
    }
    const bool too_large = bytes >= options.max_wal_bytes;
    if (!too_large && bytes < tried_at_bytes_ + step_bytes) return true;
    tried_at_bytes_ = bytes;
    // With the busy timeout it would wait for every reader, and the agents with it.
    static_cast<void>(connection.script("PRAGMA busy_timeout=0; PRAGMA wal_checkpoint(TRUNCATE)"));
    static_cast<void>(connection.script(
        fmt::format("PRAGMA busy_timeout={:.0f}", options.busy_timeout_seconds * 1e3).c_str()));
    return size_of_file(options.path + "-wal") < options.max_wal_bytes;
  }
  double tried_at_bytes_ = 0;  // size of the log then; 0: not since it was small
};

}  // namespace railgauge::store
