// Records with all that can be made of them before they are written: the writer is one thread, they
// come on many.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/record.pb.h"

namespace railgauge::store {

struct ReadyRecord {
  Record record{};
  // The reason why the record is not sound.
  std::optional<std::string> fault{};
  // The histogram of a point, compressed.
  std::optional<std::string> histogram{};
  // The raw samples of a point, compressed.
  std::optional<std::string> samples{};
  // Facts of the point as JSON; "" without any.
  std::string point_facts{};
};

struct Parcel {
  std::vector<ReadyRecord> records{};
  // About what it takes in memory.
  std::size_t bytes = 0;
};

// Pure; thread safe.
ReadyRecord make_ready(Record record);
Parcel pack(std::vector<Record> records);

}  // namespace railgauge::store
