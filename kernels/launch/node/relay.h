// Exchanges the steps of an MPI task's rendezvous on a thread of its own while the launcher runs.
// Rank 0 sets the pace: the others have sent their part of the next step already, so a step ends as
// soon as rank 0 joins it. While ranks measure, a step takes kQuietSeconds.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/group/group.h"
#include "kernels/launch/node/launch.pb.h"

namespace railgauge {

// Thread safe; the callbacks of a group's steps run on the relay's own thread.
class MpiRelay {
 public:
  // The period of empty steps, in seconds: while daemons start and end, and while ranks measure,
  // which steps must not disturb.
  static constexpr double kBusySeconds = 0.05;
  static constexpr double kQuietSeconds = 2;
  static constexpr std::size_t kMaxNewsBytes = 32U << 10U;   // output in one step
  static constexpr std::size_t kMaxUnsentBytes = 1U << 20U;  // then has_room() is false

  // `deadline_ns`, by monotonic_now_ns(), bounds every step. The relay uses the group until join()
  // or the destructor, which waits for the current step: it ends by the deadline or a cancel.
  MpiRelay(Group& group, double deadline_ns);
  ~MpiRelay();

  // An eventfd, readable when take() has messages or error() has changed.
  [[nodiscard]] int fd() const { return wake_.get(); }
  // Adds a request to the next step. Rank 0 only.
  void post(LaunchAsk ask);
  // Adds a signal to the next step. Rank 0 only.
  void post(LaunchSignal signal);
  // Adds news of a daemon to the next step. Without room, only its end or refusal is kept; after
  // the last step, nothing.
  void post(LaunchNews news);
  // Whether output can be posted. While false, leave it in the pipe, so that the daemon blocks.
  [[nodiscard]] bool has_room();
  // Marks the last step. Rank 0 only; nothing may be posted after it.
  void end(LaunchEnd end);
  // Sets whether ranks are measuring: the period is then kQuietSeconds.
  void set_quiet(bool quiet);

  // One rank's message of one step.
  struct RankStep {
    std::uint32_t rank = 0;
    LaunchStep step;
  };
  // Returns the other ranks' messages, in order: rank 0 gets news, the others get rank 0's
  // requests. A message that a rank may not send is dropped: only the first node may start or end a
  // process on another node.
  std::vector<RankStep> take();
  // Returns the group's error that ended the steps; absent while they continue, and after end().
  [[nodiscard]] std::optional<Error> error();
  // Waits until end() has reached all ranks, or until an error.
  void join();

 private:
  // The thread's body and its parts.
  void run();
  bool wait_for_turn(LaunchStep& mine);
  [[nodiscard]] LaunchStep heard(std::size_t rank, const std::string& payload) const;
  void ring() const;

  // Used by the relay's thread only, until it has ended.
  Group& group_;
  const double deadline_ns_;
  Fd wake_;  // eventfd
  std::mutex mutex_;
  // Notified when a post, the pace or the end changes.
  std::condition_variable changed_;
  // Guarded by mutex_, as all members below but the thread.
  LaunchStep outbox_;
  // About the size of the news in outbox_.
  std::size_t unsent_bytes_ = 0;
  std::vector<RankStep> inbox_;
  std::optional<Error> error_;
  bool quiet_ = false;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace railgauge
