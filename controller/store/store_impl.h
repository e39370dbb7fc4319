// The parts of Store: the writer with its sinks, and the readers.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "controller/store/ingest/interner.h"
#include "controller/store/ingest/record_sink.h"
#include "controller/store/ingest/run_sink.h"
#include "controller/store/ingest/writer.h"
#include "controller/store/queries/audit.h"
#include "controller/store/sqlite/lock.h"
#include "controller/store/store.h"
#include "controller/store/upkeep/backup.h"
#include "controller/store/upkeep/reserve.h"
#include "controller/store/upkeep/schema.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// Remembers the node whose delivery failed. Later records of the node may be in the queue already.
// If they were stored, the node's mark would pass the missing ones. Used on the writer thread only.
class Deliveries {
 public:
  // kAborted: an earlier delivery of the node is missing.
  Status check(const std::string& node_id, const std::optional<SpoolRange>& range) const {
    const auto failed = failed_.find(node_id);
    if (!range || failed == failed_.end() || range->first <= failed->second) return {};
    return fail(Code::kAborted,
                fmt::format("records of node {} from {} on: those from {} on were not stored; they "
                            "are sent again first",
                            node_id, range->first, failed->second));
  }
  void note(const std::string& node_id, const SpoolRange& range, const Status& outcome) {
    if (outcome) {
      if (!failed_.empty()) failed_.erase(node_id);
    } else {
      failed_.try_emplace(node_id, range.first);
    }
  }

 private:
  std::unordered_map<std::string, std::int64_t> failed_;  // by node: its first record
};

inline double now_seconds() { return wall_seconds(); }

