// Records as they come on a stream, made ready for the store and summed up for whoever runs tasks:
// on the thread that read them, since the loop and the store's writer are one thread each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/agent.pb.h"
#include "controller/store/ingest/parcel.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::fleet {

// What a limit of the suite is held against.
struct StoredFigure {
  std::string metric{};
  double message_bytes = 0;
  double median = 0;
};
// Records of one rank that have been committed.
struct StoredRecords {
  api::TaskRef task;
  std::uint32_t points = 0;
  std::vector<StoredFigure> figures{};  // of the points
  std::optional<Final> final{};
};

struct Batch {
  std::shared_ptr<const store::Parcel> parcel;
  std::vector<StoredRecords> stored;  // what it means for tasks once it is committed
  std::uint64_t first = 0;            // spool ids
  std::uint64_t through = 0;
};

// Pure; thread safe.
Batch batch_of(api::RecordBatch message);

}  // namespace railgauge::fleet
