// Turns records into rows, inside the writer's transaction. A record that fits no dispatched
// attempt, that its rank may not report, or that is not sound goes to orphan_record, with one event
// for each delivery: only the database can make a delivery fail, never the content of its records.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "controller/store/ingest/interner.h"
#include "controller/store/ingest/parcel.h"
#include "controller/store/ingest/point_ranges.h"
#include "controller/store/ingest/run_accounts.h"
#include "controller/store/rows/point_flags.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/minute_quota.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// Totals of the stored orphans.
struct OrphanTotals {
  std::int64_t records = 0;
  std::int64_t bytes = 0;  // includes an estimate of each orphan's row and index
  std::map<std::string, std::int64_t, std::less<>> node_bytes{};  // the same by node id
};

// One attempt of a task.
struct AttemptKey {
  std::string_view run_id;
  std::string_view task_id;
  std::uint32_t attempt = 0;
};

// Reads all orphan records.
Result<OrphanTotals> count_orphans(Connection& connection);

// Store of orphans: acknowledged records that fit no dispatched attempt, because a restored backup
// lacks it, or that were refused. Keeps them up to bounds of bytes; they become results once their
// attempt is dispatched. Used on the writer thread only, except for the counts.
class Orphans {
 public:
  struct Bounds {
    std::int64_t bytes = 0;       // beyond it the oldest are deleted
    std::int64_t node_bytes = 0;  // beyond it no more of that node are kept
  };
  Orphans(Connection& connection, Bounds bounds, OrphanTotals totals)
      : connection_(connection),
        bounds_(bounds),
        node_bytes_(std::move(totals.node_bytes)),
        bytes_(totals.bytes),
        records_(totals.records) {}

  // Stores an orphan. Returns true if it was not stored before. Beyond the bound of a node it is
  // only counted, so that one node cannot push out the records of others. Beyond the bound of all,
  // the oldest orphans are deleted, which is logged, counted and stored as an event. `now` is the
  // controller's time.
  Result<bool> put(std::string_view node_id, const Record& record, std::string_view reason,
                   double now);

  struct Entry {
    std::int64_t id = 0;
    std::string node_id;
    Record record;
  };
  // Returns orphans of an attempt, sorted by rank and sequence: at most `limit`, after `after`
  // (null: from the first).
  Result<std::vector<Entry>> of_attempt(const AttemptKey& attempt, const Entry* after,
                                        std::uint32_t limit);
  Status remove(std::int64_t id);
  // Makes the totals be counted again; call after a rollback.
  void forget() { counted_ = false; }

  [[nodiscard]] std::int64_t records() const { return records_; }
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }  // since the start

 private:
  Status drop_oldest(double now);

  Connection& connection_;
  const Bounds bounds_;
  bool counted_ = true;
  std::map<std::string, std::int64_t, std::less<>> node_bytes_;
  std::int64_t bytes_;
  std::atomic<std::int64_t> records_;
  std::atomic<std::int64_t> dropped_ = 0;
};

// Bound of events about nodes that come and go and about refused records; the newest are kept.
inline constexpr std::int64_t kMaxEvents = 100'000;

// Bounds of one rank, against a runner that is broken or hostile.
inline constexpr std::size_t kMaxRankSeries = 4'096;
inline constexpr std::int64_t kMaxRankBytes = 64U
                                              << 20U;  // of its rows, compressed parts as stored
// A time is not believed when the node's clock must be further off than this.
inline constexpr double kMaxClockSkewSeconds = 3'600;

// Why a record is put aside.
enum class RefusedFor : std::uint8_t {
  kUnsound,
  kUnknownTask,
  kForeignRank,
  kAttempt,
  kKernel,
  kOrder,
  kMetric,
  kEnded,
  kBounds
};
inline constexpr std::array<std::string_view, 9> kRefusedForWords{
    "unsound", "unknown_task", "foreign_rank", "attempt", "kernel",
    "order",   "metric",       "ended",        "bounds"};

// Returns the key of a point. The record check bounds the sequence.
constexpr std::int64_t point_id(std::int64_t rank, std::uint32_t sequence) {
  return rank << kSequenceBits | static_cast<std::int64_t>(sequence);
}

// Adds an event. Deletes the oldest events beyond kMaxEvents, of kinds that every restart repeats.
Status insert_event(Connection& connection, const EventRow& event);

// The sink of records. Used on the writer thread only.
class RecordSink {
 public:
  RecordSink(Connection& connection, Interner& interner, Orphans& orphans,
             RunAccounts::Bounds bounds = {})
      : connection_(connection), interner_(interner), orphans_(orphans), accounts_(bounds) {}

