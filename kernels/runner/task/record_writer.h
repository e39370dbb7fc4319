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

// Where records go. write() is called by one thread at a time.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
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

  void started(Started started);
  void point(Point point);
  void note(std::string_view severity, std::string text);
  // Where the time went so far; the final record carries the last value.
  void phases(const Phases& phases);
  // Writes the final record. False when it is written already, or when another thread has been
  // stuck in the sink for kStuckSeconds.
  bool finish(std::string_view outcome, std::string reason);

  [[nodiscard]] std::uint32_t point_count() const;
  // The sink's first error: nobody reads the records any more.
  [[nodiscard]] Status sink_status() const;

  static constexpr double kStuckSeconds = 1;

 private:
  void write_locked(Record record);

  RecordSink& sink_;
  RecordKey key_;
  mutable std::mutex mutex_;
  Phases phases_;
  std::uint32_t point_count_ = 0;
  bool finished_ = false;
  Status sink_status_;
};

}  // namespace railgauge
