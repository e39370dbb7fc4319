// A simulated clock: a file of one page that the controller, a modelled fleet and a person's tool
// map into their memory. Its time flows as fast as the host's, and jumps ahead when the controller
// has nothing left to do before the wanted time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Thread safe; several processes of one host. The controller alone jumps.
class ClockPage {
 public:
  // No clock shows a later time, unix seconds: 2200-01-01.
  static constexpr double kMostSeconds = 7'258'118'400;

  // A jump that was made; the clock's beginning is jump 0.
  struct Jump {
    std::uint64_t number = 0;
    double to = 0;     // unix seconds
    double ahead = 0;  // seconds that were left out
  };

  // For the controller: makes the file, or continues the one that is there. Its time is never
  // earlier than `start` (unix seconds), nor than any time that the file has shown. Nothing is
  // wanted of it. kPermissionDenied, kResourceExhausted: the file cannot be made. kInvalidArgument:
  // it is something else.
  static Result<std::shared_ptr<ClockPage>> make(const std::string& path, double start);
  // For everybody else. kNotFound: no such file. kInvalidArgument: it is something else.
  static Result<std::shared_ptr<ClockPage>> open(const std::string& path);
  ~ClockPage();
  ClockPage(const ClockPage&) = delete;
  ClockPage& operator=(const ClockPage&) = delete;

  // Unix seconds.
  [[nodiscard]] double now() const;
  [[nodiscard]] Jump last_jump() const;
  // Seconds of the host's clock since then.
  [[nodiscard]] double seconds_since_jump() const;
  // Jumps to a time; does nothing where that is over.
  void jump(double to);

  // The time to which somebody wants the clock to jump, through all that is due before.
  void want(double until);
  [[nodiscard]] double wanted() const;
  // Whether the wanted time is reached and all that was due has ended.
  void set_settled(bool is_settled);
  [[nodiscard]] bool is_settled() const;

  // A fleet says which jump all of its agents have noticed. Without a fleet nobody is waited for,
  // nor with one that ended without leave(), as by SIGKILL.
  void enter();
  void leave();
  [[nodiscard]] bool has_fleet() const;
  void follow(std::uint64_t jump);
  // Whether there is no fleet, or all of its agents are attached and have noticed the last jump.
  [[nodiscard]] bool is_followed() const;

 private:
  struct Layout;
  // The time and the host's clock at one moment.
  struct Anchor {
    std::uint64_t number = 0;
    std::int64_t wall_ns = 0;
    std::int64_t steady_ns = 0;
    std::int64_t ahead_ns = 0;
  };
  ClockPage(Layout* page, Fd file) : page_(page), file_(std::move(file)) {}
  [[nodiscard]] Anchor anchor() const;
  void set_anchor(const Anchor& anchor);
  static Result<std::shared_ptr<ClockPage>> map(const std::string& path, int flags);

  Layout* page_;
  // A fleet has a lock on it, which ends with the fleet's process.
  Fd file_;
  std::atomic<bool> has_entered_ = false;
};

}  // namespace railgauge
