// Room on a full disk. A file beside the database holds some MB. When the database cannot be
// written for want of room, everything but pruning is refused; the file gives its room up when the
// pruning begins, and not before, since another program might take it.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::store {

// Thread safe. Sizes are bytes.
class Reserve {
 public:
  // `bytes` 0: no file is made. Gives the room up at once if the disk is full already.
  Reserve(const std::string& database, double bytes);

  // Makes the file if there is plenty of room. Call it when the database exists.
  void fill();
  // The database could not be written for want of room.
  void note_full();
  // On a full disk, gives the room up. Call it before a pruning.
  void give_up();
  // Writes are refused for this reason as well, or, with "", no longer.
  void hold(std::string why);

  // kResourceExhausted, in one sentence: only reads and pruning are served. Looks whether there is
  // room again, and if so makes the file anew.
  [[nodiscard]] Status check();
  // The sentence of check(), without looking; "" while everything is served.
  [[nodiscard]] std::string trouble() const;
  [[nodiscard]] bool is_full() const { return is_full_; }
  // Half of the room that was given up is taken: the rest is the pruning's.
  [[nodiscard]] bool is_tight() const;

 private:
  [[nodiscard]] double free_bytes() const;
  [[nodiscard]] Status refusal() const;
  bool allocate();
  void release();

  const std::string database_;
  const std::string file_;
  const double bytes_;
  mutable std::mutex mutex_;  // guards all below that is not atomic
  bool is_released_ = false;  // the file's room was given up
  std::string held_;
  std::atomic<bool> is_full_ = false;
};

}  // namespace railgauge::store
