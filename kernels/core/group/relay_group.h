// The two pipes between a runner and its agent, and the rendezvous over them: each step travels
// through the agent to the controller and returns with every rank's payload.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"

namespace railgauge {

// Reads the agent's messages on a thread of its own, so that a cancel or the agent's end is noticed
// while the kernel measures. Thread safe.
class RelayChannel {
 public:
  // Called at most once, on the channel's thread, when the agent cancels (kCancelled), is gone
  // (kUnavailable) or sends garbage (kDataLoss). Every wait then returns the same error.
  using OnEnd = std::function<void(const Error&)>;

  // The caller keeps the descriptors, which must outlive the channel.
  RelayChannel(int request_fd, int record_fd, OnEnd on_end);
  ~RelayChannel();

  // Sends one whole message; messages of several threads never mix. kUnavailable when the agent is
  // gone, kDeadlineExceeded when it has not read for kSendTimeoutSeconds.
  Status send(const FromRunner& message);
  // Each waits for one message from the agent. Errors: the channel's end, kDeadlineExceeded.
  Result<TaskRequest> wait_request(double timeout_seconds);
  Status wait_go(double timeout_seconds);
  Result<GroupStep> wait_step(double timeout_seconds);

  // An agent that reads nothing for this long counts as stuck.
  static constexpr double kSendTimeoutSeconds = 10;

 private:
  void read_loop();
  Status take(const std::string& frame);
  void end(const Error& error);
  template <class Ready>
  Status wait(double timeout_seconds, const char* what, Ready ready);

  // Request pipe (from the agent), record pipe (to the agent).
  const int request_fd_;
  const int record_fd_;
  const OnEnd on_end_;
  int wake_fd_;
  // Serialises writers; never held together with `mutex_`.
  std::mutex send_mutex_;
  // Guards all members below.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<TaskRequest> request_;
  // At most one: the agent sends the next step only after all ranks took this one.
  std::optional<GroupStep> step_;
  bool go_ = false;
  std::optional<Error> ended_;
  std::thread reader_;
};

// The group of a task whose ranks meet through the controller. Not thread safe. Unusable after an
// error: the ranks' steps may no longer match.
class RelayGroup final : public Group {
 public:
  RelayGroup(RelayChannel& channel, std::uint32_t rank, std::uint32_t size)
      : channel_(channel), rank_(rank), size_(size) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }
  Result<std::vector<std::string>> exchange(std::string mine, double timeout_seconds) override;
  Result<std::vector<std::string>> gather(std::string mine, Loudness loudness,
                                          double timeout_seconds) override;
  void set_place(std::string place) override { place_ = std::move(place); }

 private:
  Result<std::vector<std::string>> pass(GroupStep said, std::string mine, double timeout_seconds);

  RelayChannel& channel_;
  const std::uint32_t rank_;
  const std::uint32_t size_;
  std::uint32_t next_step_ = 0;
  std::string place_;
};

}  // namespace railgauge
