// The records of one rank of one task: numbered from 0 without gaps, each delivered before the call
// returns, so that a crash later on loses none.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// The destination of records. write() is called by one thread at a time.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // Returns when the record is delivered, or the error that prevents it.
  virtual Status write(const Record& record) = 0;
};

// Thread safe: the watchdog may end a task while its kernel hangs. After the final record, or after
// the sink failed, everything else is dropped.
class RecordWriter {
 public:
  // `key` names run, task, attempt and rank.
  RecordWriter(RecordSink& sink, RecordKey key) : sink_(sink), key_(std::move(key)) {
    key_.set_sequence(0);
  }

  // Each writes one record with the next number.
  void started(Started started);
  void point(Point point);
  // `severity` is one of severity.h; the text is one line for a person.
  void note(std::string_view severity, std::string text);
  // Stores the phases so far; the final record carries the last value.
  void phases(const Phases& phases);
  // Writes the final record. False: it is written already, or another thread was stuck in the sink
  // for kStuckSeconds.
  bool finish(std::string_view outcome, std::string reason);

  // Returns the number of points so far, dropped ones included.
  [[nodiscard]] std::uint32_t point_count() const;
  // Returns the sink's first error, after which all records are dropped.
  [[nodiscard]] Status sink_status() const;

  // The limit of finish(), in seconds.
  static constexpr double kStuckSeconds = 1;

 private:
  void write(Record record);
  void write_locked(Record record);

  // Outlives the writer. The mutex guards everything below.
  RecordSink& sink_;
  RecordKey key_;
  mutable std::mutex mutex_;
  Phases phases_;
  std::uint32_t point_count_ = 0;
  bool finished_ = false;
  Status sink_status_;
};

}  // namespace railgauge
