// The steps of an MPI task's rendezvous while its launcher runs, on a thread of their own. Rank 0
// sets the pace: the others have always sent their part of the next step already, so that a step
// ends as soon as rank 0 takes it. While ranks measure that is once in kQuietSeconds.
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
  // The pace of steps without anything to carry, in seconds: while daemons start and end, and while
  // ranks measure, when a step must not disturb them.
  static constexpr double kBusySeconds = 0.05;
  static constexpr double kQuietSeconds = 2;
  static constexpr std::size_t kMaxNewsBytes = 32U << 10U;   // of output in one step
  static constexpr std::size_t kMaxUnsentBytes = 1U << 20U;  // then has_room() is false

  // `deadline_ns` on monotonic_now_ns(): no step waits longer. The group is the relay's until
  // join() or the destructor, which needs the group's waits to end: by the deadline, by a cancel.
  MpiRelay(Group& group, double deadline_ns);
  ~MpiRelay();

  // Readable when take() has something.
  [[nodiscard]] int fd() const { return wake_.get(); }
  // Adds to the next step.
  void post(LaunchAsk ask);
  // Rank 0 only, as requests are.
  void post(LaunchSignal signal);
  // Without room, only the result of the daemon is kept of the news, and nothing after the last
  // step.
  void post(LaunchNews news);
  // While false a daemon's output stays in its pipe, where the daemon waits.
  [[nodiscard]] bool has_room();
  // For rank 0: the last step. Nothing is posted after it.
  void end(LaunchEnd end);
  // Whether ranks are measuring: then steps come in kQuietSeconds.
  void set_quiet(bool quiet);

  // One rank's message of one step.
  struct RankStep {
    std::uint32_t rank = 0;
    LaunchStep step;
  };
  // The others' messages, in order: rank 0 gets the news of each, the others get rank 0's requests.
  // A message that a rank may not send is dropped: no node but the first may have anything started
  // or ended on another one.
  std::vector<RankStep> take();
  // Why no more steps come: the group's error. Nothing while they do, and after an end.
  [[nodiscard]] std::optional<Error> error();
  // Waits for the end() to have reached all, or for an error.
  void join();

 private:
  // The thread's body and its parts.
  void run();
  bool wait_for_turn(LaunchStep& mine);
  [[nodiscard]] LaunchStep heard(std::size_t rank, const std::string& payload) const;
  void ring() const;

  // Used by the relay's thread alone until it has ended.
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
