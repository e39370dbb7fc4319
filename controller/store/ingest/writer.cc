#include "controller/store/ingest/writer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/failpoint.h"

namespace railgauge::store {
namespace {

// The database as a whole is in trouble, not one job.
bool is_environment(Code code) {
  return code == Code::kResourceExhausted || code == Code::kUnavailable ||
         code == Code::kDataLoss || code == Code::kPermissionDenied;
}

// The failures among these that may pass: a damaged file does not heal by waiting.
bool may_pass(Code code) { return is_environment(code) && code != Code::kDataLoss; }

}  // namespace

Writer::Writer(Connection& connection, WriterLimits limits, std::function<void()> forget,
               std::function<Room()> room, std::function<void()> failed)
    : connection_(connection),
      limits_(limits),
      forget_(std::move(forget)),
      room_(std::move(room)),
      failed_(std::move(failed)),
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
    queue_.push_back(std::move(job));  // first: a job that did not fit in memory is not counted
    const WriteJob& queued = queue_.back();
    stats_.queued_records += queued.records;
    stats_.queued_bytes += queued.bytes;
    control_jobs_ += queued.records == 0 ? 1 : 0;
  }
  wake_.notify_all();
  return {};
}

Status Writer::submit_and_wait(std::function<Status()> apply, double wait_seconds, Waited kind,
                               bool may_change_nodes) {
  RG_CHECK(std::this_thread::get_id() != thread_.get_id());
  struct Answer {
    std::mutex mutex;
    std::condition_variable arrived;
    std::optional<Status> status;
    bool begun = false;     // the writer is applying it
    bool given_up = false;  // the caller got a failure: nothing may be applied any more
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
                        },
                    .is_barrier = kind == Waited::kBarrier,
                    .is_alone = kind == Waited::kAlone,
                    .may_change_nodes = may_change_nodes && kind == Waited::kInTurn}));
  const std::chrono::duration<double> limit(wait_seconds);
  const auto told = [&] { return answer->status.has_value(); };
  std::unique_lock lock(answer->mutex);
  bool in_time = answer->arrived.wait_for(lock, limit, told);
  // A job that has begun cannot be withdrawn, so its outcome is worth a second wait.
  if (!in_time && answer->begun) in_time = answer->arrived.wait_for(lock, limit, told);
  answer->given_up = !in_time;
  if (!in_time)
    return fail(Code::kDeadlineExceeded,
                fmt::format("store {}: write: no commit within {} s{}", connection_.path(),
                            wait_seconds, answer->begun ? " and as long again" : ""));
  return *answer->status;
}

// A kept change is no failure of the job: that would roll back the deliveries of its batch.
Status Writer::flush(double wait_seconds) {
  const auto outcome = std::make_shared<Status>();  // outlives a wait that was given up
  RG_TRY_OK(submit_and_wait(
      [this, outcome]() -> Status {
        const std::lock_guard lock(mutex_);
        if (retry_at_ns_ != 0) *outcome = fail(Code::kUnavailable, kept_for_.message);
        return {};
      },
      wait_seconds, Waited::kBarrier));
  return *outcome;
}

WriterStats Writer::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void Writer::loop() {
  for (std::vector<WriteJob> batch; take_batch(batch); batch.clear()) write_batch(batch);
  // Only when closing took too long is anything left.
  if (!queue_.empty())
    spdlog::error("store {}: closed before {} changes could be committed: {}", connection_.path(),
                  queue_.size(), kept_for_.message.empty() ? "no time" : kept_for_.message);
  for (const WriteJob& job : queue_)
    if (job.done)
      job.done(fail(Code::kUnavailable,
                    fmt::format("store {}: closed before the commit", connection_.path())));
}

// While kept jobs wait for another try they go alone, and all others without them.
bool Writer::is_ready(const WriteJob& job, double now_ns, bool overtakes) const {
  if (job.is_barrier && overtakes) return false;
  if (retry_at_ns_ != 0 && job.is_kept != (now_ns >= retry_at_ns_)) return false;
  if (closing_ || allowed_ == Room::kAll) return true;
  return allowed_ == Room::kControl && job.records == 0;
}

// Waits for jobs; false when closing and nothing is left to do, or no time to do it.
bool Writer::take_batch(std::vector<WriteJob>& batch) {
  allowed_ = room_ ? room_() : Room::kAll;
  std::unique_lock lock(mutex_);
  while (true) {
    const double now_ns = monotonic_now_ns();
    if (closing_ && (queue_.empty() || now_ns > close_by_ns_)) return false;
    take_ready(batch, now_ns);
    if (!batch.empty()) return true;
    wait_for_jobs(lock);
    if (allowed_ == Room::kAll) continue;
    lock.unlock();
    allowed_ = room_();
    lock.lock();
  }
}

