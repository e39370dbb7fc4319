// One caller that follows a run. Events come on the event loop and leave from a bounded queue; a
// caller that reads too slowly misses some in the middle, never the last: each event holds the
// run's whole state.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include <grpcpp/grpcpp.h>

#include "controller/control/control.h"

namespace railgauge {

class WatchStream final : public grpc::ServerWriteReactor<api::RunEvent>,
                          public run::RunWatcher,
                          public std::enable_shared_from_this<WatchStream> {
 public:
  static constexpr std::size_t kMaxQueued = 256;

  // Alive until gRPC is done with it. `control` outlives it.
  static std::shared_ptr<WatchStream> make(Control& control, std::string run_id);

  // Subscribes, or sends an ended run's state and ends. May wait for the database.
  void begin();
  void fail(const grpc::Status& status);

  void event(const api::RunEvent& event) override;
  void end() override;

 private:
  WatchStream(Control& control, std::string run_id)
      : control_(control), run_id_(std::move(run_id)) {}
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void finish_now(const grpc::Status& status);

  Control& control_;
  const std::string run_id_;
  std::shared_ptr<WatchStream> self_;  // until OnDone

  std::mutex mutex_;
  std::deque<api::RunEvent> queue_;  // the front is being written
  bool ending_ = false;              // after what is queued
  bool finished_ = false;
};

}  // namespace railgauge
