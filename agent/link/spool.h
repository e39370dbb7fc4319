// Data that must not get lost: records until the controller has committed them, and the open tasks,
// so that a restarted agent can answer for them. SQLite in WAL mode with synchronous=FULL: a record
// is on the disk before it is sent, a power cut takes back nothing that was sent or acknowledged,
// and spool ids never repeat. That costs one fsync a transaction, a handful for each task, none of
// them in the runner. Acknowledged records stay for keep_seconds, so that a controller restored
// from a backup can be served again, but make room when the spool is full. Not thread safe.
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
  std::uint64_t start_ticks = 0;  // process_start_ticks; 0 when it was gone already
  std::uint32_t next_sequence = 0;
};

class Spool {
 public:
  struct Options {
    std::string path;
    std::uint64_t max_bytes = 256U << 20U;
    double keep_seconds = 24 * 3600;  // after the acknowledgement
  };
  // Errors: kPermissionDenied when it cannot be opened or written, kDataLoss when it is no spool,
  // kFailedPrecondition when a newer Railgauge made it.
  static Result<Spool> open(const Options& options);

  // Every change is one transaction, durable when the call returns. kResourceExhausted: the disk or
  // the bound is full, nothing of the call is stored, and the same call may be made again later.

  // kAlreadyExists when this attempt has run here before.
  Status open_task(const OpenTask& task);
  // In this order. A Final closes its task.
  Status append(std::span<const Record> records);
  // Everything up to `through` is committed by the controller; ids beyond the last one are cut to
  // it, older ones change nothing.
  Status acknowledge(std::uint64_t through);
  // Forgets records that were acknowledged longer than keep_seconds ago, and closed tasks that were
  // opened before that.
  Status prune(double unix_now_seconds);

  // Records after spool id `after` in order, at least one if there is one, else within both bounds.
  // In place of one that is damaged an empty one, which the controller puts aside: nothing else
  // would ever get past it.
  Result<std::vector<api::SpooledRecord>> read(std::uint64_t after, std::size_t max_records,
                                               std::size_t max_bytes);
  Result<std::vector<OpenTask>> open_tasks();

  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  // The id of the newest record, or of the last acknowledged one when that is gone.
  [[nodiscard]] std::uint64_t last_id() const { return last_id_; }
  [[nodiscard]] std::uint64_t waiting_records() const { return waiting_records_; }
  // Pages in use, acknowledged records included.
  Result<std::uint64_t> used_bytes();

 private:
  Spool(Options options, Handle<DatabaseTraits> database)
      : options_(std::move(options)), database_(std::move(database)) {}
  Status set_up();
  Status insert(std::span<const Record> records);
  Status migrate(std::uint64_t version);
  Status mark_acknowledged(std::uint64_t through);
  Status make_room(std::int64_t max_records);
  // Runs `change` inside a transaction; again after making room for as long as the spool is full.
  template <class Change>
  Status transact(const Change& change);

  Options options_;
  Handle<DatabaseTraits> database_;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t waiting_records_ = 0;
};

}  // namespace railgauge::agent
