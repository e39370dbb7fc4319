// Turns records into rows, inside the writer's transaction. A record that fits no planned task or
// is not sound goes to orphan_record, with one event for each delivery: only the database can make
// a delivery fail, never the content of its records.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/store/ingest/interner.h"
#include "controller/store/ingest/parcel.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// Totals of the stored orphans.
struct OrphanTotals {
  std::int64_t records = 0;
  std::int64_t bytes = 0;  // includes an estimate of each orphan's row and index
};

// Reads all orphan records.
Result<OrphanTotals> count_orphans(Connection& connection);

// Store of orphans: acknowledged records that fit no planned task, because a restored backup lacks
// their run or because they are garbage. Keeps them up to a bound of bytes; they become results
// once their run exists. Used on the writer thread only, except for the counts.
class Orphans {
 public:
  Orphans(Connection& connection, std::int64_t max_bytes, OrphanTotals totals)
      : connection_(connection),
        max_bytes_(max_bytes),
        bytes_(totals.bytes),
        records_(totals.records) {}

  // Stores an orphan. Returns true if it was not stored before. Beyond the bound, the oldest
  // orphans are deleted, which is logged, counted and stored as an event. `now` is the controller's
  // time.
  Result<bool> put(std::string_view node_id, const Record& record, std::string_view reason,
                   double now);

  struct Entry {
    std::int64_t id = 0;
    std::string node_id;
    Record record;
  };
  // Returns orphans of a run, sorted by task, attempt, rank and sequence: at most `limit`, after
  // `after` (null: from the first).
  Result<std::vector<Entry>> of_run(std::string_view run_id, const Entry* after,
                                    std::uint32_t limit);
  Status remove(std::int64_t id);
  // Makes the totals be counted again; call after a rollback.
  void forget() { counted_ = false; }

  [[nodiscard]] std::int64_t records() const { return records_; }
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }  // since the start

 private:
  Status drop_oldest(double now);

  Connection& connection_;
  const std::int64_t max_bytes_;
  bool counted_ = true;
  std::int64_t bytes_;
  std::atomic<std::int64_t> records_;
  std::atomic<std::int64_t> dropped_ = 0;
};

// Bound of events about nodes that come and go and about refused records; the newest are kept.
inline constexpr std::int64_t kMaxEvents = 100'000;

// Bits of point.flags.
inline constexpr std::int64_t kFlagConverged = 1;
inline constexpr std::int64_t kFlagSynthetic = 2;
inline constexpr std::int64_t kFlagVerified = 4;
inline constexpr std::int64_t kFlagThrottled = 8;

// Returns the key of a point. The record check bounds the sequence.
constexpr std::int64_t point_id(std::int64_t rank, std::uint32_t sequence) {
  return rank << kSequenceBits | static_cast<std::int64_t>(sequence);
}

// Adds an event. Deletes the oldest events beyond kMaxEvents, of kinds that every restart repeats.
Status insert_event(Connection& connection, const EventRow& event);

// The sink of records. Used on the writer thread only.
class RecordSink {
 public:
  RecordSink(Connection& connection, Interner& interner, Orphans& orphans)
      : connection_(connection), interner_(interner), orphans_(orphans) {}

  // Stores one delivery of a node's spool. `now` is the controller's time.
  Status store(std::string_view node_id, std::span<const ReadyRecord> records, double now);
  // Stores the orphans of a run that now exists. Returns their number.
  Result<std::uint64_t> take_orphans(std::string_view run_id, double now);
  // Clears the caches; call after a rollback and when a task changed.
  void forget() {
    last_ = {};
    ranks_.clear();
  }

 private:
  // A rank of an attempt, as its records meet it.
  struct Rank {
    std::int64_t id = 0;       // in `rank`
    std::int64_t task = 0;     // in `task`
    std::int64_t attempt = 0;  // in `attempt`
    std::int64_t node = 0;
    std::uint32_t attempt_number = 0;
    std::uint32_t number = 0;
    std::string kernel;
    std::vector<std::string> identity_parameters;
    std::vector<std::int64_t> endpoints;    // by position, as planned
    std::optional<std::uint32_t> revision;  // absent: no Started record yet
    std::string parameters;                 // of the identity, as JSON
    std::uint64_t series_group = 0;         // Interner::series_group() of its series
  };
  // Reason for which a record becomes an orphan; absent: the record was stored.
  using Refusal = std::optional<std::string>;

  Result<Refusal> store_one(std::string_view node_id, const ReadyRecord& ready, double now);
  Result<Refusal> find_rank(std::string_view node_id, const RecordKey& key, double now,
                            Rank*& found);
  Result<Refusal> find_other_rank(std::string_view node_id, const RecordKey& key, double now,
                                  Rank*& found);
  Result<Refusal> load_rank(std::string_view node_id, const RecordKey& key, double now, Rank& rank);
  Status load_started(Rank& rank);
  Status load_endpoints(Rank& rank, double now);
  Status open_rank(Rank& rank);
  void identify(Rank& rank, const TextMap& parameters);

  Result<Refusal> store_started(Rank& rank, const Record& record, double now);
  Result<Refusal> store_point(const Rank& rank, const ReadyRecord& ready);
  Status store_distribution(std::int64_t id, const ReadyRecord& ready);
  Status store_note(const Rank& rank, const Record& record);
  Status store_final(const Rank& rank, const Record& record);
  Status close_attempt(const Rank& rank);

  Connection& connection_;
  Interner& interner_;
  Orphans& orphans_;
  std::unordered_map<std::string, Rank, TextHash, std::equal_to<>> ranks_;
  struct Last {
    std::string node_id;
    std::string run_id;
    std::string task_id;
    Rank* rank = nullptr;  // in ranks_
  };
  Last last_;
};

}  // namespace railgauge::store