  // The controller's time, seconds since 1970, and how far the node's times are believed.
  struct Arrival {
    double now = 0;
    Timing timing{};
  };
  // Stores one delivery of a node's spool. Returns the records put aside and the repeats.
  Result<NotNew> store(std::string_view node_id, std::span<const ReadyRecord> records,
                       const Arrival& arrival);
  // Stores the orphans of an attempt that was dispatched now. Returns their number.
  Result<std::uint64_t> take_orphans(const AttemptKey& attempt, double now);
  // Records put aside since the start, by the word of the reason. Thread safe.
  [[nodiscard]] std::map<std::string, double> refused() const;
  // Clears the caches; call after a rollback and when a task changed.
  void forget() {
    last_ = {};
    ranks_.clear();
    metric_lists_.clear();
  }
  // After a rollback: what it took back is counted no more.
  void forget_accounts() { accounts_.forget(); }

 private:
  // A rank of an attempt, as its records meet it.
  struct Rank {
    std::int64_t id = 0;       // in `rank`
    std::int64_t task = 0;     // in `task`
    std::int64_t attempt = 0;  // in `attempt`
    std::int64_t node = 0;
    std::int64_t run = 0;
    std::uint32_t attempt_number = 0;
    std::uint32_t number = 0;
    std::string kernel;
    std::vector<std::string> identity_parameters;
    std::vector<std::int64_t> endpoints;    // by position, as planned
    std::optional<std::uint32_t> revision;  // absent: no Started record yet
    std::string parameters;                 // of the identity, as JSON
    std::uint64_t series_group = 0;         // Interner::series_group() of its series
    std::optional<double> dispatched_at;    // the attempt
    std::shared_ptr<const std::vector<std::string>> metrics;  // declared, sorted; null: not known
    bool ended = false;                                       // its final record is stored
    std::int64_t last_sequence = -1;                          // the highest of its points and notes
    std::int64_t bytes = 0;                                   // of its points and notes
    std::vector<std::int64_t> series;                         // of its points, sorted
  };
  // Reason for which a record becomes an orphan; absent: it does not.
  struct Reason {
    RefusedFor kind;
    std::string text;
  };
  using Refusal = std::optional<Reason>;
  // The end of one record: without a refusal it is stored, by now or, as a repeat, before.
  struct Fate {
    Refusal refusal{};
    bool is_repeat = false;
  };
  // A record's time as it is stored.
  struct Time {
    double at = 0;
    bool is_arrival = false;
  };

  Result<Fate> store_one(std::string_view node_id, const ReadyRecord& ready,
                         const Arrival& arrival);
  Result<Refusal> store_new(std::string_view node_id, Rank& rank, const ReadyRecord& ready,
                            const Arrival& arrival);
  Result<Refusal> find_rank(std::string_view node_id, const RecordKey& key, double now,
                            Rank*& found);
  Result<Refusal> find_other_rank(std::string_view node_id, const RecordKey& key, double now,
                                  Rank*& found);
  Result<Refusal> load_rank(std::string_view node_id, const RecordKey& key, double now, Rank& rank);
  Status load_state(Rank& rank);
  Status load_usage(Rank& rank);
  Result<std::shared_ptr<const std::vector<std::string>>> declared(std::int64_t list);
  static Time time_of(const Rank& rank, const Record& record, const Arrival& arrival);
  Result<bool> is_stored(const Rank& rank, const Record& record);
  Result<Refusal> admit(std::string_view node_id, Rank& rank, const ReadyRecord& ready, double now);
  Result<Refusal> admit_to_run(std::string_view node_id, Rank& rank, const ReadyRecord& ready,
                               double now);
  Result<std::optional<std::int64_t>> series_of(Rank& rank, const Point& point);
  Status report(std::string_view node_id, const std::string& run_id, std::string_view text,
                double now);
  Status load_endpoints(Rank& rank, double now);
  Status open_rank(Rank& rank);
  void identify(Rank& rank, const TextMap& parameters);

  Result<Refusal> store_started(Rank& rank, const Record& record, const Arrival& arrival);
  Result<Refusal> store_point(Rank& rank, const ReadyRecord& ready, const Time& time);
  Status store_distribution(std::int64_t id, const ReadyRecord& ready);
  Status store_note(const Rank& rank, const Record& record);
  Status store_final(Rank& rank, const Record& record, const Time& time);
  Status close_attempt(const Rank& rank);

  PointRanges new_points_{};
  Connection& connection_;
  Interner& interner_;
  Orphans& orphans_;
  RunAccounts accounts_;
  std::array<std::atomic<std::uint64_t>, kRefusedForWords.size()> refused_{};
  static constexpr std::uint32_t kEventsAMinute = 6;
  MinuteQuota events_{kEventsAMinute};  // by node
  std::map<std::int64_t, std::shared_ptr<const std::vector<std::string>>> metric_lists_;
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
