// Nodes that are busy with production work. While any node is busy, runs keep to the suite's limits
// of kindness. Pure: the caller passes the time.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace railgauge::run {

// The set of busy nodes with their work. Not thread safe. Times are seconds of a monotonic clock.
class BusyNodes {
 public:
  // Time that a lost node counts as busy. Its job may continue and its end is not reported, but a
  // machine that was taken away while busy must not restrict every run for ever.
  static constexpr double kLostSeconds = 3'600;

  // Record that a node is busy or idle. `why` is one line, such as "slurm: job 4711". Return
  // whether text() may have changed.
  bool busy(const std::string& node, const std::string& why);
  bool idle(const std::string& node) { return nodes_.erase(node) > 0; }
  // Forgets nodes that were lost kLostSeconds ago. Returns whether text() has changed.
  bool expire(double now_seconds);
  void lost(const std::string& node, double now_seconds);
  // Records that a lost node reports again; it is as busy as before the loss.
  void back(const std::string& node);
  // Returns "node n1 is busy (slurm: job 4711 here) and 2 more"; "" if no node is busy.
  [[nodiscard]] std::string text() const;

 private:
  struct Node {
    std::string why{};
    // Set while the node is lost.
    std::optional<double> lost_at{};
  };
  std::map<std::string, Node> nodes_;
};

}  // namespace railgauge::run
