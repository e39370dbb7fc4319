// Records prepared for the writer: checks, compression and JSON run on the many threads that
// receive records, because a single thread writes.
#pragma once

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

// Check and prepare records; pack() prepares all of them. Pure; thread safe.
ReadyRecord make_ready(Record record);
Parcel pack(std::vector<Record> records);

}  // namespace railgauge::store
