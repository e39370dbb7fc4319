// Whether a database is of modelled data, for callers that ask at each answer.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "controller/store/queries/data_kind.h"
#include "controller/store/store.h"

namespace railgauge::store {

// Thread safe. The store outlives it.
class DataMark {
 public:
  explicit DataMark(const Store& store)
      : DataMark([&store] { return store.read(read_data_kind); }) {}
  explicit DataMark(std::function<Result<DataKind>()> read) : read_(std::move(read)) {}

  // Reads the database until it has data, since its kind then holds for good. Absent: it cannot be
  // read.
  std::optional<bool> is_synthetic();

 private:
  const std::function<Result<DataKind>()> read_;
  std::atomic<DataKind> kind_{DataKind::kNone};
};

}  // namespace railgauge::store
