// A person's SQL in a process of its own. SQLite bounds neither the memory and temporary files of
// one connection nor the time of one function (instr() over two long texts takes hours), so the
// kernel does: the process keeps temporary data in memory, its memory is bounded, and it is killed
// when its time is over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "controller/api/archive.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Memory of SQLite in that process, sorting and intermediate tables included.
inline constexpr std::int64_t kSqlMemoryBytes = 256LL << 20;
// The longest statement.
inline constexpr std::size_t kMaxSqlTextBytes = 1U << 20U;
// The argument with which the program is such a process: PROGRAM kSqlProcessFlag DATABASE.
inline constexpr const char* kSqlProcessFlag = "--sql-process";

// Runs the request's statement in a new process of `program` and waits for its answer.
// `max_rows` and `max_seconds` of the request count as they are. kInvalidArgument: the statement's
// fault. kResourceExhausted: it needs more memory. kDeadlineExceeded: it ran longer than
// max_seconds. kCancelled: `cancelled` became true. In every case the process is gone afterwards.
Result<api::SqlTable> run_sql_process(const std::string& program, const std::string& database,
                                      const api::SqlRequest& request,
                                      const std::function<bool()>& cancelled);

// Is the process: reads the request from descriptor 0 and writes the answer to descriptor 1.
// Returns the exit code.
int serve_sql_process(const std::string& database);

}  // namespace railgauge
