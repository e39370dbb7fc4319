// Writes to the store in their order, also while the store is full. Called on the event loop only.
#pragma once

#include <deque>
#include <functional>

#include "kernels/core/base/result.h"

namespace railgauge::run {

// Reports whether the store could not take the write now and may take it later.
bool is_busy(const Status& status);

// A queue of writes. A write that the store has no room for waits, and every later write waits
// behind it, so that no state of a run is lost or stored out of order.
class PendingWrites {
 public:
  using Write = std::function<Status()>;

  // Runs `write` now, or when all earlier writes are done. Does not block.
  void save(Write write);
  // Tries the waiting writes again. An error other than a full store is logged, and its write
  // is dropped.
  void retry();
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  std::deque<Write> waiting_;
};

}  // namespace railgauge::run
