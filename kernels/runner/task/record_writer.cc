// Numbers records and writes them under one lock.
#include "kernels/runner/task/record_writer.h"

#include <chrono>
#include <thread>

namespace railgauge {
namespace {
// Between two tries to get the lock at the end.
constexpr std::chrono::milliseconds kRetryLock{1};
}  // namespace

// Adds key, time and number. The first failure of the sink drops all later records.
void RecordWriter::write_locked(Record record) {
  if (finished_ || !sink_status_) return;
  // A record that is dropped takes no number.
  *record.mutable_key() = key_;
  const std::chrono::duration<double> since = std::chrono::system_clock::now().time_since_epoch();
  record.set_unix_time_seconds(since.count());
  key_.set_sequence(key_.sequence() + 1);
  finished_ = record.has_final();
  sink_status_ = sink_.write(record);
}

void RecordWriter::write(Record record) {
  const std::lock_guard lock(mutex_);
  if (record.has_point()) ++point_count_;
  write_locked(std::move(record));
}

void RecordWriter::started(Started started) {
  Record record;
  *record.mutable_started() = std::move(started);
  write(std::move(record));
}

void RecordWriter::point(Point point) {
  Record record;
  *record.mutable_point() = std::move(point);
  write(std::move(record));
}

void RecordWriter::note(std::string_view severity, std::string text) {
  Record record;
  record.mutable_note()->set_severity(std::string(severity));
  record.mutable_note()->set_text(std::move(text));
  write(std::move(record));
}

// Kept for the final record; nothing is written now.
void RecordWriter::phases(const Phases& phases) {
  const std::lock_guard lock(mutex_);
  phases_ = phases;
}

// Tries the lock with a bound: another thread may hold it while the sink hangs.
bool RecordWriter::finish(std::string_view outcome, std::string reason) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kStuckSeconds);
  std::unique_lock lock(mutex_, std::try_to_lock);
  while (!lock.owns_lock() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kRetryLock);
    lock.try_lock();
  }
  if (!lock.owns_lock() || finished_) return false;
  Record record;
  record.mutable_final()->set_outcome(std::string(outcome));
  record.mutable_final()->set_reason(std::move(reason));
  *record.mutable_final()->mutable_phases() = phases_;
  write_locked(std::move(record));
  return true;
}

std::uint32_t RecordWriter::point_count() const {
  const std::lock_guard lock(mutex_);
  return point_count_;
}

Status RecordWriter::sink_status() const {
  const std::lock_guard lock(mutex_);
  return sink_status_;
}

}  // namespace railgauge
