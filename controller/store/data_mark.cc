#include "controller/store/data_mark.h"

namespace railgauge::store {

std::optional<bool> DataMark::is_synthetic() {
  DataKind kind = kind_.load();
  if (kind != DataKind::kNone) return kind == DataKind::kSynthetic;
  const Result<DataKind> read = read_();
  if (!read) return std::nullopt;
  kind_.store(*read);
  return *read == DataKind::kSynthetic;
}

}  // namespace railgauge::store
