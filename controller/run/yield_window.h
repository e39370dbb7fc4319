// Yielding of tasks to production work, which comes first. A YieldWindow records the busy nodes of
// a task, decides whether an attempt may begin, and bounds the wait for idle nodes. Pure: no clock,
// no socket.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace railgauge::run {

// The yielding of one task. Not thread safe. Times are seconds of a monotonic clock.
class YieldWindow {
 public:
  // Longest wait, from the task's first wait or yield to its end as cancelled. Idle moments in
  // between do not extend it, so the task always ends.
  static constexpr double kWindowSeconds = 30 * 60;

  // A forced task yields to nothing.
  explicit YieldWindow(bool forced = false) : forced_(forced) {}

  // Records the work on a node; `reason` is one line.
  void busy(const std::string& node, std::string reason) { busy_[node] = std::move(reason); }
  void idle(const std::string& node) { busy_.erase(node); }
  // Reports whether an attempt may neither begin nor continue.
  [[nodiscard]] bool blocks() const { return !forced_ && !busy_.empty(); }
  // Returns "node n1 is busy: slurm: job 4711 here".
  [[nodiscard]] std::string reason() const;
  // Returns reason() with the length of the wait, for a task that ends because of it.
  [[nodiscard]] std::string end_reason() const;
  // Starts the window: the task waits or yields from `now_seconds`. Only the first call counts.
  void begin(double now_seconds) {
    if (!began_) began_ = now_seconds;
  }
  // Returns the end of the window; absent before begin().
  [[nodiscard]] std::optional<double> until() const {
    return began_ ? std::optional(*began_ + kWindowSeconds) : std::nullopt;
  }
  [[nodiscard]] bool over(double now_seconds) const { return began_ && now_seconds >= *until(); }

 private:
  bool forced_;
  std::map<std::string, std::string> busy_;  // reasons by node
  std::optional<double> began_;
};

// Returns the refusal of a run on busy nodes, with the nodes, their reasons and the ways out.
// `reasons` is by node.
std::string busy_refusal(const std::map<std::string, std::string>& reasons);

}  // namespace railgauge::run
