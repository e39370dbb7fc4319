// The window of spooled records to the controller. Records are sent in order of spool id, at most
// kWindowRecords beyond the acknowledged ones; a new stream starts at the first unacknowledged
// record. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace railgauge::agent {

class Delivery {
 public:
  static constexpr std::uint64_t kWindowRecords = 512;
  static constexpr std::uint64_t kBatchRecords = 64;
  // With one record of 3 MiB on top, a batch stays below gRPC's limit of 4 MiB a message.
  static constexpr std::size_t kBatchBytes = 512U << 10U;

  void attached(std::uint64_t acknowledged) {
    sent_through_ = acknowledged;
    attached_ = true;
  }
  void lost() { attached_ = false; }
  [[nodiscard]] bool is_attached() const { return attached_; }
  // Returns the number of records that may be sent now. Spool ids have no gaps, so the difference
  // of two ids is a number of records.
  [[nodiscard]] std::uint64_t allowance(std::uint64_t acknowledged) const {
    if (!attached_) return 0;
    const std::uint64_t in_flight = sent_through_ - std::min(acknowledged, sent_through_);
    return std::min(kBatchRecords, kWindowRecords - std::min(in_flight, kWindowRecords));
  }
  [[nodiscard]] std::uint64_t sent_through() const { return sent_through_; }
  void sent(std::uint64_t through) { sent_through_ = through; }

 private:
  bool attached_ = false;
  std::uint64_t sent_through_ = 0;
};

}  // namespace railgauge::agent
