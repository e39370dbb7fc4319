// Which nodes of the fabric are busy with work that is not ours: runs are kind to all neighbours
// while any is. Pure: time is passed in.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace railgauge::run {

class BusyNodes {
 public:
  // A lost node counts as busy for this long. Its job may continue, but nothing reports its end,
  // and a machine that was busy when it was taken away must not hold every run for ever.
  static constexpr double kLostSeconds = 3'600;

  // Each returns whether text() may have changed.
  bool busy(const std::string& node, const std::string& why);
  bool idle(const std::string& node) { return nodes_.erase(node) > 0; }
  bool expire(double now_seconds);
  void lost(const std::string& node, double now_seconds);
  // It is heard of again and still as busy as it was.
  void back(const std::string& node);
  // "node n1 is busy (slurm: job 4711 here) and 2 more"; "": none is.
  [[nodiscard]] std::string text() const;

 private:
  struct Node {
    std::string why{};
    std::optional<double> lost_at{};
  };
  std::map<std::string, Node> nodes_;
};

}  // namespace railgauge::run
