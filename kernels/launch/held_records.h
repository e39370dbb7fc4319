// The first records of an MPI task, held back until the launcher's output names the MPI's
// transports, which arrives on another path and possibly later. The wait is bounded.
#pragma once

#include <utility>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge {

// Not thread safe.
class HeldRecords {
 public:
  // Longer than a launcher takes to pass on a line, even on a busy emulated node (measured: above 1
  // s).
  static constexpr double kWaitNs = 5e9;

  explicit HeldRecords(double wait_ns = kWaitNs) : wait_ns_(wait_ns) {}
  // Adds a record. The wait starts with the first record.
  void add(Record record) {
    if (until_ns_ == 0) until_ns_ = monotonic_now_ns() + wait_ns_;
    records_.push_back(std::move(record));
  }
  [[nodiscard]] bool empty() const { return records_.empty(); }
  // Returns the records to report now, in order: all of them if `is_known`, or once the first has
  // waited wait_ns; else none.
  [[nodiscard]] std::vector<Record> due(bool is_known) {
    if (!is_known && monotonic_now_ns() < until_ns_) return {};
    return std::exchange(records_, {});
  }

 private:
  // The longest wait of the first record.
  double wait_ns_;
  double until_ns_ = 0;  // end of the wait, by monotonic_now_ns(); 0: no record yet
  std::vector<Record> records_;
};

}  // namespace railgauge
