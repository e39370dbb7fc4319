#include "controller/store/data_mark.h"

namespace railgauge::store {

bool DataMark::is_synthetic() {
  DataKind kind = kind_.load();
  if (kind != DataKind::kNone) return kind == DataKind::kSynthetic;
  kind = store_.read(read_data_kind).value_or(DataKind::kNone);
  kind_.store(kind);
  return kind == DataKind::kSynthetic;
}

}  // namespace railgauge::store
