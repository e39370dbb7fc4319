// The one thread that writes. Jobs wait in a bounded queue; the thread takes what is there, runs it
// in one transaction and commits (group commit: the fsync is shared), then tells each job.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "controller/store/sqlite.h"
#include "kernels/core/result.h"

namespace railgauge::store {

struct WriterLimits {
  std::size_t max_records = 65'536;  // waiting, of jobs that carry records
  std::size_t max_bytes = 16U << 20U;
  std::size_t max_batch_records = 4'096;  // in one transaction
  double close_seconds = 30;
};

// Jobs that carry no records (states of runs, events) have room of their own, so that a full queue
// of records does not stop them.
inline constexpr std::size_t kMaxControlJobs = 16'384;

struct WriteJob {
  // Runs on the writer thread inside the transaction. Its error undoes this job alone, unless the
  // database itself failed: then the whole batch.
  std::function<Status()> apply{};
  std::function<void(const Status&)> done{};  // may be empty
  std::size_t records = 0;                    // 0: a control job
  std::size_t bytes = 0;
};

struct WriterStats {
  std::size_t queued_records = 0;
  std::size_t queued_bytes = 0;
  std::uint64_t committed_batches = 0;
  std::uint64_t committed_records = 0;
  std::uint64_t failed_batches = 0;
  double last_commit_seconds = 0;
};

class Writer {
 public:
  // `forget` drops what the jobs remember of rows: called after every rollback.
  // `may_write` is asked between batches, on the writer thread: while it says no, nothing is
  // written, the queue fills and its callers are refused.
  Writer(Connection& connection, WriterLimits limits, std::function<void()> forget,
         std::function<bool()> may_write = {});
  // Commits what is queued, at most close_seconds long; tells the rest kUnavailable.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // kResourceExhausted when the queue is full: not accepted, `done` is never called. A job larger
  // than the bounds is taken when the queue is empty.
  Status submit(WriteJob job);
  // Submits and waits for the outcome. Never on the writer thread. kDeadlineExceeded: not applied,
  // and never will be; unless the commit itself hangs, for twice wait_seconds.
  Status submit_and_wait(std::function<Status()> apply, double wait_seconds);
  [[nodiscard]] WriterStats stats() const;

 private:
  void loop();
  [[nodiscard]] bool take_batch(std::vector<WriteJob>& batch);
  void write_batch(std::vector<WriteJob>& batch);
  Status apply_all(std::vector<WriteJob>& batch, std::vector<Status>& outcomes);
  Status apply_one(const WriteJob& job, Status& outcome);
  void roll_back();
  void wait_until_allowed();

  Connection& connection_;
  const WriterLimits limits_;
  const std::function<void()> forget_;
  const std::function<bool()> may_write_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::deque<WriteJob> queue_;
  std::size_t control_jobs_ = 0;
  WriterStats stats_;
  bool closing_ = false;
  double close_by_ns_ = 0;

  std::thread thread_;  // last: starts when all else stands
};

}  // namespace railgauge::store