inline bool is_same_disk(const std::string& one, const std::string& other) {
  struct stat first {};
  struct stat second {};
  const std::string folder = std::filesystem::path(other).parent_path().string();
  return ::stat(one.c_str(), &first) == 0 &&
         ::stat(folder.empty() ? "." : folder.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev;
}

// Whether a checkpoint has room for the pages that the log adds to the file. One that has not would
// take the last room and end half way. On the writer's thread.
inline bool may_checkpoint(Connection& connection) {
  const auto pages = connection.integer("PRAGMA page_count");
  const auto page_bytes = connection.integer("PRAGMA page_size");
  if (!pages || !page_bytes) return false;
  const auto wanted = static_cast<double>(pages->value_or(0) * page_bytes->value_or(0));
  return wanted - size_of_file(connection.path()) <=
         free_bytes_beside(connection.path()).value_or(0);
}

// Connections for queries, opened when first needed, up to a bound.
class Readers {
 public:
  explicit Readers(const StoreOptions& options) : options_(options) {
    free_.reserve(options.max_readers);  // give() must not fail
  }

  // Runs `read` on a free connection inside one read transaction.
  template <class Read>
  auto run(Read read) -> decltype(read(std::declval<Connection&>())) {
    Lease lease{*this, RG_TRY(take())};
    return in_snapshot(*lease.connection, read, options_.query_seconds);
  }

 private:
  // Gives the connection back, also when an answer is too large for memory.
  struct Lease {
    ~Lease() { readers.give(std::move(connection)); }
    Readers& readers;
    std::unique_ptr<Connection> connection;
  };

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

  // A connection that is stuck in a transaction is closed instead.
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

// Runs readers of the whole file. They end when the store closes, when a write or a pruning has to
// wait for them, or when their caller is gone.
class Upkeep {
 public:
  // Runs `read` on a connection of its own. `cancelled`: whether the caller is gone; another thread
  // asks it some times a second.
  template <class Read>
  auto run(const StoreOptions& options, std::string_view act, Read read,
           const std::function<bool()>& cancelled = {})
      -> decltype(read(std::declval<Connection&>())) {
    Connection reader = RG_TRY(open_for_reading(options.path, options.busy_timeout_seconds));
    const Entry entry{*this, reader, begin(reader)};
    std::atomic<bool> is_gone = false;
    const Connection::TimeLimit limit(reader, [&] {
      return stopping_.load() || is_gone.load() || ended_.load() != entry.ended_before;
    });
    const CallerWatch watch(reader, cancelled, is_gone);
    auto result = read(reader);
    if (result || result.error().code != Code::kDeadlineExceeded) return result;
    return fail(Code::kCancelled, fmt::format("store {}: {}: ended: {}", options.path, act,
                                              is_gone ? "its caller is gone" : why()));
  }
  // Ends the readers with `why`. False: none was running.
  bool yield(std::string why) {
    const std::lock_guard lock(mutex_);
    why_ = std::move(why);
    ++ended_;
    interrupt();
    return !running_.empty();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    interrupt();
  }
  [[nodiscard]] bool stopping() const { return stopping_; }

 private:
  // Interrupts a reader whose caller is gone, until the end of its life.
  class CallerWatch {
   public:
    CallerWatch(const Connection& reader, const std::function<bool()>& cancelled,
                std::atomic<bool>& is_gone) {
      if (!cancelled) return;
      thread_ = std::jthread([this, raw = reader.raw(), &cancelled,
                              &is_gone](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!wake_.wait_for(lock, stop, kPoll, [] { return false; }) && !stop.stop_requested()) {
          if (!cancelled()) continue;
          is_gone = true;
          sqlite3_interrupt(raw);
        }
      });
    }

   private:
    static constexpr std::chrono::milliseconds kPoll{100};
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::jthread thread_;  // the last member: it uses those above
  };
  // In the list of those that run, until its end, also by an answer too large for memory.
  struct Entry {
    ~Entry() { upkeep.end(reader); }
    Upkeep& upkeep;
    const Connection& reader;
    std::uint64_t ended_before;
  };
  std::uint64_t begin(const Connection& reader) {
    const std::lock_guard lock(mutex_);
    running_.push_back(reader.raw());
    return ended_;
  }
  void end(const Connection& reader) {
    const std::lock_guard lock(mutex_);
    std::erase(running_, reader.raw());
  }
  // The check of a whole tree is one operation of SQLite, which only an interrupt can end.
  void interrupt() {
    for (sqlite3* reader : running_) sqlite3_interrupt(reader);
  }
  std::string why() {
    const std::lock_guard lock(mutex_);
    return stopping_ ? "the controller is stopping" : why_;
  }
  std::mutex mutex_;  // guards all that is not atomic
  std::string why_;
  std::vector<sqlite3*> running_;
  std::atomic<std::uint64_t> ended_ = 0;
  std::atomic<bool> stopping_ = false;
};

// The members of the writer thread, in the order of their construction.
class Store::Impl {
 public:
  Impl(StoreOptions chosen, File locked, std::unique_ptr<Reserve> kept, Connection opened,
       OrphanTotals totals)
      : lock(std::move(locked)),
        options(std::move(chosen)),
        reserve(std::move(kept)),
        connection(std::move(opened)),
        orphans(connection, {options.max_orphan_bytes, options.max_node_orphan_bytes},
                std::move(totals)) {}

  [[nodiscard]] double now() const { return options.clock ? options.clock() : now_seconds(); }

  const File lock;  // released last
  const StoreOptions options;
  const std::unique_ptr<Reserve> reserve;
  mutable Upkeep upkeep;
  AuditRetention audit_retention;  // outlives the connection, which refers to it
  Connection connection;           // the writer thread's, as are the sinks
  Interner interner{connection};
  Orphans orphans;
  RecordSink records{connection, interner, orphans, options.node_run};
  RunSink runs{connection, interner};
  Deliveries deliveries;
  mutable Readers readers{options};
  // The writer thread's; before it, since it asks for room at once.
  double tried_at_bytes_ = 0;  // size of the log then; 0: not since it was small
  double held_since_ns_ = 0;   // 0: not held back
  bool held_told_ = false;
  Writer writer{connection,
                {.max_records = options.max_queued_records,
                 .max_bytes = options.max_queued_bytes,
                 .max_batch_records = options.max_batch_records,
                 .close_seconds = options.wait_seconds},
                [this] {
                  interner.forget();
                  records.forget();
                  records.forget_accounts();
                  orphans.forget();
                },
                [this] { return room(); },
                [this] {
                  if (connection.lacks_room()) reserve->note_full();
                }};

 private:
  // Called after a batch that made the log large. SQLite moves the log into the database while
  // others read, but restarts the log only when no reader is in it. This is tried here and never
  // waited for.
  Room room() {
    const double step_bytes = options.large_wal_bytes / 16;  // a trial reads the log's index
    double bytes = size_of_file(options.path + "-wal");
    // On a full disk the log's file is room, which a new beginning gives without asking for more.
    if (reserve->is_full() && may_checkpoint(connection))
      static_cast<void>(begin_log_anew("RESTART"));
    if (bytes < std::min(options.large_wal_bytes, options.max_wal_bytes)) {
      tried_at_bytes_ = 0;
      return note_room(Room::kAll, bytes);
    }
    const bool too_large = bytes >= options.max_wal_bytes;
    if (!too_large && bytes < tried_at_bytes_ + step_bytes) return note_room(Room::kAll, bytes);
    tried_at_bytes_ = bytes;
    bytes = begin_log_anew("TRUNCATE");
    if (bytes < options.max_wal_bytes) return note_room(Room::kAll, bytes);
    // States of runs are few and nobody repeats them.
    return note_room(
        bytes < options.max_wal_bytes * kControlShare ? Room::kControl : Room::kNothing, bytes);
  }

  // Returns the size of the log afterwards. With the busy timeout it would wait for every reader,
  // and the agents with it.
  double begin_log_anew(std::string_view mode) {
    static_cast<void>(connection.script(
        fmt::format("PRAGMA busy_timeout=0; PRAGMA wal_checkpoint({})", mode).c_str()));
    static_cast<void>(connection.script(
        fmt::format("PRAGMA busy_timeout={:.0f}", options.busy_timeout_seconds * 1e3).c_str()));
    return size_of_file(options.path + "-wal");
  }

  // Logs once what blocks the log, and ends the readers of the whole file that block it.
  Room note_room(Room room, double bytes) {
    if (room == Room::kAll) {
      if (held_since_ns_ > 0 && held_told_)
        spdlog::info("store {}: records are written again", options.path);
      held_since_ns_ = 0;
      held_told_ = false;
      return room;
    }
    const double now_ns = monotonic_now_ns();
    if (held_since_ns_ == 0) held_since_ns_ = now_ns;
    const double held_seconds = (now_ns - held_since_ns_) / 1e9;
    if (!held_told_ && held_seconds >= options.held_seconds) {
      held_told_ = true;
      const bool ends = upkeep.yield(fmt::format(
          "it read for so long that the log grew past {:.0f} MB and records had to wait; check a "
          "backup instead, or ask when no run is active",
          options.max_wal_bytes / 1e6));
      spdlog::warn(
          "store {}: records wait: its log has {:.0f} MB and cannot be begun anew while {} reads",
          options.path, bytes / 1e6,
          ends ? "a check or stats (ended now)" : "a query or another program");
    }
    return room;
  }
  static constexpr double kControlShare = 1.5;
};

}  // namespace railgauge::store
