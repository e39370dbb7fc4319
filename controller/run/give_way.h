// Production work comes first: which nodes of a task are busy with it, whether an attempt may
// begin, and how long a task is kept for them to become idle. Pure: no clock, no socket.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace railgauge::run {

class GiveWay {
 public:
  // From the first time that a task had to wait or gave way to its end as cancelled, however often
  // its nodes were idle in between: it always ends.
  static constexpr double kWindowSeconds = 30 * 60;

  // A forced task runs beside whatever keeps its nodes busy.
  explicit GiveWay(bool forced = false) : forced_(forced) {}

  void busy(const std::string& node, std::string reason) { busy_[node] = std::move(reason); }
  void idle(const std::string& node) { busy_.erase(node); }
  // No attempt may begin or go on.
  [[nodiscard]] bool blocks() const { return !forced_ && !busy_.empty(); }
  // "node n1 is busy: slurm: job 4711 here".
  [[nodiscard]] std::string reason() const;
  // The same with how long was waited, for a task that ends with it.
  [[nodiscard]] std::string end_reason() const;
  // It waits or gives way at `now_seconds`; the first time counts.
  void begin(double now_seconds) {
    if (!began_) began_ = now_seconds;
  }
  [[nodiscard]] std::optional<double> until() const {
    return began_ ? std::optional(*began_ + kWindowSeconds) : std::nullopt;
  }
  [[nodiscard]] bool over(double now_seconds) const { return began_ && now_seconds >= *until(); }

 private:
  bool forced_;
  std::map<std::string, std::string> busy_;  // reasons by node
  std::optional<double> began_;
};

// What is said to somebody who wants to run on busy nodes: which, why, and the ways out.
std::string busy_refusal(const std::map<std::string, std::string>& reasons);

}  // namespace railgauge::run
