// The one thread that writes. Jobs wait in a bounded queue; the thread takes what is there, runs it
// in one transaction and commits (group commit: the fsync is shared), then completes each job.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

struct WriterLimits {
  // The most records that may wait.
  std::size_t max_records = 65'536;
  std::size_t max_bytes = 16U << 20U;
  // The most records of one transaction.
  std::size_t max_batch_records = 4'096;
  double close_seconds = 30;
  // Between two tries of jobs that nobody else repeats: doubled up to the second one.
  double retry_seconds = 0.05;
  double max_retry_seconds = 1;
};

// Jobs that carry no records (states of runs, events) have room of their own, so that a full queue
// of records does not stop them.
inline constexpr std::size_t kMaxControlJobs = 32'768;

struct WriteJob {
  // Runs on the writer thread inside the transaction. Its error undoes this job alone, unless the
  // database itself failed: then the whole batch.
  std::function<Status()> apply{};
  // May be empty: nobody waits for the outcome.
  std::function<void(const Status&)> done{};
  // 0: a control job.
  std::size_t records = 0;
  std::size_t bytes = 0;
  // Nobody sends it again (a run's end, a node, an event): while the database as a whole is in
  // trouble (locked, full, not writable) it stays and is tried again, in order with its like, until
  // it is committed or the store ends. Others go on meanwhile. `apply` may run many times.
  bool is_kept = false;
  // Overtakes nothing but kept jobs that wait for another try.
  bool is_barrier = false;
  // Runs by itself, outside of a transaction.
  bool is_alone = false;
};

enum class Waited : std::uint8_t { kInTurn, kBarrier, kAlone };

// The waiting jobs that may be written at present.
enum class Room : std::uint8_t { kAll, kControl, kNothing };

struct WriterStats {
  std::size_t queued_records = 0;
  std::size_t queued_bytes = 0;
  std::uint64_t committed_batches = 0;
  std::uint64_t committed_records = 0;
  std::uint64_t failed_batches = 0;
  double last_commit_seconds = 0;
  // Jobs with is_kept that wait for another try.
  std::size_t kept_jobs = 0;
};

class Writer {
 public:
  // `forget` drops what the jobs remember of rows: called after every rollback.
  // `room` is asked between batches, on the writer thread: what it does not allow stays in the
  // queue, which fills, and its callers are refused.
  Writer(Connection& connection, WriterLimits limits, std::function<void()> forget,
         std::function<Room()> room = {});
  // Commits queued jobs for at most close_seconds; the others end with kUnavailable.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // kResourceExhausted when the queue is full: not accepted, `done` is never called. A job larger
  // than the bounds is taken when the queue is empty.
  Status submit(WriteJob job);
  // Submits and waits for the outcome. Never on the writer thread. kDeadlineExceeded: not applied,
  // and never will be; unless the commit itself hangs, for twice wait_seconds.
  Status submit_and_wait(std::function<Status()> apply, double wait_seconds,
                         Waited kind = Waited::kInTurn);
  // Until all that was submitted before is committed. kUnavailable at once while kept jobs wait to
  // be tried again, with the reason.
  Status flush(double wait_seconds);
  [[nodiscard]] WriterStats stats() const;

 private:
  void loop();
  [[nodiscard]] bool take_batch(std::vector<WriteJob>& batch);
  [[nodiscard]] bool is_ready(const WriteJob& job, double now_ns, bool overtakes) const;
  void take_ready(std::vector<WriteJob>& batch, double now_ns);
  void wait_for_jobs(std::unique_lock<std::mutex>& lock);
  void write_batch(std::vector<WriteJob>& batch);
  Status apply_all(std::vector<WriteJob>& batch, std::vector<Status>& outcomes);
  Status apply_one(const WriteJob& job, Status& outcome);
  void roll_back();
  void keep(std::vector<WriteJob>& batch, const Error& error);
  void note_success(const std::vector<WriteJob>& batch);

  Connection& connection_;
  const WriterLimits limits_;
  const std::function<void()> forget_;
  const std::function<Room()> room_;

  // Guards all below.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<WriteJob> queue_;
  std::size_t control_jobs_ = 0;
  WriterStats stats_;
  bool closing_ = false;
  double close_by_ns_ = 0;
  // The time of the next try of kept jobs; 0: none failed.
  double retry_at_ns_ = 0;
  // The pause before the next try.
  double retry_seconds_ = 0;
  // The time of the first failure; 0: none failed.
  double failing_since_ns_ = 0;
  // The error of the last try.
  Error kept_for_;
  // The writer thread's alone.
  Room allowed_ = Room::kAll;

  // Last: starts when all other members exist.
  std::thread thread_;
};

}  // namespace railgauge::store
