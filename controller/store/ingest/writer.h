// The single thread that writes the database. Jobs wait in a bounded queue. The thread takes the
// waiting jobs, runs them in one transaction and commits (group commit: the jobs share one fsync),
// then completes each job.
#pragma once

#include <atomic>
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
  std::size_t max_records = 65'536;  // waiting, of jobs that carry records
  std::size_t max_bytes = 16U << 20U;
  std::size_t max_batch_records = 4'096;  // in one transaction
  double close_seconds = 30;
  // Pause between two tries of kept jobs; it doubles up to `max_retry_seconds`.
  double retry_seconds = 0.05;
  double max_retry_seconds = 1;
};

// Bound of waiting jobs without records (states of runs, events). It is separate, so that a full
// queue of records does not stop them.
inline constexpr std::size_t kMaxControlJobs = 32'768;

struct WriteJob {
  // Runs on the writer thread inside the transaction. Its error undoes this job alone, unless the
  // database itself failed: then the whole batch.
  std::function<Status()> apply{};
  std::function<void(const Status&)> done{};  // may be empty
  std::size_t records = 0;                    // 0: a control job
  std::size_t bytes = 0;
  // True for a job whose caller does not repeat it (a run's end, a node, an event). While the
  // database as a whole fails (locked, full, not writable), the job stays queued and is tried again
  // until it is committed or the store ends. Kept jobs keep their order; other jobs continue.
  // `apply` may run many times.
  bool is_kept = false;
  bool is_barrier = false;  // overtakes nothing but kept jobs that wait for another try
  bool is_alone = false;    // runs by itself, outside of a transaction
  // True for a job after which a list of nodes, with their labels and stacks, may be another one.
  bool may_change_nodes = false;
};

enum class Waited : std::uint8_t { kInTurn, kBarrier, kAlone };

// Waiting jobs that may be written at present.
enum class Room : std::uint8_t { kAll, kControl, kNothing };

struct WriterStats {
  std::size_t queued_records = 0;
  std::size_t queued_bytes = 0;
  std::uint64_t committed_batches = 0;
  std::uint64_t committed_records = 0;
  std::uint64_t failed_batches = 0;
  double last_commit_seconds = 0;
  std::size_t kept_jobs = 0;  // jobs with is_kept that wait for another try
};

class Writer {
 public:
  // Starts the thread. `forget` clears the caches of rows; it is called after every rollback.
  // `room` is called between batches, on the writer thread: jobs that it does not allow stay in the
  // queue, and once the queue is full their callers are refused.
  // `failed` is called after a batch failed as a whole, on the writer thread, before the rollback.
  Writer(Connection& connection, WriterLimits limits, std::function<void()> forget,
         std::function<Room()> room = {}, std::function<void()> failed = {});
  // Commits queued jobs for at most close_seconds; the others end with kUnavailable.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Queues a job. kResourceExhausted: the queue is full, the job is not accepted and `done` is
  // never called. A job larger than the bounds is accepted when the queue is empty.
  Status submit(WriteJob job);
  // Submits a job and waits for its outcome. CHECKs that the caller is not the writer thread.
  // kDeadlineExceeded: the job was not applied and never will be. A job that has begun gets a
  // second wait of wait_seconds; if that ends too, the job may still be committed.
  Status submit_and_wait(std::function<Status()> apply, double wait_seconds,
                         Waited kind = Waited::kInTurn, bool may_change_nodes = true);
  // Waits until all earlier jobs are committed. kUnavailable at once, with the reason, while kept
  // jobs wait for another try.
  Status flush(double wait_seconds);
  [[nodiscard]] WriterStats stats() const;
  // Commits so far with a job that may_change_nodes. A job is counted before its `done` is called.
  [[nodiscard]] std::uint64_t node_changes() const { return node_changes_; }

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
  const std::function<void()> failed_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::deque<WriteJob> queue_;
  std::size_t control_jobs_ = 0;
  WriterStats stats_;
  bool closing_ = false;
  double close_by_ns_ = 0;
  double retry_at_ns_ = 0;       // next try of kept jobs; 0: none failed
  double retry_seconds_ = 0;     // the present pause
  double failing_since_ns_ = 0;  // first failure of kept jobs; 0: none failed
  Error kept_for_;               // last failure of kept jobs
  Room allowed_ = Room::kAll;    // used on the writer thread only
  std::atomic<std::uint64_t> node_changes_ = 0;

  std::thread thread_;  // last: starts when all other members exist
};

}  // namespace railgauge::store
