// A spool with the meaning of agent/link/spool.h that is in memory: thousands of agents in one
// process share a disk. Ids grow without gaps; a record stays until it is acknowledged, and a while
// beyond, so that a controller restored from a backup receives it again. Not thread safe.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "controller/api/agent.pb.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::fleet {

class MemorySpool {
 public:
  // Most acknowledged records that stay: those of the seconds by which an archive may be behind.
  static constexpr std::size_t kMaxKept = 256;

  void append(std::vector<Record> records);
  // An id beyond the last record counts as the last one.
  void acknowledge(std::uint64_t through);
  // Returns records after `after`, in order, at most `most`.
  [[nodiscard]] std::vector<api::SpooledRecord> read(std::uint64_t after, std::size_t most) const;
  // Keys of the points that acknowledge(through) would acknowledge for the first time, in order.
  [[nodiscard]] std::vector<RecordKey> points_through(std::uint64_t through) const;

  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::uint64_t last_id() const { return last_id_; }
  [[nodiscard]] std::uint64_t waiting() const { return last_id_ - acknowledged_; }

 private:
  // Consecutive ids; the newest has last_id_.
  std::deque<api::SpooledRecord> records_;
  std::uint64_t last_id_ = 0;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace railgauge::fleet
