// Modelled and real figures never share a database: the file's header says that all of it is
// synthetic.
#pragma once

#include <cstdint>

#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

enum class DataKind : std::uint8_t {
  kNone,       // no node and no run yet
  kReal,       // of real nodes
  kSynthetic,  // of a modelled fabric, by the mark; also while it is empty
};

Result<DataKind> read_data_kind(Connection& connection);
// Marks the database as synthetic, for good. kFailedPrecondition: it has data of real nodes.
Status mark_synthetic(Connection& connection);

// The latest time that the controller's clock has shown, by what is stored: unix seconds; 0:
// nothing is stored. Times of nodes' clocks do not count.
Result<double> read_last_time(Connection& connection);

}  // namespace railgauge::store
