// One caller that follows a run. Events arrive on the event loop and leave from a bounded queue. A
// caller that reads too slowly misses events in the middle, never the last one: each event holds
// the whole state of the run.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include <grpcpp/grpcpp.h>

#include "controller/control/control.h"

namespace railgauge {

// Thread safe: the event loop adds events, and gRPC calls the reactor from its own threads.
class WatchStream final : public grpc::ServerWriteReactor<api::RunEvent>,
                          public run::RunWatcher,
                          public std::enable_shared_from_this<WatchStream> {
 public:
  // The most events that wait for the caller.
  static constexpr std::size_t kMaxQueued = 256;

  // The stream lives until gRPC is done with it. `control` outlives it.
  static std::shared_ptr<WatchStream> make(Control& control, std::string run_id);

  // Subscribes, or sends the state of an ended run and ends. May wait for the database.
  void begin();
  // Ends the stream with an error.
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
  bool ending_ = false;              // finish after the queued events
  bool finished_ = false;
};

}  // namespace railgauge
