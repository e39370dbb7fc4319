// The nodes that are busy with production work. While any node is busy, runs keep to the suite's
// limits of kindness. Pure: the time is passed in.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace railgauge::run {

// Not thread safe. Times are seconds of a monotonic clock.
class BusyNodes {
 public:
  // A lost node counts as busy for this long. Its job may continue, but nothing reports its end,
  // and a machine that was busy when it was taken away must not hold every run for ever.
  static constexpr double kLostSeconds = 3'600;

  // Each of these returns whether text() may have changed. `why` is one line, such as "slurm: job
  // 4711".
  bool busy(const std::string& node, const std::string& why);
  bool idle(const std::string& node) { return nodes_.erase(node) > 0; }
  // Forgets lost nodes after kLostSeconds.
  bool expire(double now_seconds);
  void lost(const std::string& node, double now_seconds);
  // The node reports again and is as busy as it was.
  void back(const std::string& node);
  // "node n1 is busy (slurm: job 4711 here) and 2 more"; "" if no node is busy.
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
