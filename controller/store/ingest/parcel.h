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
  std::optional<std::string> fault{};      // why it is not sound
  std::optional<std::string> histogram{};  // of a point, compressed
  std::optional<std::string> samples{};    // likewise
  std::string point_facts{};               // as JSON; "" without any
};

struct Parcel {
  std::vector<ReadyRecord> records{};
  std::size_t bytes = 0;  // about what it takes in memory
};

// Pure; thread safe.
ReadyRecord make_ready(Record record);
Parcel pack(std::vector<Record> records);

}  // namespace railgauge::store
