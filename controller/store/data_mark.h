// Whether a database is of modelled data, for callers that ask at each answer.
#pragma once

#include <atomic>

#include "controller/store/queries/data_kind.h"
#include "controller/store/store.h"

namespace railgauge::store {

// Thread safe. The store outlives it.
class DataMark {
 public:
  explicit DataMark(const Store& store) : store_(store) {}

  // Reads the database until it has data, since its kind then holds for good. False also where it
  // cannot be read.
  bool is_synthetic();

 private:
  const Store& store_;
  std::atomic<DataKind> kind_{DataKind::kNone};
};

}  // namespace railgauge::store
