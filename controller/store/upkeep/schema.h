// The versions of the database: numbered migrations, each in one transaction.
#pragma once

#include <cstdint>
#include <string>

#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

// The version that this program writes: the number of migrations.
std::uint32_t schema_version();

// Opens for writing (WAL, synchronous=FULL, foreign keys on) and brings the file to
// schema_version(). kFailedPrecondition: written by a newer Railgauge, or the database of another
// program. kDataLoss: not a database.
Result<Connection> open_and_migrate(const std::string& path, double busy_timeout_seconds,
                                    std::int64_t max_pages);

// kFailedPrecondition: not a Railgauge database, or one of a newer Railgauge.
Status check_version(Connection& connection);

// A second connection, for queries.
Result<Connection> open_for_reading(const std::string& path, double busy_timeout_seconds);

}  // namespace railgauge::store
