#include "controller/store/writer.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/clock.h"
#include "kernels/core/failpoint.h"

namespace railgauge::store {
namespace {

// The database as a whole is in trouble, not one job.
bool is_environment(Code code) {
  return code == Code::kResourceExhausted || code == Code::kUnavailable ||
         code == Code::kDataLoss || code == Code::kPermissionDenied;
}

}  // namespace

Writer::Writer(Connection& connection, WriterLimits limits, std::function<void()> forget,
               std::function<bool()> may_write)
    : connection_(connection),
      limits_(limits),
      forget_(std::move(forget)),
      may_write_(std::move(may_write)),
      thread_([this] { loop(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    close_by_ns_ = monotonic_now_ns() + limits_.close_seconds * 1e9;
  }
  wake_.notify_all();
  thread_.join();
}

Status Writer::submit(WriteJob job) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_)
      return fail(Code::kUnavailable, fmt::format("store {}: is closing", connection_.path()));
    const bool fits = stats_.queued_records + job.records <= limits_.max_records &&
                      stats_.queued_bytes + job.bytes <= limits_.max_bytes;
    const bool full =
        job.records == 0 ? control_jobs_ >= kMaxControlJobs : !fits && stats_.queued_records > 0;
    if (full)
      return fail(Code::kResourceExhausted,
                  fmt::format("store {}: write: {} records ({} bytes) are waiting; try again later",
                              connection_.path(), stats_.queued_records, stats_.queued_bytes));
    stats_.queued_records += job.records;
    stats_.queued_bytes += job.bytes;
    control_jobs_ += job.records == 0 ? 1 : 0;
    queue_.push_back(std::move(job));
  }
  wake_.notify_all();
  return {};
}

Status Writer::submit_and_wait(std::function<Status()> apply, double wait_seconds) {
  RG_CHECK(std::this_thread::get_id() != thread_.get_id());
  struct Answer {
    std::mutex mutex;
    std::condition_variable arrived;
    std::optional<Status> status;
    bool begun = false;     // the writer is applying it
    bool given_up = false;  // the caller was told of a failure: nothing may be applied any more
  };
  const auto answer = std::make_shared<Answer>();  // outlives a wait that was given up
  RG_TRY_OK(submit({.apply = [answer, moved = std::move(apply)]() -> Status {
                      {
                        const std::lock_guard lock(answer->mutex);
                        if (answer->given_up)
                          return fail(Code::kCancelled, "the caller has given up waiting");
                        answer->begun = true;
                      }
                      return moved();
                    },
                    .done =
                        [answer](const Status& status) {
                          {
                            const std::lock_guard lock(answer->mutex);
                            answer->status = status;
                          }
                          answer->arrived.notify_all();
                        }}));
  const std::chrono::duration<double> limit(wait_seconds);
  const auto told = [&] { return answer->status.has_value(); };
  std::unique_lock lock(answer->mutex);
  bool in_time = answer->arrived.wait_for(lock, limit, told);
  // What has begun cannot be taken back, so its outcome is worth a second wait.
  if (!in_time && answer->begun) in_time = answer->arrived.wait_for(lock, limit, told);
  answer->given_up = !in_time;
  if (!in_time)
    return fail(Code::kDeadlineExceeded,
                fmt::format("store {}: write: no commit within {} s{}", connection_.path(),
                            wait_seconds, answer->begun ? " and as long again" : ""));
  return *answer->status;
}

WriterStats Writer::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void Writer::loop() {
  for (std::vector<WriteJob> batch; take_batch(batch); batch.clear()) {
    write_batch(batch);
    wait_until_allowed();
  }
  // Only when closing took too long is anything left.
  for (const WriteJob& job : queue_)
    if (job.done)
      job.done(fail(Code::kUnavailable,
                    fmt::format("store {}: closed before the commit", connection_.path())));
}

// Waits for jobs; false when closing and nothing is left to do, or no time to do it.
bool Writer::take_batch(std::vector<WriteJob>& batch) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
  if (queue_.empty() || (closing_ && monotonic_now_ns() > close_by_ns_)) return false;
  std::size_t records = 0;
  while (!queue_.empty() && batch.size() < limits_.max_batch_records) {
    WriteJob& next = queue_.front();
    if (!batch.empty() && records + next.records > limits_.max_batch_records) break;
    records += next.records;
    control_jobs_ -= next.records == 0 ? 1 : 0;
    batch.push_back(std::move(next));
    queue_.pop_front();
  }
  return true;
}

void Writer::wait_until_allowed() {
  constexpr std::chrono::milliseconds kPause(50);
  while (may_write_ && !may_write_()) {
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kPause, [&] { return closing_; })) return;
  }
}

void Writer::write_batch(std::vector<WriteJob>& batch) {
  std::vector<Status> outcomes(batch.size());
  const double begin_ns = monotonic_now_ns();
  const Status committed = apply_all(batch, outcomes);
  if (!committed) roll_back();
  std::size_t records = 0;
  std::size_t bytes = 0;
  for (const WriteJob& job : batch) {
    records += job.records;
    bytes += job.bytes;
  }
  if (committed && records > 0) failpoint("store.records_committed");  // stored, not yet told
  {
    // Room is made only now: what is being written still counts as waiting.
    const std::lock_guard lock(mutex_);
    stats_.queued_records -= records;
    stats_.queued_bytes -= bytes;
    (committed ? stats_.committed_batches : stats_.failed_batches) += 1;
    if (committed) stats_.committed_records += records;
    stats_.last_commit_seconds = (monotonic_now_ns() - begin_ns) / 1e9;
  }
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (batch[i].done) batch[i].done(committed ? outcomes[i] : committed);
}

Status Writer::apply_all(std::vector<WriteJob>& batch, std::vector<Status>& outcomes) {
  RG_TRY_OK(connection_.execute("BEGIN IMMEDIATE"));
  for (std::size_t i = 0; i < batch.size(); ++i) RG_TRY_OK(apply_one(batch[i], outcomes[i]));
  return connection_.execute("COMMIT");
}

// An error here is the database's; the job's own goes to `outcome`.
Status Writer::apply_one(const WriteJob& job, Status& outcome) {
  RG_TRY_OK(connection_.execute("SAVEPOINT job"));
  outcome = job.apply();
  if (!outcome && (is_environment(outcome.error().code) || !connection_.in_transaction()))
    return outcome;
  if (!outcome) {
    RG_TRY_OK(connection_.execute("ROLLBACK TO job"));
    forget_();
  }
  return connection_.execute("RELEASE job");
}

void Writer::roll_back() {
  // SQLite has rolled back by itself after some failures; a failure here leaves nothing to do.
  if (connection_.in_transaction()) static_cast<void>(connection_.execute("ROLLBACK"));
  forget_();
}

}  // namespace railgauge::store