// Jobs that wait for room, or for another try, are tried again after a while.
void Writer::wait_for_jobs(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kPause(50);
  if (queue_.empty())
    wake_.wait(lock, [&] { return closing_ || !queue_.empty(); });
  else
    wake_.wait_for(lock, kPause);
}

void Writer::take_ready(std::vector<WriteJob>& batch, double now_ns) {
  std::size_t records = 0;
  std::deque<WriteJob> left;
  bool overtakes = false;
  while (!queue_.empty() && batch.size() < limits_.max_batch_records) {
    WriteJob& next = queue_.front();
    if (!is_ready(next, now_ns, overtakes)) {
      overtakes = overtakes || !next.is_kept;
      left.push_back(std::move(next));
      queue_.pop_front();
      continue;
    }
    if (!batch.empty() && records + next.records > limits_.max_batch_records) break;
    if (next.is_alone && !batch.empty()) break;
    records += next.records;
    control_jobs_ -= next.records == 0 ? 1 : 0;
    batch.push_back(std::move(next));
    queue_.pop_front();
    if (batch.back().is_alone) break;
  }
  while (!left.empty()) {
    queue_.push_front(std::move(left.back()));
    left.pop_back();
  }
}

// Puts those that are kept back in front, in their order, and takes them out of the batch. Under
// the lock.
void Writer::keep(std::vector<WriteJob>& batch, const Error& error) {
  const auto kept = static_cast<std::size_t>(std::ranges::count_if(batch, &WriteJob::is_kept));
  if (kept == 0) return;
  for (std::size_t i = batch.size(); i-- > 0;)
    if (batch[i].is_kept) queue_.push_front(std::move(batch[i]));
  std::erase_if(batch, [](const WriteJob& job) { return job.is_kept; });
  control_jobs_ += kept;
  stats_.kept_jobs = kept;
  const double now_ns = monotonic_now_ns();
  if (failing_since_ns_ == 0) {
    failing_since_ns_ = now_ns;
    retry_seconds_ = limits_.retry_seconds;
    spdlog::error("store {}: {} changes of runs, nodes and events wait and are tried again: {}",
                  connection_.path(), kept, error.message);
  }
  retry_at_ns_ = now_ns + retry_seconds_ * 1e9;
  retry_seconds_ = std::min(retry_seconds_ * 2, limits_.max_retry_seconds);
  kept_for_ = error;
}

// Under the lock.
void Writer::note_success(const std::vector<WriteJob>& batch) {
  if (failing_since_ns_ == 0) return;
  const double now_ns = monotonic_now_ns();
  retry_at_ns_ = now_ns;  // what others got through, the kept will
  if (!batch.front().is_kept) return;
  spdlog::info("store {}: stored again, after {:.1f} s", connection_.path(),
               (now_ns - failing_since_ns_) / 1e9);
  retry_at_ns_ = failing_since_ns_ = 0;
  stats_.kept_jobs = 0;
  kept_for_ = {};
}

void Writer::write_batch(std::vector<WriteJob>& batch) {
  std::vector<Status> outcomes(batch.size());
  const double begin_ns = monotonic_now_ns();
  const Status committed = apply_all(batch, outcomes);
  if (!committed && failed_) failed_();
  if (!committed) roll_back();
  std::size_t records = 0;
  std::size_t bytes = 0;
  for (const WriteJob& job : batch) {
    records += job.records;
    bytes += job.bytes;
  }
  if (committed && records > 0) failpoint("store.records_committed");  // stored, not yet reported
  {
    // Room is made only now: what is being written still counts as waiting.
    const std::lock_guard lock(mutex_);
    stats_.queued_records -= records;
    stats_.queued_bytes -= bytes;
    (committed ? stats_.committed_batches : stats_.failed_batches) += 1;
    if (committed) stats_.committed_records += records;
    stats_.last_commit_seconds = (monotonic_now_ns() - begin_ns) / 1e9;
    if (committed)
      note_success(batch);
    else if (may_pass(committed.error().code))
      keep(batch, committed.error());
  }
  if (committed && std::ranges::any_of(batch, &WriteJob::may_change_nodes)) ++node_changes_;
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (batch[i].done) batch[i].done(committed ? outcomes[i] : committed);
}

Status Writer::apply_all(std::vector<WriteJob>& batch, std::vector<Status>& outcomes) {
  if (batch.front().is_alone) {
    outcomes.front() = batch.front().apply();
    return {};
  }
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
