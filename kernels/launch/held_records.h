// The first records of an MPI task wait for what the launcher says of the MPI's transports, which
// comes by another way than they do, and perhaps later; but not long.
#pragma once

#include <utility>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge {

// Not thread safe.
class HeldRecords {
 public:
  // Longer than a launcher takes to hand on a line, on a busy emulated node too (seen: above 1 s).
  static constexpr double kWaitNs = 5e9;

  explicit HeldRecords(double wait_ns = kWaitNs) : wait_ns_(wait_ns) {}
  // The wait starts with the first record after a due().
  void add(Record record) {
    if (until_ns_ == 0) until_ns_ = monotonic_now_ns() + wait_ns_;
    records_.push_back(std::move(record));
  }
  [[nodiscard]] bool empty() const { return records_.empty(); }
  // The records to report now, in their order: all where `is_known` is true, or once the first has
  // waited long enough.
  [[nodiscard]] std::vector<Record> due(bool is_known) {
    if (!is_known && monotonic_now_ns() < until_ns_) return {};
    return std::exchange(records_, {});
  }

 private:
  // How long the first record waits at most.
  double wait_ns_;
  double until_ns_ = 0;  // on the clock of monotonic_now_ns; 0: none came yet
  std::vector<Record> records_;
};

}  // namespace railgauge
