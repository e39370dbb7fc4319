// The agent's durable data: records until the controller has committed them, and open tasks, so
// that a restarted agent can answer for them. SQLite in WAL mode with synchronous=FULL: a record is
// on disk before it is sent, a power cut undoes nothing that was sent or acknowledged, and spool
// ids never repeat. The cost is one fsync a transaction, a handful for each task, none of them in
// the runner. Acknowledged records stay for keep_seconds, so that a controller restored from a
// backup receives them again; a full spool drops them earlier. Not thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/api/agent.pb.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

struct sqlite3;

namespace railgauge::agent {

struct DatabaseTraits {
  using Type = sqlite3*;
  static Type empty() { return nullptr; }
  static void release(Type database);
};

// A task whose final record is not in the spool, and the process that ran it.
struct OpenTask {
  api::TaskRef task;
  int pid = 0;
  std::uint64_t start_ticks = 0;  // by process_start_ticks(); 0: the process had ended already
  std::uint32_t next_sequence = 0;
};

class Spool {
 public:
  struct Options {
    std::string path;
    std::uint64_t max_bytes = 256U << 20U;
    double keep_seconds = 24 * 3600;  // after the acknowledgement
  };
  // Opens or creates the spool. kPermissionDenied: the file cannot be opened or written. kDataLoss:
  // the file is no spool. kFailedPrecondition: a newer Railgauge wrote the file.
  static Result<Spool> open(const Options& options);

  // Every change below is one transaction, durable when the call returns. kResourceExhausted: the
  // disk or the bound is full; the call stored nothing and may be repeated later.

  // Stores an open task. kAlreadyExists: this attempt has run here before.
  Status open_task(const OpenTask& task);
  // Appends records in the given order. A Final closes its task.
  Status append(std::span<const Record> records);
  // Marks records up to id `through` as committed by the controller. An id beyond the last record
  // counts as the last one; an id that is acknowledged already changes nothing.
  Status acknowledge(std::uint64_t through);
  // Deletes records that were acknowledged more than keep_seconds ago, and closed tasks that were
  // opened before then.
  Status prune(double unix_now_seconds);

  // Returns records after spool id `after`, in order and within both bounds; the first one is
  // returned whatever its size. An empty record replaces a damaged one, which would otherwise block
  // all later records; the controller sets it aside.
  Result<std::vector<api::SpooledRecord>> read(std::uint64_t after, std::size_t max_records,
                                               std::size_t max_bytes);
  Result<std::vector<OpenTask>> open_tasks();

  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  // Returns the id of the newest record, or of the last acknowledged one when that is gone.
  [[nodiscard]] std::uint64_t last_id() const { return last_id_; }
  [[nodiscard]] std::uint64_t waiting_records() const { return waiting_records_; }
  // Returns the size of the pages in use, acknowledged records included.
  Result<std::uint64_t> used_bytes();

 private:
  Spool(Options options, Handle<DatabaseTraits> database)
      : options_(std::move(options)), database_(std::move(database)) {}
  Status set_up();
  Status insert(std::span<const Record> records);
  Status migrate(std::uint64_t version);
  Status mark_acknowledged(std::uint64_t through);
  Status make_room(std::int64_t max_records);
  // Runs `change` inside a transaction. While the spool is full, makes room and runs it again.
  template <class Change>
  Status transact(const Change& change);

  Options options_;
  Handle<DatabaseTraits> database_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t waiting_records_ = 0;
};

}  // namespace railgauge::agent
