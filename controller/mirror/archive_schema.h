// The schema "railgauge" of the archive: tables made from the store's list, what the mirror itself
// keeps, and the views for people and boards.
#pragma once

#include <cstdint>
#include <string>

#include "controller/mirror/pq/connection.h"
#include "kernels/core/base/result.h"

namespace railgauge::mirror {

// Raise it with every change of tables or views.
inline constexpr std::int64_t kSchemaVersion = 8;
// The version that brought the newest column of a mirrored table: rows of a site that was last
// written by an earlier one lack it and are copied anew.
inline constexpr std::int64_t kColumnsVersion = 2;
// The version from which on a run says which of its rows retention has taken: runs alone are copied
// anew.
inline constexpr std::int64_t kPrunedVersion = 8;

// The statements that make this version, or make it of an earlier one. Pure.
std::string schema_sql();

// Makes or raises the schema where it is not of this version. kFailedPrecondition: a newer
// Railgauge made it. Thread safe between processes.
Status ensure_schema(pq::Connection& database);
// Lets each commit of the session wait for the server's disk, and for its synchronous replicas,
// whatever the server's own setting: a takeover counts on what was answered. A stricter one stays.
Status commit_durably(pq::Connection& database);
// The version that is there; -1: none.
Result<std::int64_t> schema_version_of(pq::Connection& database);

}  // namespace railgauge::mirror
