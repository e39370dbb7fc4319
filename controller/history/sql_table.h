// Tables of queries as messages.
#pragma once

#include "controller/api/archive.pb.h"
#include "controller/store/rows/rows.h"

namespace railgauge {

// A table of any query. Text of the database may be any bytes, and protobuf accepts valid UTF-8
// only: other bytes become "?".
api::SqlTable to_api(const store::SqlTable& table);

}  // namespace railgauge
