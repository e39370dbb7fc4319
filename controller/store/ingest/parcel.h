// Records prepared for the writer: checks, compression and JSON run on the many threads that
// receive records, because a single thread writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/record.pb.h"

namespace railgauge::store {

struct ReadyRecord {
  Record record{};
  std::optional<std::string> fault{};      // reason why the record is not sound
  std::optional<std::string> histogram{};  // of a point, compressed
  std::optional<std::string> samples{};    // of a point, compressed
  std::string point_facts{};               // as JSON; "" without any
};

// How far the times of a delivery are believed. Unchecked times are stored as they are.
struct Timing {
  bool is_checked = false;    // a time that the attempt cannot have had becomes that of arrival
  bool clock_is_off = false;  // the node's clock is: all times become that of arrival
};

struct Parcel {
  std::vector<ReadyRecord> records{};
  std::size_t bytes = 0;  // approximate size in memory
};

// Positions of the records of a delivery that are not new, each list in rising order. Neither is a
// fact that a run may use.
struct NotNew {
  std::vector<std::size_t> refused{};  // put aside
  std::vector<std::size_t> repeats{};  // of a stored record; what they hold is not looked at

  [[nodiscard]] bool empty() const { return refused.empty() && repeats.empty(); }
  [[nodiscard]] bool has(std::size_t position) const {
    return std::ranges::binary_search(refused, position) ||
           std::ranges::binary_search(repeats, position);
  }
};

// Check and prepare records; pack() prepares all of them. Pure; thread safe.
ReadyRecord make_ready(Record record);
Parcel pack(std::vector<Record> records);

}  // namespace railgauge::store
