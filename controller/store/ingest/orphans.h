// Records that were acknowledged though they fit no planned task: of a run that a restored backup
// does not know, or garbage. They are kept up to a bound of bytes, and stored as what they are once
// their run comes to exist.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

struct OrphanTotals {
  std::int64_t records = 0;
  std::int64_t bytes = 0;  // with an estimate of each one's row and index
};

// Reads them all.
Result<OrphanTotals> count_orphans(Connection& connection);

// The writer thread's alone, but for the figures.
class Orphans {
 public:
  Orphans(Connection& connection, std::int64_t max_bytes, OrphanTotals totals)
      : connection_(connection),
        max_bytes_(max_bytes),
        bytes_(totals.bytes),
        records_(totals.records) {}

  // True when it was not there before. Past the bound the oldest go, which is logged, counted and
  // an event. `now` is the controller's time.
  Result<bool> put(std::string_view node_id, const Record& record, std::string_view reason,
                   double now);

  struct Entry {
    std::int64_t id = 0;
    std::string node_id;
    Record record;
  };
  // Orphan records of a run by task, attempt, rank and sequence, at most so many behind `after`
  // (null: the first).
  Result<std::vector<Entry>> of_run(std::string_view run_id, const Entry* after,
                                    std::uint32_t limit);
  Status remove(std::int64_t id);
  // After a rollback: the figures are counted anew.
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

}  // namespace railgauge::store
